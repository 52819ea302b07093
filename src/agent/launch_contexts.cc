#include "agent/launch_contexts.h"

#include <string.h>

#include <algorithm>

#include "record/markers.h"
#include "record/stack.h"

namespace wavetap::agent {

constinit std::atomic<bool> g_contexts_wanted{false};

void want_contexts() {
  g_contexts_wanted.store(true, std::memory_order_relaxed);
  record::watch_calls();  // hooks note where they are called from
}

void LaunchContexts::open(uint64_t packets) {
  entries_ = nullptr;
  mask_ = packets - 1;
  if (!are_contexts_wanted()) return;
  entries_ = reinterpret_cast<Entry*>(sys::map(packets * sizeof(Entry), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1));
  if (entries_ == nullptr) count_loss(format::Loss::kNoMemory);
}

void LaunchContexts::close() {
  if (entries_ != nullptr) sys::unmap(entries_, (mask_ + 1) * sizeof(Entry));
  entries_ = nullptr;
}

void LaunchContexts::note(uint64_t first, uint64_t count) {
  if (entries_ == nullptr) return;
  format::LaunchContext context;
  context.is_in_range = record::is_in_watched_range() ? 1 : 0;
  // Outside of HIP's functions the caller is the program's own use of HSA, or a thread of HIP's.
  const void* const caller = t_thread.frame != nullptr ? t_thread.caller : nullptr;
  context.frames = caller == nullptr ? 0
                                     : record::walk_stack(caller, t_thread.frame, context.stack,
                                                          format::kMostHostFrames);
  const size_t used = offsetof(format::LaunchContext, stack) + context.frames * sizeof(uint64_t);
  count = std::min(count, mask_ + 1);
  for (uint64_t i = first; i < first + count; ++i) {
    Entry& entry = entries_[i & mask_];
    entry.packet.store(0, std::memory_order_relaxed);
    memcpy(&entry.context, &context, used);
    entry.packet.store(i + 1, std::memory_order_release);
  }
}

const format::LaunchContext* LaunchContexts::find(uint64_t packet) const {
  if (entries_ == nullptr) return nullptr;
  const Entry& entry = entries_[packet & mask_];
  return entry.packet.load(std::memory_order_acquire) == packet + 1 ? &entry.context : nullptr;
}

void LaunchContexts::note_place(uint64_t real, uint64_t packet) {
  if (entries_ == nullptr) return;
  Entry& entry = entries_[real & mask_];
  entry.placed.store(packet, std::memory_order_relaxed);
  entry.place.store(real + 1, std::memory_order_release);
}

const format::LaunchContext* LaunchContexts::find_by_place(uint64_t real) const {
  if (entries_ == nullptr) return nullptr;
  const Entry& entry = entries_[real & mask_];
  if (entry.place.load(std::memory_order_acquire) != real + 1) return nullptr;
  return find(entry.placed.load(std::memory_order_relaxed));
}

}  // namespace wavetap::agent
