// Writes raw traces for tests, record by record, the way the agent lays them out.
//
//   TestSession session(folder);
//   TestProcess& process = session.process({.pid = 100});
//   process.fact(ClockSampleFact{...}, Kind::kClockSample);
//   process.thread(1, 101).put(CallRecord{...}, Kind::kCall, 0, {arguments});
//
// Everything is on disk when the session object goes, or after flush().
#pragma once

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/checksum.h"
#include "format/record.h"
#include "format/session.h"

namespace wavetap::format::test {

// Text fields as they follow a record.
inline std::vector<uint64_t> texts(std::initializer_list<std::string_view> items) {
  std::vector<uint64_t> words;
  for (const std::string_view item : items) {
    const Text head{static_cast<uint32_t>(item.size()), 0};
    const size_t at = words.size();
    words.resize(at + 1 + (item.size() + 7) / 8);
    std::memcpy(&words[at], &head, sizeof head);
    if (!item.empty()) std::memcpy(&words[at + 1], item.data(), item.size());
  }
  return words;
}

class TestStream {
 public:
  TestStream(std::string folder, uint32_t pid, uint64_t start, uint32_t stream, uint32_t tid,
             uint64_t capacity, Clock clock = Clock::kBoottimeNs)
      : folder_(std::move(folder)),
        pid_(pid),
        start_(start),
        stream_(stream),
        tid_(tid),
        capacity_(capacity),
        clock_(clock) {
    open_chunk();
  }
  ~TestStream() { flush(); }

  template <class Record>
  void put(Record record, Kind kind, uint8_t flags = 0, const std::vector<uint64_t>& extra = {}) {
    const size_t size = sizeof(Record) + extra.size() * 8;
    if (used_ + size > buffer_.size() * 8) {
      header().sealed = used_;
      flush();
      ++ordinal_;
      open_chunk();
    }
    record.header = {kind, flags, static_cast<uint16_t>(size / 8),
                     static_cast<uint32_t>(sequence_++)};
    std::memcpy(bytes() + used_, &record, sizeof record);
    if (!extra.empty())
      std::memcpy(bytes() + used_ + sizeof record, extra.data(), extra.size() * 8);
    used_ += size;
  }

  void set_open_call(uint32_t function, uint32_t call, uint64_t since) {
    header().open_call = uint64_t{function} << 32 | call;
    header().open_since = since;
  }

  std::string path() const {
    return folder_ + "/" + std::to_string(pid_) + "-" + std::to_string(start_) + "." +
           std::to_string(stream_) + "." + std::to_string(ordinal_) + kChunkSuffix;
  }
  void flush() {
    FILE* file = std::fopen(path().c_str(), "wb");
    if (file == nullptr) return;
    std::fwrite(buffer_.data(), 8, buffer_.size(), file);
    std::fclose(file);
  }
  uint32_t number() const { return stream_; }
  uint64_t sequence() const { return sequence_; }

 private:
  char* bytes() { return reinterpret_cast<char*>(buffer_.data()); }
  ChunkHeader& header() { return *reinterpret_cast<ChunkHeader*>(buffer_.data()); }
  void open_chunk() {
    buffer_.assign(capacity_ / 8, 0);
    ChunkHeader& h = header();
    std::memcpy(h.magic, kChunkMagic, sizeof h.magic);
    h.version = kFormatVersion;
    h.header_bytes = sizeof(ChunkHeader);
    h.capacity = capacity_;
    h.pid = pid_;
    h.stream = stream_;
    h.tid = tid_;
    h.ordinal = ordinal_;
    h.process_start = start_;
    h.first_sequence = sequence_;
    h.clock = clock_;
    h.checksum = crc32c(&h, offsetof(ChunkHeader, checksum));
    used_ = sizeof(ChunkHeader);
  }

  std::string folder_;
  uint32_t pid_;
  uint64_t start_;
  uint32_t stream_;
  uint32_t tid_;
  uint64_t capacity_;
  Clock clock_;
  uint32_t ordinal_ = 0;
  uint64_t sequence_ = 0;
  size_t used_ = 0;
  std::vector<uint64_t> buffer_;
};

class TestProcess {
 public:
  TestProcess(std::string folder, uint32_t pid, uint64_t start, uint64_t capacity,
              Clock clock = Clock::kBoottimeNs)
      : folder_(std::move(folder)), pid_(pid), start_(start), capacity_(capacity), clock_(clock) {}

  TestStream& stream(uint32_t number, uint32_t tid) {
    std::unique_ptr<TestStream>& stream = streams_[number];
    if (stream == nullptr)
      stream = std::make_unique<TestStream>(folder_, pid_, start_, number, tid, capacity_, clock_);
    return *stream;
  }
  template <class Fact>
  void fact(const Fact& fact, Kind kind, uint8_t flags = 0,
            std::initializer_list<std::string_view> items = {}) {
    stream(kFactsStream, pid_).put(fact, kind, flags, texts(items));
  }
  void flush() {
    for (auto& [number, stream] : streams_) stream->flush();
  }
  uint32_t pid() const { return pid_; }

 private:
  std::string folder_;
  uint32_t pid_;
  uint64_t start_;
  uint64_t capacity_;
  Clock clock_;
  std::map<uint32_t, std::unique_ptr<TestStream>> streams_;
};

// A folder of its own below the system's temporary one, removed at the end.
class TestFolder {
 public:
  explicit TestFolder(const char* name) {
    std::string path =
        (std::filesystem::temp_directory_path() / (std::string("wavetap-") + name + "-XXXXXX"))
            .string();
    path_ = mkdtemp(path.data()) == nullptr ? "" : path;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace wavetap::format::test
