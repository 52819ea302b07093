// Recording one call of a hooked function, from entry to return.
//
//   OpenCall call;
//   if (!enter_call(call, number)) return real(arguments);    // not to be recorded
//   R result = real(arguments);
//   leave_call(call, number, result_code, Word{dst}, Word{bytes});
//
// Arguments are written when the function has returned, so that what it put behind its out-pointers
// can be kept by value. Each argument is one of the objects of layout.h.
#pragma once

#include <cstdint>
#include <limits>

#include "format/record.h"
#include "record/clock.h"
#include "record/layout.h"
#include "record/threads.h"

namespace wavetap::record {

struct OpenCall {
  Stream* stream;
  uint64_t start;
  uint32_t call;
  uint32_t outer_call;
  uint32_t outer_dispatches;
};

inline bool enter_call(OpenCall& call, uint32_t function) {
  Stream* const s = stream();
  if (s == nullptr) [[unlikely]]
    return false;
  call.stream = s;
  call.call = s->next_call();
  call.outer_call = s->current_call_;
  call.outer_dispatches = s->dispatches_;
  s->current_call_ = call.call;
  s->dispatches_ = 0;
  const bool outermost = s->depth_++ == 0;
  call.start = ticks();
  if (outermost) {
    format::ChunkHeader* const chunk = s->chunk();
    __atomic_store_n(&chunk->open_since, call.start, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->open_call, uint64_t{function} << 32 | call.call, __ATOMIC_RELEASE);
  }
  return true;
}

template <class... Arguments>
inline void leave_call(const OpenCall& call, uint32_t function, int32_t result,
                       const Arguments&... arguments) {
  const uint64_t duration = ticks() - call.start;
  Stream* const s = call.stream;
  // The function forked and this is the child.
  if (t_thread.stream != s) [[unlikely]]
    return;
  const uint16_t depth = --s->depth_;
  s->current_call_ = call.outer_call;
  s->dispatches_ = call.outer_dispatches;
  constexpr uint32_t kLong = std::numeric_limits<uint32_t>::max();
  const bool is_long = duration >= kLong;
  size_t extra = is_long ? sizeof(uint64_t) : 0;
  if constexpr (sizeof...(Arguments) > 0)
    extra += Packer::room((size_t{0} + ... + arguments.words()));
  auto* const record = s->reserve<format::CallRecord>(extra);
  if (record != nullptr) [[likely]] {
    record->start = call.start;
    record->duration = is_long ? kLong : static_cast<uint32_t>(duration);
    record->result = result;
    record->function = static_cast<uint16_t>(function);
    record->depth = depth;
    record->call = call.call;
    char* at = reinterpret_cast<char*>(record + 1);
    if (is_long) {
      __builtin_memcpy(at, &duration, sizeof duration);
      at += sizeof duration;
    }
    if constexpr (sizeof...(Arguments) > 0) {
      Packer packer(at);
      (arguments.put(packer), ...);
      s->shorten(record, packer.at());
    }
    s->commit(record, format::Kind::kCall,
              static_cast<uint8_t>((sizeof...(Arguments) > 0 ? format::kCallPackedArguments : 0) |
                                   (is_long ? format::kCallLongDuration : 0)));
  }
  // After the record: a call that is open and recorded has returned.
  if (depth == 0) __atomic_store_n(&s->chunk()->open_call, uint64_t{0}, __ATOMIC_RELAXED);
}

}  // namespace wavetap::record
