// Sink: where exported bytes go. Buffers, compresses when the name ends in .gz, remembers the first
// failure so that writers need not check each call.
#pragma once

#include <cstdint>
#include <cstdio>
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
    if (bytes.size() >= kBufferBytes && !in_memory_) {
      flush();
      write_through(bytes);
      return;
    }
    buffer_.append(bytes);
    if (buffer_.size() >= kBufferBytes && !in_memory_) flush();
  }
  void put(char c) { buffer_.push_back(c); }
  // JSON: the text as a quoted string, whatever bytes it holds; invalid UTF-8 becomes U+FFFD.
  void json_string(std::string_view text);
  void integer(int64_t value);
  // Shortest text that reads back as the same double, with a fraction ("13.0").
  void real(double value);

  // Flushes, closes, gives the file its name.
  Status finish();
  const std::string& memory() const { return buffer_; }
  uint64_t bytes_written() const { return written_ + buffer_.size(); }

 private:
  static constexpr size_t kBufferBytes = 1 << 18;
  Sink() = default;
  void flush();
  void write_through(std::string_view bytes);

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  std::FILE* file_ = nullptr;
  void* gzip_ = nullptr;
  bool in_memory_ = false;
  uint64_t written_ = 0;
  Status status_;
};

}  // namespace wavetap::exporter
