// Reading a raw trace: whole or damaged, finished or still being written.
//
//   SessionReader        the folder: finds chunks, groups them by process and stream; refresh() finds new ones
//     StreamReader       one thread's records in order, across its chunks
//       Chunk            one mapped file
//
// Nothing in a file is believed. A chunk whose header does not hold, and the part of a chunk from
// the first record that cannot be right, are skipped; what they cost is counted in Damage and the
// rest is read. Where the chunks of a stream continue behind a hole, the sequence numbers tell
// exactly how many records are missing.
//
// A reader at the end of what has been written can simply ask again later: next() returns false now
// and a record once there is one. Records point into the mapping and stay valid as long as the
// SessionReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/record.h"

namespace wavetap::format {

// One record, whole. `bytes` includes the header.
struct Record {
  RecordHeader header{};
  uint64_t sequence = 0;
  std::span<const std::byte> bytes;

  // The fixed part, or null when the record is too short to be a T.
  template <class T>
  const T* as() const {
    return bytes.size() >= sizeof(T) ? reinterpret_cast<const T*>(bytes.data()) : nullptr;
  }
  // What follows the fixed part.
  template <class T>
  std::span<const std::byte> after() const {
    return bytes.size() >= sizeof(T) ? bytes.subspan(sizeof(T)) : std::span<const std::byte>();
  }
};

// Takes the texts behind a record's fixed part one by one; "" once there are no more.
class TextCursor {
 public:
  explicit TextCursor(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::string_view next();

 private:
  std::span<const std::byte> rest_;
};

// What could not be read.
struct Damage {
  uint64_t missing_records = 0;  // proven by sequence numbers, or one per unreadable tail
  uint64_t unreadable_bytes = 0;
  std::vector<std::string> notes;  // "12-99.3.0.chunk: offset 0x1080: ..."; the first few only

  void add(std::string note, uint64_t records, uint64_t bytes);
  void add(const Damage& other);
  bool any() const { return missing_records != 0 || unreadable_bytes != 0; }
};

class Chunk {
 public:
  // kEmpty: the file has no header yet; the process died before, or is about to write one.
  enum class Open : uint8_t { kGood, kEmpty, kBad };
  enum class Next : uint8_t {
    kRecord,
    kWaiting,  // nothing more yet; the stream is still in this chunk
    kEnd,      // the stream has moved on
    kDamaged,  // what follows makes no sense; damaged_bytes() says how much of it there is
  };

  // `why` is set with kBad.
  static Open map(const std::string& path, Chunk& chunk, std::string& why);
  // The same over bytes in memory, 8-byte aligned; they must outlive the chunk.
  static Open over(std::span<const std::byte> bytes, Chunk& chunk, std::string& why);

  Chunk() = default;
  Chunk(Chunk&& other) noexcept;
  Chunk& operator=(Chunk&& other) noexcept;
  ~Chunk();

  const ChunkHeader& header() const { return *header_; }
  Next next(Record& record);
  void rewind();
  uint64_t next_sequence() const { return sequence_; }
  size_t offset() const { return offset_; }
  uint64_t damaged_bytes() const;
  // Size of the file, whatever its state.
  uint64_t file_bytes() const { return bytes_.size(); }
  // The outermost call the thread is in: function << 32 | call, and since when; 0 when in none.
  uint64_t open_call() const;
  uint64_t open_since() const;

 private:
  std::span<const std::byte> bytes_;
  void* mapping_ = nullptr;
  const ChunkHeader* header_ = nullptr;
  size_t offset_ = 0;
  uint64_t sequence_ = 0;
};

struct ProcessId {
  uint32_t pid = 0;
  uint64_t start = 0;
  auto operator<=>(const ProcessId&) const = default;
};

class StreamReader {
 public:
  StreamReader(ProcessId process, uint32_t number)
      : process_(process), number_(number), stream_(number) {}

  ProcessId process() const { return process_; }
  uint32_t number() const { return number_; }  // of the files
  // Whose the record is that next() gave last: a thread's files are used by later ones again.
  uint32_t stream() const { return stream_; }
  uint32_t tid() const { return tid_; }
  Clock clock() const { return clock_; }

  // The next record; false when there is none at the moment.
  bool next(Record& record);
  // Start again at the first record of the first chunk.
  void rewind();

  Damage damage() const;
  uint64_t records() const { return records_; }
  // Of all chunks, as far as they were read.
  uint64_t bytes_read() const {
    return bytes_read_ + (current_ < chunks_.size() && chunks_[current_].begun
                              ? chunks_[current_].chunk.offset()
                              : 0);
  }
  // Of the newest chunk; null before the first.
  const Chunk* last_chunk() const { return chunks_.empty() ? nullptr : &chunks_.back().chunk; }

 private:
  friend class SessionReader;
  struct Entry {
    Chunk chunk;
    std::string name;
    bool begun = false;
  };
  void add(Chunk chunk, std::string name);
  void begin(Entry& entry);
  void leave(Entry& entry, Chunk::Next how);

  ProcessId process_;
  uint32_t number_ = 0;
  uint32_t stream_ = 0;
  uint32_t tid_ = 0;
  Clock clock_ = Clock::kBoottimeNs;
  std::vector<Entry> chunks_;  // by ordinal
  size_t current_ = 0;
  uint64_t expected_ = 0;  // sequence number of the next record
  // The chunk before ended damaged; the next one tells how many records that cost.
  bool tail_lost_ = false;
  uint64_t records_ = 0;
  uint64_t bytes_read_ = 0;
  Damage damage_;
};

struct ProcessStreams {
  ProcessId id;
  std::vector<StreamReader*> streams;  // by number; 0 holds the facts

  StreamReader* facts() const {
    return !streams.empty() && streams[0]->number() == kFactsStream ? streams[0] : nullptr;
  }
};

class SessionReader {
 public:
  // An error when the folder cannot be listed. An empty folder is a session without processes.
  static Result<SessionReader> open(const std::string& folder);

  // Looks for chunks that are new since; true when there were any.
  bool refresh();

  const std::string& folder() const { return folder_; }
  // In order of pid and start. Stays valid until the next refresh().
  const std::vector<ProcessStreams>& processes() const { return processes_; }
  // Of whole chunks: bad headers. Each stream has its own besides.
  const Damage& damage() const { return damage_; }
  // The streams' and the folder's, after everything was read.
  Damage total_damage() const;
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  StreamReader& stream_of(const ChunkHeader& header);
  void regroup();

  std::string folder_;
  std::map<std::string, bool, std::less<>> files_;  // name: mapped, or known to be bad
  std::map<std::pair<ProcessId, uint32_t>, std::unique_ptr<StreamReader>> streams_;
  std::vector<ProcessStreams> processes_;
  Damage damage_;
  uint64_t file_bytes_ = 0;
};

}  // namespace wavetap::format
