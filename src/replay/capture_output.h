// CaptureOutput: writes a capture file (format/capture.h), compressed, equal pages once.
//
// The file has a temporary name until it is whole, so that readers see the old one or the new one. Records
// are compressed by several threads (record_packer.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/scoped_fd.h"
#include "replay/capture_file.h"
#include "replay/record_packer.h"

namespace wavetap::replay {

// After an error nothing more is written; commit() says which it was.
class CaptureOutput {
 public:
  explicit CaptureOutput(const std::string& path);
  ~CaptureOutput();
  CaptureOutput(const CaptureOutput&) = delete;
  CaptureOutput& operator=(const CaptureOutput&) = delete;

  Status open();
  // Instead of open(): goes on with a whole capture file, which gets the output's name in the end.
  Status adopt(const std::string& path);

  // The number that page `id` of `file` has here. `file` must outlive the output.
  uint32_t put_page(const CaptureFile& file, uint32_t id);
  // The number of a page of the caller's own.
  uint32_t put_page(const std::byte* page);
  // Writes a record behind all pages put so far; small ones later, together with their neighbours.
  void put(format::CaptureRecordType type, std::string_view payload);
  // As many records as they need.
  void put_runs(uint32_t capture, uint32_t region, format::CapturePhase phase,
                const PageRunList& runs);

  Status commit();
  uint64_t size() const { return size_; }

 private:
  // Where a page that was written came from, to compare others with it.
  struct Origin {
    const CaptureFile* file = nullptr;
    uint32_t id = 0;
    std::unique_ptr<std::byte[]> own;
  };

  Error failure() const;
  uint32_t put_page(const std::byte* page, Origin origin);
  bool is_equal(const Origin& origin, const std::byte* page) const;
  void write(const void* bytes, size_t size);
  void flush_pages();
  void flush();

  const std::string path_;
  std::string temporary_;
  bool is_adopted_ = false;
  ScopedFd fd_;
  Status status_;
  uint64_t size_ = 0;
  std::string held_;             // pages not written yet
  std::string group_;            // records behind them, neither
  std::vector<Origin> origins_;  // by number - 1
  std::unordered_map<uint64_t, uint32_t> by_checksum_;
  std::unordered_map<const CaptureFile*, std::vector<uint32_t>> known_;  // by number there
  RecordPacker packer_;
};

// Adds a page to runs that grow in the order of pages.
void add_page(PageRunList& runs, uint32_t page, uint32_t id);

}  // namespace wavetap::replay
