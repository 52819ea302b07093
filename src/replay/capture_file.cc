#include "replay/capture_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/scoped_fd.h"
#include "base/whole_io.h"

namespace wavetap::replay {
namespace {

using format::CaptureRecordType;
using format::kCapturePageBytes;

// What a hostile file may make us keep.
constexpr size_t kMostCaptures = 100'000;
constexpr size_t kMostRegions = 1'000'000;
constexpr uint64_t kAddressLimit = uint64_t{1} << 57;
constexpr uint64_t kMostRegionBytes = uint64_t{1} << 43;  // page numbers fit 32 bits
constexpr uint64_t kMostImageBytes = uint64_t{4} << 30;
constexpr size_t kCachedRecords = 16;
constexpr std::byte kZeros[kCapturePageBytes] = {};

std::optional<std::string> take_text(ByteCursor& cursor) {
  const std::optional<uint32_t> length = cursor.take<uint32_t>();
  if (!length) return std::nullopt;
  const auto bytes = cursor.take_bytes(*length);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Error nonsense(const char* what) { return errorf("%s makes no sense", what); }

}  // namespace

uint32_t page_id(const PageRunList& runs, uint32_t page, uint32_t fallback) {
  const auto after = std::upper_bound(
      runs.begin(), runs.end(), page,
      [](uint32_t number, const format::CapturePageRun& run) { return number < run.first_page; });
  if (after == runs.begin()) return fallback;
  const format::CapturePageRun& run = *std::prev(after);
  const uint32_t offset = page - run.first_page;
  if (offset >= run.count) return fallback;
  return run.id == 0 ? 0 : run.id + offset;
}

const CapturedRegion* Capture::region_at(uint64_t address) const {
  const auto after = std::upper_bound(
      regions.begin(), regions.end(), address,
      [](uint64_t wanted, const CapturedRegion& region) { return wanted < region.begin(); });
  if (after == regions.begin()) return nullptr;
  const CapturedRegion& region = *std::prev(after);
  return region.contains(address) ? &region : nullptr;
}

uint64_t Capture::alias_of(const CapturedRegion& region) const {
  const auto fact = facts.find(format::kCaptureAliasFact + std::to_string(region.begin()));
  if (fact == facts.end()) return 0;
  const uint64_t address = std::strtoull(fact->second.c_str(), nullptr, 10);
  const CapturedRegion* owner = region_at(address);
  const bool fits = owner != nullptr && owner->begin() < region.begin() && owner->has_contents() &&
                    owner->end() - address >= region.record.size_bytes &&
                    (address - owner->begin()) % kCapturePageBytes == 0;
  return fits ? address : 0;
}

bool is_capture_file(const std::string& path) {
  if (path.ends_with(".wtcap")) return true;
  const ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat st {};
  char begin[sizeof format::kCaptureMagic];
  return fd.valid() && ::fstat(fd.get(), &st) == 0 && S_ISREG(st.st_mode) &&
         sys::read_whole(fd.get(), begin, sizeof begin) &&
         std::memcmp(begin, format::kCaptureMagic, sizeof begin) == 0;
}

Result<std::unique_ptr<CaptureFile>> CaptureFile::open(const std::string& path) {
  const ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st {};
  if (fd.get() < 0 || ::fstat(fd.get(), &st) != 0)
    return errorf("%s: cannot be read: %s; check the path", path.c_str(), std::strerror(errno));
  if (!S_ISREG(st.st_mode) || st.st_size == 0)
    return errorf("%s: not a captured dispatch; make one with wavetap capture", path.c_str());
  const auto size = static_cast<size_t>(st.st_size);
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (mapping == MAP_FAILED)
    return errorf("%s: cannot be mapped: %s", path.c_str(), std::strerror(errno));
  std::unique_ptr<CaptureFile> file(new CaptureFile);
  file->name_ = path;
  file->mapping_ = mapping;
  file->mapping_bytes_ = size;
  file->bytes_ = {static_cast<const std::byte*>(mapping), size};
  const Status read = file->read();
  if (!read.ok()) return read.error();
  return file;
}

Result<std::unique_ptr<CaptureFile>> CaptureFile::over(std::span<const std::byte> bytes,
                                                       const std::string& name) {
  std::unique_ptr<CaptureFile> file(new CaptureFile);
  file->name_ = name;
  file->bytes_ = bytes;
  const Status read = file->read();
  if (!read.ok()) return read.error();
  return file;
}

CaptureFile::~CaptureFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

Status CaptureFile::read() {
  std::string first_problem;
  const Result<std::string> walked = walk_records(bytes_, name_, [&](const CaptureRecord& record) {
    if (!first_problem.empty()) return;
    const Status taken = take(record);
    if (!taken.ok()) {
      first_problem =
          errorf("damaged at byte %llu: %s", static_cast<unsigned long long>(record.offset),
                 taken.error().message.c_str())
              .message;
    }
  });
  if (!walked.ok()) return walked.error();
  damage_ = first_problem.empty() ? *walked : first_problem;
  return {};
}

Status CaptureFile::take(const CaptureRecord& record) {
  if (record.type == CaptureRecordType::kPages) return take_pages(record);
  const std::vector<std::byte> payload = unpack(record);
  if (payload.empty()) return nonsense("a record that cannot be unpacked");
  if (record.type != CaptureRecordType::kGroup) return take_payload(record.type, payload);
  ByteCursor cursor(payload);
  while (!cursor.empty()) {
    const auto item = cursor.take<format::CaptureGroupItem>();
    const auto bytes = item ? cursor.take_bytes(item->bytes) : std::nullopt;
    if (!bytes) return nonsense("a group of records");
    if (const Status taken = take_payload(item->type, *bytes); !taken.ok()) return taken;
  }
  return {};
}

Status CaptureFile::take_payload(CaptureRecordType type, std::span<const std::byte> payload) {
  switch (type) {
    case CaptureRecordType::kPages:
    case CaptureRecordType::kGroup: return nonsense("a group of records");
    case CaptureRecordType::kDispatch: return take_dispatch(payload);
    case CaptureRecordType::kRegion: return take_region(payload);
    case CaptureRecordType::kPageRuns: return take_runs(payload);
    case CaptureRecordType::kCodeObject: return take_code_object(payload);
    case CaptureRecordType::kFacts: return take_facts(payload);
    case CaptureRecordType::kEnd: return take_end(payload);
    case CaptureRecordType::kTouched: return take_touched(payload);
    case CaptureRecordType::kBeforeDone: {
      const auto mark = read_at<format::CaptureMark>(payload, 0);
      Capture* capture = mark ? find(mark->capture) : nullptr;
      if (capture == nullptr) return nonsense("the end of the state before");
      capture->has_before = true;
      break;
    }
  }
  return {};  // a type of a later version
}

Status CaptureFile::take_pages(const CaptureRecord& record) {
  const uint64_t count = record.raw_bytes / kCapturePageBytes;
  if (record.raw_bytes % kCapturePageBytes != 0 || count == 0 || pages_ + count >= UINT32_MAX)
    return nonsense("a record of pages");
  page_records_.push_back(
      {record, static_cast<uint32_t>(pages_ + 1), static_cast<uint32_t>(count)});
  pages_ += count;
  return {};
}

Capture* CaptureFile::find(uint32_t number) {
  // The one at hand is the last, or close to it.
  for (auto it = captures_.rbegin(); it != captures_.rend(); ++it)
    if (it->dispatch.capture == number) return &*it;
  return nullptr;
}

Status CaptureFile::take_dispatch(std::span<const std::byte> payload) {
  ByteCursor cursor(payload);
  const auto record = cursor.take<format::CaptureDispatch>();
  if (!record || captures_.size() >= kMostCaptures || find(record->capture) != nullptr)
    return nonsense("a dispatch");
  Capture capture;
  capture.dispatch = *record;
  capture.target = {static_cast<uint8_t>(record->target[0]),
                    static_cast<uint8_t>(record->target[1]),
                    static_cast<uint8_t>(record->target[2])};
  for (std::string* text :
       {&capture.kernel, &capture.model, &capture.marketing_name, &capture.program}) {
    std::optional<std::string> taken = take_text(cursor);
    if (!taken) return nonsense("a dispatch");
    *text = std::move(*taken);
  }
  captures_.push_back(std::move(capture));
  return {};
}

Status CaptureFile::take_region(std::span<const std::byte> payload) {
  const auto record = read_at<format::CaptureRegion>(payload, 0);
  Capture* capture = record ? find(record->capture) : nullptr;
  if (capture == nullptr || capture->has_before || record->size_bytes == 0 ||
      record->size_bytes > kMostRegionBytes || record->address > kAddressLimit ||
      record->region != capture->regions.size() || capture->regions.size() >= kMostRegions ||
      (!capture->regions.empty() && record->address < capture->regions.back().end()))
    return nonsense("a region of memory");
  capture->regions.push_back({*record, {}, {}});
  return {};
}

Status CaptureFile::take_runs(std::span<const std::byte> payload) {
  ByteCursor cursor(payload);
  const auto head = cursor.take<format::CapturePageRuns>();
  Capture* capture = head ? find(head->capture) : nullptr;
  if (capture == nullptr || cursor.size() != head->count * sizeof(format::CapturePageRun))
    return nonsense("a list of pages");
  PageRunList* list = nullptr;
  uint64_t pages = 0;
  if (head->phase == format::CapturePhase::kCodeObject) {
    if (head->region < capture->code_objects.size()) {
      CapturedCodeObject& object = capture->code_objects[head->region];
      list = &object.pages;
      pages = (object.record.size_bytes + kCapturePageBytes - 1) / kCapturePageBytes;
    }
  } else if (head->region < capture->regions.size()) {
    CapturedRegion& region = capture->regions[head->region];
    list = head->phase == format::CapturePhase::kAfter ? &region.changes : &region.before;
    pages = region.page_count();
  }
  if (list == nullptr) return nonsense("a list of pages");
  while (const auto run = cursor.take<format::CapturePageRun>()) {
    const uint64_t free_from =
        list->empty() ? 0 : uint64_t{list->back().first_page} + list->back().count;
    if (run->count == 0 || run->first_page < free_from ||
        uint64_t{run->first_page} + run->count > pages ||
        (run->id != 0 && uint64_t{run->id} + run->count - 1 > pages_))
      return nonsense("a list of pages");
    list->push_back(*run);
  }
  return {};
}

Status CaptureFile::take_code_object(std::span<const std::byte> payload) {
  ByteCursor cursor(payload);
  const auto record = cursor.take<format::CaptureCodeObject>();
  Capture* capture = record ? find(record->capture) : nullptr;
  std::optional<std::string> uri = take_text(cursor);
  if (capture == nullptr || !uri || record->object != capture->code_objects.size() ||
      record->size_bytes > kMostImageBytes || capture->code_objects.size() >= kMostRegions)
    return nonsense("a code object");
  capture->code_objects.push_back({*record, std::move(*uri), {}});
  return {};
}

Status CaptureFile::take_facts(std::span<const std::byte> payload) {
  ByteCursor cursor(payload);
  const auto mark = cursor.take<format::CaptureMark>();
  Capture* capture = mark ? find(mark->capture) : nullptr;
  if (capture == nullptr) return nonsense("a list of facts");
  while (!cursor.empty()) {
    std::optional<std::string> key = take_text(cursor);
    std::optional<std::string> value = key ? take_text(cursor) : std::nullopt;
    if (!value) return nonsense("a list of facts");
    capture->facts[*key] = std::move(*value);
  }
  return {};
}

Status CaptureFile::take_end(std::span<const std::byte> payload) {
  ByteCursor cursor(payload);
  const auto end = cursor.take<format::CaptureEnd>();
  Capture* capture = end ? find(end->capture) : nullptr;
  std::optional<std::string> fault = take_text(cursor);
  if (capture == nullptr || !fault) return nonsense("the end of a dispatch");
  capture->end = *end;
  capture->has_end = true;
  capture->fault = std::move(*fault);
  capture->has_after = capture->has_before && (end->flags & (format::kCaptureCancelled)) == 0;
  return {};
}

Status CaptureFile::take_touched(std::span<const std::byte> payload) {
  ByteCursor cursor(payload);
  const auto mark = cursor.take<format::CaptureMark>();
  Capture* capture = mark ? find(mark->capture) : nullptr;
  if (capture == nullptr) return nonsense("a list of touched memory");
  while (const auto page = cursor.take<format::CaptureTouchedPage>()) {
    if (page->address % kCapturePageBytes != 0 ||
        (!capture->touched.empty() && page->address <= capture->touched.back().address))
      return nonsense("a list of touched memory");
    capture->touched.push_back(*page);
  }
  return cursor.empty() ? Status() : nonsense("a list of touched memory");
}

const std::byte* CaptureFile::page(uint32_t id) const {
  if (id == 0 || id > pages_) return kZeros;
  const auto after = std::upper_bound(
      page_records_.begin(), page_records_.end(), id,
      [](uint32_t wanted, const PageRecord& record) { return wanted < record.first_id; });
  const auto number = static_cast<size_t>(after - page_records_.begin()) - 1;
  const PageRecord& record = page_records_[number];
  const size_t offset = size_t{id - record.first_id} * kCapturePageBytes;
  if (record.record.codec == format::CaptureCodec::kStored &&
      record.record.stored.size() == record.record.raw_bytes)
    return record.record.stored.data() + offset;
  if (cache_.empty()) cache_.resize(kCachedRecords);
  Unpacked* oldest = &cache_[0];
  for (Unpacked& entry : cache_) {
    if (entry.record == number) {
      entry.used = ++clock_;
      return entry.bytes.empty() ? kZeros : entry.bytes.data() + offset;
    }
    if (entry.used < oldest->used) oldest = &entry;
  }
  oldest->record = number;
  oldest->used = ++clock_;
  oldest->bytes = unpack(record.record);
  return oldest->bytes.empty() ? kZeros : oldest->bytes.data() + offset;
}

std::vector<std::byte> CaptureFile::code_object_bytes(const CapturedCodeObject& object) const {
  // Without its first page it is no ELF file, and its size, of up to 4 GiB, is only a claim.
  if (page_id(object.pages, 0) == 0) return {};
  std::vector<std::byte> bytes(object.record.size_bytes);
  for (const format::CapturePageRun& run : object.pages) {
    for (uint32_t i = 0; i < run.count && run.id != 0; ++i) {
      const uint64_t at = (uint64_t{run.first_page} + i) * kCapturePageBytes;
      if (at >= bytes.size()) break;
      std::memcpy(bytes.data() + at, page(run.id + i),
                  std::min<uint64_t>(kCapturePageBytes, bytes.size() - at));
    }
  }
  return bytes;
}

}  // namespace wavetap::replay
