// Appending to a thread's own stream of the raw trace: no lock, no heap, no system call until a chunk is
// full, and then a chunk that the helper thread prepared is waiting.
//
//   CallRecord* r = stream->reserve<CallRecord>(extra_bytes);   // null: nothing can be written any more
//   r->start = ...;                                             // fill everything but the header
//   stream->commit(r, Kind::kCall, flags);                      // one release store makes it visible
//
// Between reserve and commit nothing else may be reserved on the stream; signal handlers that could call into
// a hooked function meet `busy()` and record nothing (counted as a loss).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format/record.h"

namespace wavetap::agent {

class Stream {
 public:
  // `extra` bytes follow the fixed part; rounded up to 8. Null when recording has ended for good.
  template <class Record>
  Record* reserve(size_t extra = 0) {
    return static_cast<Record*>(reserve_bytes(sizeof(Record) + extra));
  }

  void commit(void* record, format::Kind kind, uint8_t flags = 0) {
    const format::RecordHeader header{kind, flags, static_cast<uint16_t>(reserved_ / 8), sequence_};
    uint64_t word;
    __builtin_memcpy(&word, &header, sizeof word);
    __atomic_store_n(static_cast<uint64_t*>(record), word, __ATOMIC_RELEASE);
    cursor_ += reserved_;
    reserved_ = 0;
    ++sequence_;
  }

  bool busy() const { return reserved_ != 0; }
  uint32_t number() const { return number_; }

  // The calls of this thread: entered, and how deep.
  uint32_t next_call() { return ++calls_; }
  format::Owner owner() const { return {number_, current_call_}; }

  // For CallScope (recorder.h).
  uint32_t current_call_ = 0;
  uint16_t depth_ = 0;
  uint16_t inside_ = 0;         // > 0: the agent's own code runs; hooks pass straight through
  uint32_t dispatches_ = 0;     // of the current call: DispatchRecord::ordinal

  // The header of the current chunk, for open_call and open_since; null before the first record.
  format::ChunkHeader* chunk() { return chunk_; }

 private:
  friend class Session;

  void* reserve_bytes(size_t bytes) {
    bytes = (bytes + 7) & ~size_t{7};
    if (static_cast<size_t>(end_ - cursor_) < bytes || reserved_ != 0) return reserve_slow(bytes);
    reserved_ = bytes;
    return cursor_;
  }
  void* reserve_slow(size_t bytes);  // next chunk; counts the loss when there is none

  char* cursor_ = nullptr;
  char* end_ = nullptr;
  size_t reserved_ = 0;
  uint32_t sequence_ = 0;
  uint32_t number_ = 0;
  uint32_t calls_ = 0;
  format::ChunkHeader* chunk_ = nullptr;
};

}  // namespace wavetap::agent
