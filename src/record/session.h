// The files of this process in the session folder: makes chunks, hands them to streams, keeps
// spares.
//
// A chunk is a file with all its blocks allocated (a full disk is found here, not as SIGBUS later),
// mapped shared and closed at once. The mapping is not inherited by children. A chunk that is being
// prepared has a ".spare" name and gets its ".chunk" name when a stream takes it.
//
// Making and mapping a file costs as much as thousands of calls. A program that makes threads by the
// thousand must not pay that for each: a new thread goes on in the files of one that has ended, so
// there are as many files as there were threads at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/bell.h"
#include "record/stream.h"

namespace wavetap::record {

// Thread-safe unless a function says otherwise; chunk_lock is taken inside.
class Session {
 public:
  static constexpr size_t kFirstChunk = 64 << 10;
  static constexpr size_t kFactsChunk = 256 << 10;
  static constexpr size_t kLaterChunk = 2 << 20;
  static constexpr size_t kMaxRecord = 256 << 10;  // RecordHeader::words allows twice that
  static constexpr size_t kMaxPath = 3584;

  // Begins with an empty set of files in `folder`, which must exist and be absolute. 0 or an errno
  // value. Under start_lock. Whatever an earlier session of this process or its parent held is
  // forgotten.
  int open(const char* folder, uint32_t pid);

  const char* folder() const { return folder_; }
  uint32_t pid() const { return pid_; }
  uint64_t process_start() const { return process_start_; }

  // A stream for the calling thread; null when no chunk can be made.
  Stream* make_stream(uint32_t tid);
  // The thread is gone: its files are left to the next.
  void retire_stream(Stream* stream);
  // Under fact_lock.
  Stream& facts() { return facts_; }

  // Seals the stream's chunk and gives it the next, with room for `bytes`.
  bool next_chunk(Stream& stream, size_t bytes);

  // Rings when the file thread has something to do: a chunk was found missing, or is to be unmapped.
  Bell& bell() { return bell_; }
  // File thread: makes the spares that were found missing and unmaps what streams have left behind.
  // True when there is more to do.
  bool tend();
  // At exit: removes the spares.
  void remove_spares();

  // Every stream that has a thread; `visit` is called under chunk_lock.
  template <class Visit>
  void for_each_stream(Visit visit) {
    lock();
    for (Stream* s = streams_; s != nullptr; s = s->next_)
      if (s->in_use_.load(std::memory_order_relaxed)) visit(*s);
    unlock();
  }

  // "<folder>/<pid>-<start>.<a>.<b><suffix>", or without b. The length, 0 when it does not fit.
  size_t path(char* buffer, size_t size, uint32_t a, const uint32_t* b, const char* suffix) const;

  // Recording has ended for good: no chunk could be made.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  uint32_t stream_count() const { return stream_count_; }
  // Records of all threads so far, those that are gone included.
  uint64_t events();

 private:
  struct Spare {
    char* at = nullptr;
    uint32_t id = 0;
  };
  struct Retired {
    char* at = nullptr;
    size_t size = 0;
  };
  static constexpr uint32_t kMaxSpares = 16;
  static constexpr uint32_t kMaxRetired = 16;

  static void lock();
  static void unlock();
  char* make_file(const char* path, size_t size, int* error);
  char* take_chunk(Stream& stream, size_t bytes, size_t* size);
  void install(Stream& stream, char* at, size_t size);
  void retire_chunk(char* at, size_t size);
  Stream* new_stream_object();
  bool take_over(Stream& stream);
  bool write_owner(Stream& stream);
  void seal(Stream& stream);
  void fail(int error);

  Bell bell_;
  char folder_[kMaxPath] = {};
  uint32_t pid_ = 0;
  uint64_t process_start_ = 0;
  Stream facts_;
  Stream* streams_ = nullptr;
  Stream* free_streams_ = nullptr;  // objects without files
  Stream* idle_streams_ = nullptr;  // whose thread is gone
  char* pool_ = nullptr;            // memory for Stream objects
  size_t pool_left_ = 0;
  uint32_t stream_count_ = 0;
  uint32_t spare_ids_ = 0;
  uint32_t spare_target_ = 0;
  uint32_t spare_count_ = 0;
  uint32_t retired_count_ = 0;
  Spare spares_[kMaxSpares];
  Retired retired_[kMaxRetired];
  std::atomic<uint64_t> bytes_written_{0};
  uint64_t sealed_events_ = 0;  // of streams that were sealed
  std::atomic<bool> failed_{false};
};

// The one of this process.
Session& session();

// Field 22 of /proc/self/stat; 0 when it cannot be read.
uint64_t read_process_start();

}  // namespace wavetap::record
