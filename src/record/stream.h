// Appending to a thread's own stream of the raw trace: no lock, no heap, no system call until a
// chunk is full, and then a chunk that the helper thread prepared is waiting.
//
//   CallRecord* r = stream->reserve<CallRecord>(extra_bytes);   // null: nothing can be written any more
//   r->start = ...;                                             // fill everything but the header
//   stream->commit(r, Kind::kCall, flags);                      // one release store makes it visible
//
// Between reserve and commit nothing else is appended to the stream. A signal handler that interrupts
// that window and calls a hooked function writes its record aside, and it is appended right behind the
// one that was interrupted; one that interrupts anywhere else appends it at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format/record.h"

namespace wavetap::record {

class Stream {
 public:
  // `extra` bytes follow the fixed part; rounded up to 8. Null when recording has ended for good.
  template <class Record>
  Record* reserve(size_t extra = 0) {
    return static_cast<Record*>(reserve_bytes(sizeof(Record) + extra));
  }

  // Before commit(): the record ends here already. What was reserved behind it must be zero still.
  void shorten(const void* record, const char* end) {
    const size_t size =
        (static_cast<size_t>(end - static_cast<const char*>(record)) + 7) & ~size_t{7};
    if (record == cursor_) [[likely]]
      reserved_ = size;
    else shorten_aside(record, size);
  }

  void commit(void* record, format::Kind kind, uint8_t flags = 0) {
    if (record != cursor_) [[unlikely]]
      return commit_aside(record, kind, flags);
    if (commit_here(record, reserved_, kind, flags)) [[unlikely]]
      append_aside();
  }

  // reserve() and, with its final size, commit() where nothing is in the way: null where reserve() would take longer.
  // Without a call, so that a hook's second half needs no frame.
  template <class Record>
  Record* reserve_here(size_t extra) {
    return static_cast<Record*>(reserve_bytes_here((sizeof(Record) + extra + 7) & ~size_t{7}));
  }
  // True if the caller must append_aside() next.
  [[nodiscard]] bool commit_here(void* record, size_t size, format::Kind kind, uint8_t flags) {
    const format::RecordHeader header{kind, flags, static_cast<uint16_t>(size / 8),
                                      static_cast<uint32_t>(sequence_)};
    uint64_t word;
    __builtin_memcpy(&word, &header, sizeof word);
    // Pairs with the acquire load of a reader in this or another process: the body is there first.
    __atomic_store_n(static_cast<uint64_t*>(record), word, __ATOMIC_RELEASE);
    cursor_ += size;
    // Others read it at any time (events()); only this thread writes it.
    __atomic_store_n(&sequence_, sequence_ + 1, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    reserved_ = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return aside_ready_ != 0;
  }
  void append_aside();  // what signal handlers have written meanwhile

  bool busy() const { return reserved_ != 0; }
  uint32_t number() const { return number_; }
  uint32_t tid() const { return tid_; }
  // Records appended so far; other threads see a recent number.
  uint64_t events() const { return __atomic_load_n(&sequence_, __ATOMIC_RELAXED); }

  // The calls of this thread: entered, and how deep.
  uint32_t next_call() { return ++calls_; }
  format::Owner owner() const { return {number_, current_call_}; }

  // For call.h.
  uint32_t current_call_ = 0;
  uint16_t depth_ = 0;
  uint32_t dispatches_ = 0;  // of the current call: DispatchRecord::ordinal

  // The header of the current chunk, for open_call and open_since; null before the first record.
  format::ChunkHeader* chunk() { return chunk_; }

 private:
  friend class Session;

  void* reserve_bytes(size_t bytes) {
    bytes = (bytes + 7) & ~size_t{7};
    if (void* const here = reserve_bytes_here(bytes)) return here;
    return reserve_slow(bytes);
  }
  void* reserve_bytes_here(size_t bytes) {
    if (reserved_ != 0) return nullptr;
    // Claimed before the cursor is read: a signal handler that comes in between has finished its
    // own record.
    reserved_ = bytes;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    char* const at = cursor_;
    if (static_cast<size_t>(end_ - at) >= bytes) return at;
    reserved_ = 0;
    return nullptr;
  }
  void* reserve_slow(size_t bytes);  // next chunk; counts the loss when there is none

  // Records of signal handlers that came while one was being written (stream.cc).
  struct Aside;
  void* reserve_aside(size_t bytes);
  void shorten_aside(const void* record, size_t bytes);
  void commit_aside(void* record, format::Kind kind, uint8_t flags);

  char* cursor_ = nullptr;
  char* end_ = nullptr;
  size_t reserved_ = 0;
  uint64_t sequence_ = 0;
  uint32_t aside_ready_ = 0;  // records aside that wait to be appended
  uint32_t number_ = 0;
  uint32_t files_ = 0;  // number of the stream that its files were made for
  uint32_t tid_ = 0;
  uint32_t calls_ = 0;
  uint32_t ordinal_ = 0;  // of the current chunk
  format::ChunkHeader* chunk_ = nullptr;

  Aside* aside_ = nullptr;  // made when first needed

  // Managed by Session under its lock.
  Stream* next_ = nullptr;       // all streams ever made, newest first
  Stream* next_free_ = nullptr;  // among those without files, or those whose thread is gone
  std::atomic<bool> in_use_{false};

 public:
};

}  // namespace wavetap::record
