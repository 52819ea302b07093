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

inline void enter_call_on(Stream* s, OpenCall& call, uint32_t function) {
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
}

inline bool enter_call(OpenCall& call, uint32_t function) {
  Stream* const s = stream();
  if (s == nullptr) [[unlikely]]
    return false;
  enter_call_on(s, call, function);
  return true;
}

// Durations from here on are written as 64 bits behind the record.
inline constexpr uint64_t kLongDuration = std::numeric_limits<uint32_t>::max();

inline void write_call(format::CallRecord* record, const OpenCall& call, uint32_t function,
                       int32_t result, uint64_t duration, uint16_t depth) {
  record->start = call.start;
  record->duration = static_cast<uint32_t>(duration < kLongDuration ? duration : kLongDuration);
  record->result = result;
  record->function = static_cast<uint16_t>(function);
  record->depth = depth;
  record->call = call.call;
}

// The call is over, and what is written from now on belongs to the one around it. How deep that one was.
inline uint16_t leave_depth(Stream* s, const OpenCall& call) {
  s->current_call_ = call.outer_call;
  s->dispatches_ = call.outer_dispatches;
  return --s->depth_;
}

// After the record: a call that is open and recorded has returned.
inline void note_left(Stream* s, uint16_t depth) {
  if (depth == 0) __atomic_store_n(&s->chunk()->open_call, uint64_t{0}, __ATOMIC_RELAXED);
}

// `put(packer)` puts up to `words` words of arguments; not called if there are none.
template <class Put>
inline void leave_call_with(const OpenCall& call, uint32_t function, int32_t result,
                            uint64_t duration, size_t words, Put put) {
  Stream* const s = call.stream;
  const uint16_t depth = leave_depth(s, call);
  const bool is_long = duration >= kLongDuration;
  auto* const record = s->reserve<format::CallRecord>((is_long ? sizeof(uint64_t) : 0) +
                                                      (words != 0 ? Packer::room(words) : 0));
  if (record != nullptr) [[likely]] {
    write_call(record, call, function, result, duration, depth);
    char* at = reinterpret_cast<char*>(record + 1);
    if (is_long) {
      __builtin_memcpy(at, &duration, sizeof duration);
      at += sizeof duration;
    }
    if (words != 0) {
      Packer packer(at);
      put(packer);
      s->shorten(record, packer.at());
    }
    s->commit(record, format::Kind::kCall,
              static_cast<uint8_t>((words != 0 ? format::kCallPackedArguments : 0) |
                                   (is_long ? format::kCallLongDuration : 0)));
  }
  note_left(s, depth);
}

// Where the next function cannot do it at once: the chunk is full, a signal handler is in the way, the call was long.
void leave_call_slowly(const OpenCall& call, uint32_t function, int32_t result, uint64_t duration,
                       const uint64_t* words, size_t count);
void append_aside_and_leave(Stream* s, uint16_t depth);

// With arguments that are words already. Calls nothing before it is done, so that it needs no frame.
inline void leave_call_with_words(const OpenCall& call, uint32_t function, int32_t result,
                                  const uint64_t* words, size_t count) {
  const uint64_t duration = ticks() - call.start;
  Stream* const s = call.stream;
  // The function forked and this is the child.
  if (t_thread.stream != s) [[unlikely]]
    return;
  auto* const record =
      duration >= kLongDuration
          ? nullptr
          : s->reserve_here<format::CallRecord>(count != 0 ? Packer::room(count) : 0);
  if (record == nullptr) [[unlikely]]
    return leave_call_slowly(call, function, result, duration, words, count);
  const uint16_t depth = leave_depth(s, call);
  write_call(record, call, function, result, duration, depth);
  size_t size = sizeof *record;
  if (count != 0) {
    Packer packer(reinterpret_cast<char*>(record + 1));
    packer.put_words(words, count);
    size = (static_cast<size_t>(packer.at() - reinterpret_cast<char*>(record)) + 7) & ~size_t{7};
  }
  if (s->commit_here(record, size, format::Kind::kCall,
                     count != 0 ? format::kCallPackedArguments : 0)) [[unlikely]]
    return append_aside_and_leave(s, depth);
  note_left(s, depth);
}

template <class... Arguments>
inline void leave_call(const OpenCall& call, uint32_t function, int32_t result,
                       const Arguments&... arguments) {
  if constexpr (sizeof...(Arguments) == 0) {
    leave_call_with_words(call, function, result, nullptr, 0);
  } else {
    const uint64_t duration = ticks() - call.start;
    // The function forked and this is the child.
    if (t_thread.stream != call.stream) [[unlikely]]
      return;
    leave_call_with(call, function, result, duration, (arguments.words() + ...),
                    [&](Packer& packer) { (arguments.put(packer), ...); });
  }
}

}  // namespace wavetap::record
