// Sink: where exported bytes go. Buffers, compresses when the name ends in .gz, remembers the first
// failure so that writers need not check each call.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wavetap::exporter {

class Sink {
 public:
  // "-" is standard output. The file appears under its name only when finish() succeeds.
  static Result<Sink> open(const std::string& path);
  // Collects in memory; for tests and for pages that embed an export.
  static Sink in_memory();

  Sink(Sink&& other) noexcept;
  Sink& operator=(Sink&&) = delete;
  Sink(const Sink&) = delete;
  ~Sink();

  void write(std::string_view bytes) {
    if (bytes.empty()) return;
    if (bytes.size() >= kBufferBytes && !in_memory_) {
      flush();
      write_through(bytes);
      return;
    }
    // Inlined, a literal's size is known and this is a store or two.
    std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void put(char c) {
    *room(1) = c;
    ++size_;
  }
  // JSON: the text as a quoted string, whatever bytes it holds; invalid UTF-8 becomes U+FFFD.
  void json_string(std::string_view text);
  void integer(int64_t value) {
    char* at = room(kLongestInteger);
    size_ += static_cast<size_t>(std::to_chars(at, at + kLongestInteger, value).ptr - at);
  }
  // Shortest text that reads back as the same double, with a fraction ("13.0").
  void real(double value);
  // JSON: a whole number without a fraction; what JSON cannot say is null.
  void json_number(double value);

  // Drops what a sink in memory has collected, to start afresh.
  void clear() { size_ = 0; }
  // Flushes, closes, gives the file its name.
  Status finish();
  // What a sink in memory has collected.
  std::string_view memory() const { return {buffer_.get(), size_}; }
  uint64_t bytes_written() const { return written_ + size_; }

 private:
  static constexpr size_t kBufferBytes = 1 << 18;
  static constexpr size_t kLongestInteger = 20;
  Sink() = default;
  // Where the next `bytes` go, which are fewer than kBufferBytes or all there is.
  char* room(size_t bytes) {
    if (capacity_ - size_ < bytes) make_room(bytes);
    return buffer_.get() + size_;
  }
  void make_room(size_t bytes);
  void flush();
  void write_through(std::string_view bytes);

  std::string path_;
  std::string temporary_;
  std::unique_ptr<char[]> buffer_;
  size_t size_ = 0, capacity_ = 0;
  std::FILE* file_ = nullptr;
  void* gzip_ = nullptr;
  bool in_memory_ = false;
  uint64_t written_ = 0;
  Status status_;
};

}  // namespace wavetap::exporter
