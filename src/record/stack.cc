#include "record/stack.h"

#include <string.h>

namespace wavetap::record {

void write_stack(const OpenCall& call, const void* caller, const void* frame) {
  constexpr uint32_t kMaxFrames = 64;
  uint64_t addresses[kMaxFrames];
  uint32_t count = 0;
  addresses[count++] = reinterpret_cast<uintptr_t>(caller);
  // On both architectures a frame begins with the caller's frame pointer and the return address.
  struct Frame {
    uintptr_t outer;
    uintptr_t return_address;
  };
  const uintptr_t end = call.stream->stack_end();
  uintptr_t at = reinterpret_cast<uintptr_t>(frame);
  const auto readable = [&](uintptr_t address) {
    return address >= call.stream->stack_begin() && address % sizeof(void*) == 0 && address < end &&
           end - address >= sizeof(Frame);
  };
  if (readable(at)) at = reinterpret_cast<const Frame*>(at)->outer;
  while (count < kMaxFrames && readable(at)) {
    const Frame here = *reinterpret_cast<const Frame*>(at);
    if (here.return_address < 4096) break;
    addresses[count++] = here.return_address;
    if (here.outer <= at) break;  // frames of callers lie higher
    at = here.outer;
  }
  auto* const record = call.stream->reserve<format::StackRecord>(count * sizeof(uint64_t));
  if (record == nullptr) return;
  record->call = call.call;
  record->frames = count;
  memcpy(record + 1, addresses, count * sizeof(uint64_t));
  call.stream->commit(record, format::Kind::kStack);
}

}  // namespace wavetap::record
