#include "replay/capture_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace wavetap::replay {
namespace {

using format::CapturePageRun;
using format::CaptureRecordType;
using format::kCapturePageBytes;

// Of a record that is compressed together with others, and of such a group.
constexpr size_t kMostInGroup = 64u << 10;

bool is_zero(const std::byte* page) {
  return page[0] == std::byte{0} && std::memcmp(page, page + 1, kCapturePageBytes - 1) == 0;
}

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

CaptureOutput::CaptureOutput(const std::string& path)
    : path_(path),
      temporary_(path + ".part" + std::to_string(::getpid())),
      packer_([this](const format::CaptureRecordHeader& header, const void* stored) {
        write(&header, sizeof header);
        write(stored, header.stored_bytes);
      }) {}

CaptureOutput::~CaptureOutput() {
  if (fd_.get() >= 0 && !is_adopted_) ::unlink(temporary_.c_str());
}

Error CaptureOutput::failure() const {
  return errorf("%s: cannot be written: %s; choose another place with -o", path_.c_str(),
                std::strerror(errno));
}

Status CaptureOutput::open() {
  fd_ = ScopedFd(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (fd_.get() < 0) return failure();
  const format::CaptureFileHeader header = format::make_capture_header();
  write(&header, sizeof header);
  return status_;
}

Status CaptureOutput::adopt(const std::string& path) {
  temporary_ = path;
  is_adopted_ = true;
  fd_ = ScopedFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  struct stat st {};
  if (fd_.get() < 0 || ::fstat(fd_.get(), &st) != 0) return failure();
  size_ = static_cast<uint64_t>(st.st_size);
  return {};
}

uint32_t CaptureOutput::put_page(const CaptureFile& file, uint32_t id) {
  if (id == 0) return 0;
  std::vector<uint32_t>& known = known_[&file];
  if (known.empty()) known.resize(file.page_count() + 1, UINT32_MAX);
  if (id >= known.size()) return 0;
  // Looking at one other page for comparison does not take this one out of the file's cache.
  if (known[id] == UINT32_MAX) known[id] = put_page(file.page(id), Origin{&file, id, nullptr});
  return known[id];
}

uint32_t CaptureOutput::put_page(const std::byte* page) {
  auto own = std::make_unique<std::byte[]>(kCapturePageBytes);
  std::memcpy(own.get(), page, kCapturePageBytes);
  return put_page(page, Origin{nullptr, 0, std::move(own)});
}

bool CaptureOutput::is_equal(const Origin& origin, const std::byte* page) const {
  const std::byte* other = origin.own ? origin.own.get() : origin.file->page(origin.id);
  return std::memcmp(other, page, kCapturePageBytes) == 0;
}

uint32_t CaptureOutput::put_page(const std::byte* page, Origin origin) {
  if (is_zero(page)) return 0;
  const uint64_t checksum = format::capture_checksum(page, kCapturePageBytes);
  const auto [known, is_new] =
      by_checksum_.try_emplace(checksum, static_cast<uint32_t>(origins_.size() + 1));
  if (!is_new && is_equal(origins_[known->second - 1], page)) return known->second;
  origins_.push_back(std::move(origin));
  if (held_.empty()) held_.reserve(size_t{format::kCapturePagesPerRecord} * kCapturePageBytes);
  held_.append(reinterpret_cast<const char*>(page), kCapturePageBytes);
  if (held_.size() >= size_t{format::kCapturePagesPerRecord} * kCapturePageBytes) flush_pages();
  return static_cast<uint32_t>(origins_.size());
}

void CaptureOutput::flush_pages() {
  if (held_.empty()) return;
  packer_.put(CaptureRecordType::kPages, std::move(held_));
  held_.clear();
}

// What was written after its pages.
void CaptureOutput::flush() {
  flush_pages();
  if (group_.empty()) return;
  packer_.put(CaptureRecordType::kGroup, std::move(group_));
  group_.clear();
}

void CaptureOutput::put(CaptureRecordType type, std::string_view payload) {
  const bool is_alone = is_adopted_ || payload.size() > kMostInGroup;  // the file may be older
  if (is_alone || group_.size() + payload.size() > kMostInGroup) flush();
  if (is_alone) {
    packer_.put(type, std::string(payload));
    return;
  }
  append(group_, format::CaptureGroupItem{type, static_cast<uint32_t>(payload.size())});
  group_ += payload;
}

void CaptureOutput::put_runs(uint32_t capture, uint32_t region, format::CapturePhase phase,
                             const PageRunList& runs) {
  constexpr size_t kMost =
      (format::kMostCaptureRecordBytes - sizeof(format::CapturePageRuns)) / sizeof(CapturePageRun);
  for (size_t at = 0; at < runs.size(); at += kMost) {
    const size_t count = std::min(kMost, runs.size() - at);
    std::string payload;
    append(payload, format::CapturePageRuns{capture, region, phase, static_cast<uint32_t>(count)});
    payload.append(reinterpret_cast<const char*>(&runs[at]), count * sizeof(CapturePageRun));
    put(CaptureRecordType::kPageRuns, payload);
  }
}

void CaptureOutput::write(const void* bytes, size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0 && status_.ok()) {
    const ssize_t done = ::write(fd_.get(), at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      status_ = failure();
      return;
    }
    at += done;
    size -= static_cast<size_t>(done);
    size_ += static_cast<uint64_t>(done);
  }
}

Status CaptureOutput::commit() {
  flush();
  packer_.finish();
  if (status_.ok() && ::rename(temporary_.c_str(), path_.c_str()) != 0) status_ = failure();
  if (status_.ok()) fd_ = ScopedFd();
  return status_;
}

void add_page(PageRunList& runs, uint32_t page, uint32_t id) {
  if (!runs.empty()) {
    CapturePageRun& last = runs.back();
    const bool follows = last.id == 0 ? id == 0 : id == last.id + last.count;
    if (last.first_page + last.count == page && follows) {
      ++last.count;
      return;
    }
  }
  runs.push_back({page, 1, id});
}

}  // namespace wavetap::replay
