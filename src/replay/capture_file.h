// CaptureFile: captured dispatches, read from a file (format/capture.h, docs/capture-format.md).
//
// The file is foreign: every number in it is checked, and what a killed writer or a bad disk has left
// is read up to the first record that is not whole. Whether a capture is usable is then a question to
// the capture: has_before, has_after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amd/gfx_target.h"
#include "base/result.h"
#include "format/capture.h"

namespace wavetap::replay {

// Pages of a region or a file, by runs in the order of their pages.
using PageRunList = std::vector<format::CapturePageRun>;

// What page `page` holds; `fallback` when no run names it.
uint32_t page_id(const PageRunList& runs, uint32_t page, uint32_t fallback = 0);

struct CapturedRegion {
  format::CaptureRegion record{};
  PageRunList before;   // the rest: zeros
  PageRunList changes;  // the rest: as before

  uint64_t begin() const { return record.address; }
  uint64_t end() const { return record.address + record.size_bytes; }
  bool contains(uint64_t address) const { return address - record.address < record.size_bytes; }
  bool has_contents() const { return (record.flags & format::kCaptureNoContents) == 0; }
  uint32_t page_count() const {
    return static_cast<uint32_t>((record.size_bytes + format::kCapturePageBytes - 1) /
                                 format::kCapturePageBytes);
  }
};

struct CapturedCodeObject {
  format::CaptureCodeObject record{};
  std::string uri;
  PageRunList pages;
};

struct Capture {
  format::CaptureDispatch dispatch{};
  std::string kernel;  // demangled
  std::string model;
  std::string marketing_name;
  std::string program;
  amd::GfxTarget target;
  std::map<std::string, std::string> facts;
  std::vector<CapturedRegion> regions;  // in the order of addresses
  std::vector<CapturedCodeObject> code_objects;
  bool has_before = false;  // complete: can be replayed
  bool has_after = false;   // complete: can be compared with
  bool has_end = false;     // `end` and `fault` are known
  format::CaptureEnd end{};
  std::string fault;  // what stopped the kernel when it was captured
  // What a run of it read and wrote, by address; empty: never found out.
  std::vector<format::CaptureTouchedPage> touched;

  // Pages that `before` does not name are unknown, not zeros.
  bool is_only_touched() const { return (dispatch.flags & format::kCaptureOnlyTouched) != 0; }
  bool is_unordered() const {
    return (dispatch.flags & format::kCaptureUnordered) != 0 ||
           (end.flags & format::kCaptureEndUnordered) != 0;
  }
  const CapturedRegion* region_at(uint64_t address) const;
  // Where the same memory lies in an earlier region; 0: the region's memory is its own.
  uint64_t alias_of(const CapturedRegion& region) const;
};

// One record of a file, unpacked.
struct CaptureRecord {
  format::CaptureRecordType type{};
  uint64_t offset = 0;                // of its header in the file
  std::span<const std::byte> stored;  // the payload as it is in the file
  format::CaptureCodec codec{};
  uint64_t raw_bytes = 0;
};

// Calls `visit` for every whole record. "" when the file ends with the last one, else what is wrong
// behind it. An error when it is no capture file at all.
Result<std::string> walk_records(std::span<const std::byte> file, const std::string& name,
                                 const std::function<void(const CaptureRecord&)>& visit);
// The payload; empty when it cannot be unpacked.
std::vector<std::byte> unpack(const CaptureRecord& record);

// Whether a file is meant to be one: called FILE.wtcap, or beginning as one under whatever name.
bool is_capture_file(const std::string& path);

// Immutable but for the cache of pages: one thread.
class CaptureFile {
 public:
  static Result<std::unique_ptr<CaptureFile>> open(const std::string& path);
  // `bytes` must outlive the object.
  static Result<std::unique_ptr<CaptureFile>> over(std::span<const std::byte> bytes,
                                                   const std::string& name);
  ~CaptureFile();
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  uint64_t file_bytes() const { return bytes_.size(); }
  uint64_t page_count() const { return pages_; }
  const std::vector<Capture>& captures() const { return captures_; }
  // "" or why the file ends early: "ends in the middle of a record at byte 4096".
  const std::string& damage() const { return damage_; }

  // Page `id` (format/capture.h), valid until the next call; zeros for 0 and for what is not there.
  const std::byte* page(uint32_t id) const;
  // The object's ELF file; empty when its first page is not there.
  std::vector<std::byte> code_object_bytes(const CapturedCodeObject& object) const;
  // The records that hold them, as they are in the file.
  template <class Visit>
  void for_each_page_record(Visit visit) const {
    for (const PageRecord& one : page_records_) visit(one.record);
  }

 private:
  struct PageRecord {
    CaptureRecord record;
    uint32_t first_id = 0;
    uint32_t count = 0;
  };
  struct Unpacked {
    size_t record = SIZE_MAX;
    uint64_t used = 0;
    std::vector<std::byte> bytes;
  };

  CaptureFile() = default;
  Status read();
  Status take(const CaptureRecord& record);
  Status take_payload(format::CaptureRecordType type, std::span<const std::byte> payload);
  Status take_pages(const CaptureRecord& record);
  Status take_dispatch(std::span<const std::byte> payload);
  Status take_region(std::span<const std::byte> payload);
  Status take_runs(std::span<const std::byte> payload);
  Status take_code_object(std::span<const std::byte> payload);
  Status take_facts(std::span<const std::byte> payload);
  Status take_end(std::span<const std::byte> payload);
  Status take_touched(std::span<const std::byte> payload);
  Capture* find(uint32_t number);

  std::string name_;
  std::span<const std::byte> bytes_;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  std::vector<Capture> captures_;
  std::string damage_;
  uint64_t pages_ = 0;
  std::vector<PageRecord> page_records_;
  mutable std::vector<Unpacked> cache_;
  mutable uint64_t clock_ = 0;
};

}  // namespace wavetap::replay
