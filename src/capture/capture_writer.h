// CaptureWriter: writes captured dispatches (format/capture.h) from inside the program, uncompressed.
//
// Equal pages are written once: a page whose checksum is known is compared with the one in the file,
// so a chance equality of checksums costs a page and never its contents. The file is open between
// begin() and end() only, so that no descriptor of ours stays in the program.
//
// The program waits meanwhile. Pages go to the file, and come from it to be compared, some at a time: few
// enough to stay in the processor's cache between the passes over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/capture.h"

namespace wavetap::capture {

// The payload of a record, put together. Texts come behind what they belong to.
class Payload {
 public:
  template <class T>
  explicit Payload(const T& head) {
    add(&head, sizeof head);
  }
  void add(const void* bytes, size_t size) { bytes_.append(static_cast<const char*>(bytes), size); }
  void text(std::string_view text) {
    const auto length = static_cast<uint32_t>(text.size());
    add(&length, sizeof length);
    bytes_.append(text);
  }
  std::string_view bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

// What is known about a capture beside its memory, key by key. There may be a fact per allocation: they
// become as many records as they need.
class FactList {
 public:
  explicit FactList(uint32_t capture) : capture_(capture) {}
  void add(std::string_view key, std::string_view value);
  const std::vector<Payload>& records() const { return records_; }

 private:
  const uint32_t capture_;
  std::vector<Payload> records_;
};

// Collects pages in order as runs.
class PageRuns {
 public:
  void add(uint32_t page, uint32_t id);
  const std::vector<format::CapturePageRun>& runs() const { return runs_; }
  // Of page `page`; 0, zeros, when none was added.
  uint32_t id_of(uint32_t page) const;

 private:
  std::vector<format::CapturePageRun> runs_;
};

// One thread at a time. After an error nothing more is written.
class CaptureWriter {
 public:
  explicit CaptureWriter(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Opens the file, the first time making it. 0 or errno.
  int begin();
  // Writes what is held back and closes the file. The first error since begin(), as errno, or 0.
  int end();

  // The number of a page of kCapturePageBytes; 0 for zeros.
  uint32_t put_page(const std::byte* page);
  // Does page `id` hold these bytes?
  bool holds(uint32_t id, const std::byte* page);
  // Writes a record behind all pages put so far.
  void put(format::CaptureRecordType type, std::string_view payload);
  void put(format::CaptureRecordType type, const Payload& payload) { put(type, payload.bytes()); }
  void put(const FactList& facts);
  // As many records as they need.
  void put_runs(uint32_t capture, uint32_t region, format::CapturePhase phase,
                const PageRuns& runs);
  uint64_t pages() const { return offsets_.size() + held_.size() / format::kCapturePageBytes; }

 private:
  void write(const void* bytes, size_t size);
  void write_record(format::CaptureRecordType type, std::string_view payload);
  void flush_pages();
  const std::byte* stored_page(uint32_t id);

  const std::string path_;
  int fd_ = -1;
  int error_ = 0;
  uint64_t position_ = 0;                           // the file's size, as far as written
  std::string held_;                                // pages not written yet
  std::vector<uint64_t> offsets_;                   // of the pages in the file, by number - 1
  std::unordered_map<uint64_t, uint32_t> by_hash_;  // the first page with a checksum
  // What was read back of the file last.
  std::vector<std::byte> window_;
  uint64_t window_begin_ = 0;
  uint64_t window_end_ = 0;
};

}  // namespace wavetap::capture
