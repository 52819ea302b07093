#include "capture/capture_writer.h"

#include <algorithm>

#include "base/sys_files.h"

namespace wavetap::capture {
namespace {

using format::CapturePageRun;
using format::CaptureRecordHeader;
using format::CaptureRecordType;
using format::kCapturePageBytes;

// Of a record of pages, and of what is read back at once.
constexpr size_t kBatchBytes = 64 * size_t{kCapturePageBytes};
// A record of facts is ended when it is as long as this, and a fact is cut there: what is beyond is nothing
// that anybody reads.
constexpr size_t kFactBytes = format::kMostCaptureRecordBytes / 4;

bool is_zero(const std::byte* page) {
  // A page equals itself shifted by a word when all its words are equal.
  uint64_t first = 0;
  std::memcpy(&first, page, sizeof first);
  return first == 0 &&
         std::memcmp(page, page + sizeof first, kCapturePageBytes - sizeof first) == 0;
}

}  // namespace

void FactList::add(std::string_view key, std::string_view value) {
  if (records_.empty() || records_.back().size() >= kFactBytes)
    records_.emplace_back(format::CaptureMark{capture_, 0});
  records_.back().text(key.substr(0, kFactBytes));
  records_.back().text(value.substr(0, kFactBytes));
}

void PageRuns::add(uint32_t page, uint32_t id) {
  if (!runs_.empty()) {
    CapturePageRun& last = runs_.back();
    const uint32_t next = last.id == 0 ? 0 : last.id + last.count;
    if (last.first_page + last.count == page && next == id) {
      ++last.count;
      return;
    }
  }
  runs_.push_back({page, 1, id});
}

uint32_t PageRuns::id_of(uint32_t page) const {
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), page,
      [](uint32_t number, const CapturePageRun& run) { return number < run.first_page; });
  if (after == runs_.begin()) return 0;
  const CapturePageRun& run = *std::prev(after);
  const uint32_t offset = page - run.first_page;
  return offset >= run.count || run.id == 0 ? 0 : run.id + offset;
}

int CaptureWriter::begin() {
  error_ = 0;
  window_begin_ = window_end_ = 0;
  fd_ = sys::open(path_.c_str(), O_RDWR | O_CREAT | (position_ == 0 ? O_TRUNC : 0), 0600);
  if (fd_ < 0) return -fd_;
  if (position_ == 0) {
    const format::CaptureFileHeader header = format::make_capture_header();
    write(&header, sizeof header);
  }
  return error_;
}

int CaptureWriter::end() {
  flush_pages();
  if (fd_ >= 0) sys::close(fd_);
  fd_ = -1;
  return error_;
}

void CaptureWriter::write(const void* bytes, size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0 && error_ == 0) {
    const int64_t done = fd_ < 0 ? -EBADF : sys::call(SYS_pwrite64, fd_, at, size, position_);
    if (done == -EINTR) continue;
    if (done <= 0) {
      error_ = done == 0 ? EIO : static_cast<int>(-done);
      return;
    }
    at += done;
    size -= static_cast<size_t>(done);
    position_ += static_cast<uint64_t>(done);
  }
}

void CaptureWriter::write_record(CaptureRecordType type, std::string_view payload) {
  CaptureRecordHeader header{};
  header.magic = format::kCaptureRecordMagic;
  header.type = type;
  header.codec = format::CaptureCodec::kStored;
  header.stored_bytes = header.raw_bytes = payload.size();
  header.checksum = format::capture_record_checksum(header, payload.data());
  write(&header, sizeof header);
  write(payload.data(), payload.size());
}

void CaptureWriter::flush_pages() {
  if (held_.empty()) return;
  const uint64_t first = position_ + sizeof(CaptureRecordHeader);
  for (uint64_t at = 0; at < held_.size(); at += kCapturePageBytes) offsets_.push_back(first + at);
  write_record(CaptureRecordType::kPages, held_);
  held_.clear();
}

uint32_t CaptureWriter::put_page(const std::byte* page) {
  if (is_zero(page)) return 0;
  const uint64_t hash = format::capture_checksum(page, kCapturePageBytes);
  const auto known = by_hash_.find(hash);
  if (known != by_hash_.end() && holds(known->second, page)) return known->second;
  if (held_.empty()) held_.reserve(kBatchBytes);
  held_.append(reinterpret_cast<const char*>(page), kCapturePageBytes);
  const auto id = static_cast<uint32_t>(pages());
  if (known == by_hash_.end()) by_hash_.emplace(hash, id);
  if (held_.size() >= kBatchBytes) flush_pages();
  return id;
}

bool CaptureWriter::holds(uint32_t id, const std::byte* page) {
  if (id == 0) return is_zero(page);
  if (id > offsets_.size()) {
    const size_t at = (id - 1 - offsets_.size()) * kCapturePageBytes;
    return at < held_.size() && std::memcmp(held_.data() + at, page, kCapturePageBytes) == 0;
  }
  const std::byte* const stored = stored_page(id);
  return stored != nullptr && std::memcmp(stored, page, kCapturePageBytes) == 0;
}

// Pages are mostly asked for in the order they were written: those behind it are read, too.
const std::byte* CaptureWriter::stored_page(uint32_t id) {
  const uint64_t begin = offsets_[id - 1];
  if (begin < window_begin_ || begin + kCapturePageBytes > window_end_) {
    window_.resize(kBatchBytes);
    const int64_t got = fd_ < 0
                            ? -EBADF
                            : sys::call(SYS_pread64, fd_, window_.data(),
                                        std::min<uint64_t>(kBatchBytes, position_ - begin), begin);
    window_begin_ = begin;
    window_end_ = begin + static_cast<uint64_t>(std::max<int64_t>(got, 0));
    if (got < int64_t{kCapturePageBytes}) return nullptr;
  }
  return window_.data() + (begin - window_begin_);
}

void CaptureWriter::put(CaptureRecordType type, std::string_view payload) {
  flush_pages();
  if (payload.size() > format::kMostCaptureRecordBytes) {  // no reader takes it
    if (error_ == 0) error_ = EMSGSIZE;
    return;
  }
  write_record(type, payload);
}

void CaptureWriter::put(const FactList& facts) {
  for (const Payload& record : facts.records()) put(CaptureRecordType::kFacts, record);
}

void CaptureWriter::put_runs(uint32_t capture, uint32_t region, format::CapturePhase phase,
                             const PageRuns& runs) {
  constexpr size_t kMost = 64 * 1024;  // well below the limit of a record
  std::span<const CapturePageRun> rest = runs.runs();
  while (!rest.empty()) {
    const size_t count = std::min(rest.size(), kMost);
    Payload payload(format::CapturePageRuns{capture, region, phase, static_cast<uint32_t>(count)});
    payload.add(rest.data(), count * sizeof(CapturePageRun));
    put(CaptureRecordType::kPageRuns, payload);
    rest = rest.subspan(count);
  }
}

}  // namespace wavetap::capture
