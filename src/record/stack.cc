#include "record/stack.h"

#include <pthread.h>
#include <string.h>

namespace wavetap::record {
namespace {

void find_bounds() {
  const Inside inside;
  t_thread.stack_end = 1;  // asked for: nothing lies below it
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* at = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &at, &size) == 0) {
    t_thread.stack_begin = reinterpret_cast<uintptr_t>(at);
    t_thread.stack_end = t_thread.stack_begin + size;
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

uint32_t walk_stack(const void* caller, const void* frame, uint64_t* addresses, uint32_t most) {
  if (t_thread.stack_end == 0) find_bounds();
  uint32_t count = 0;
  addresses[count++] = reinterpret_cast<uintptr_t>(caller);
  // On both architectures a frame begins with the caller's frame pointer and the return address.
  struct Frame {
    uintptr_t outer;
    uintptr_t return_address;
  };
  const uintptr_t end = t_thread.stack_end;
  uintptr_t at = reinterpret_cast<uintptr_t>(frame);
  const auto readable = [&](uintptr_t address) {
    return address >= t_thread.stack_begin && address % sizeof(void*) == 0 && address < end &&
           end - address >= sizeof(Frame);
  };
  if (readable(at)) at = reinterpret_cast<const Frame*>(at)->outer;
  while (count < most && readable(at)) {
    const Frame here = *reinterpret_cast<const Frame*>(at);
    if (here.return_address < 4096) break;
    addresses[count++] = here.return_address;
    if (here.outer <= at) break;  // frames of callers lie higher
    at = here.outer;
  }
  return count;
}

void write_stack(const OpenCall& call, const void* caller, const void* frame) {
  constexpr uint32_t kMaxFrames = 64;
  uint64_t addresses[kMaxFrames];
  const uint32_t count = walk_stack(caller, frame, addresses, kMaxFrames);
  auto* const record = call.stream->reserve<format::StackRecord>(count * sizeof(uint64_t));
  if (record == nullptr) return;
  record->call = call.call;
  record->frames = count;
  memcpy(record + 1, addresses, count * sizeof(uint64_t));
  call.stream->commit(record, format::Kind::kStack);
}

}  // namespace wavetap::record
