#include "replay/capture_pack.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/scoped_fd.h"
#include "replay/capture_file.h"

namespace wavetap::replay {
namespace {

using format::CaptureRecordType;

constexpr int kLevel = 3;

// The file under a temporary name until it is whole.
class Output {
 public:
  explicit Output(const std::string& path)
      : path_(path), temporary_(path + ".part" + std::to_string(::getpid())) {}
  ~Output() {
    if (fd_.get() >= 0) ::unlink(temporary_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Status open() {
    fd_ = ScopedFd(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (fd_.get() < 0) return failure();
    format::CaptureFileHeader header{};
    std::memcpy(header.magic, format::kCaptureMagic, sizeof header.magic);
    header.version = format::kCaptureVersion;
    header.header_bytes = sizeof header;
    header.checksum =
        format::capture_checksum(&header, offsetof(format::CaptureFileHeader, checksum));
    return write(&header, sizeof header);
  }

  Status put(CaptureRecordType type, std::span<const std::byte> payload) {
    packed_.resize(ZSTD_compressBound(payload.size()));
    const size_t packed =
        ZSTD_compress(packed_.data(), packed_.size(), payload.data(), payload.size(), kLevel);
    const bool smaller = ZSTD_isError(packed) == 0 && packed < payload.size();
    format::CaptureRecordHeader header{};
    header.magic = format::kCaptureRecordMagic;
    header.type = type;
    header.codec = smaller ? format::CaptureCodec::kZstd : format::CaptureCodec::kStored;
    header.raw_bytes = payload.size();
    header.stored_bytes = smaller ? packed : payload.size();
    const std::byte* stored = smaller ? packed_.data() : payload.data();
    header.checksum = format::capture_record_checksum(header, stored);
    const Status head = write(&header, sizeof header);
    return head.ok() ? write(stored, header.stored_bytes) : head;
  }

  Status commit() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failure();
    fd_ = ScopedFd();
    return {};
  }
  uint64_t size() const { return size_; }

 private:
  Error failure() const {
    return errorf("%s: cannot be written: %s; choose another place with -o", path_.c_str(),
                  std::strerror(errno));
  }
  Status write(const void* bytes, size_t size) {
    const auto* at = static_cast<const char*>(bytes);
    while (size > 0) {
      const ssize_t done = ::write(fd_.get(), at, size);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return failure();
      at += done;
      size -= static_cast<size_t>(done);
      size_ += static_cast<uint64_t>(done);
    }
    return {};
  }

  const std::string path_;
  const std::string temporary_;
  ScopedFd fd_;
  uint64_t size_ = 0;
  std::vector<std::byte> packed_;
};

// Moves the numbers in a record behind those of the files before it: every payload but that of pages
// begins with the number of its capture.
void renumber(CaptureRecordType type, std::vector<std::byte>& payload, uint32_t captures,
              uint32_t pages) {
  uint32_t number = 0;
  if (payload.size() < sizeof number) return;
  std::memcpy(&number, payload.data(), sizeof number);
  number += captures;
  std::memcpy(payload.data(), &number, sizeof number);
  if (type != CaptureRecordType::kPageRuns) return;
  for (size_t at = sizeof(format::CapturePageRuns);
       at + sizeof(format::CapturePageRun) <= payload.size();
       at += sizeof(format::CapturePageRun)) {
    format::CapturePageRun run{};
    std::memcpy(&run, payload.data() + at, sizeof run);
    if (run.id != 0) run.id += pages;
    std::memcpy(payload.data() + at, &run, sizeof run);
  }
}

}  // namespace

Result<PackResult> pack_captures(std::span<const std::string> inputs, const std::string& output) {
  PackResult result;
  Output out(output);
  Status status = out.open();
  if (!status.ok()) return status.error();
  uint32_t captures = 0;
  uint32_t pages = 0;
  for (const std::string& input : inputs) {
    const Result<std::unique_ptr<CaptureFile>> file = CaptureFile::open(input);
    if (!file.ok()) {
      result.problems.push_back(file.error().message);
      continue;
    }
    if (!(*file)->damage().empty()) result.problems.push_back(input + ": " + (*file)->damage());
    uint32_t highest = 0;
    for (const Capture& capture : (*file)->captures()) {
      ++(capture.has_before ? result.captures : result.partial);
      highest = std::max(highest, capture.dispatch.capture);
    }
    result.raw_bytes += (*file)->file_bytes();
    const Result<std::string> walked =
        walk_records((*file)->bytes(), input, [&](const CaptureRecord& record) {
          if (!status.ok()) return;
          std::vector<std::byte> payload = unpack(record);
          if (record.type != CaptureRecordType::kPages)
            renumber(record.type, payload, captures, pages);
          status = out.put(record.type, payload);
        });
    if (!walked.ok()) return walked.error();
    if (!status.ok()) return status.error();
    captures += highest;
    pages += static_cast<uint32_t>((*file)->page_count());
  }
  result.file_bytes = out.size();
  status = out.commit();
  if (!status.ok()) return status.error();
  return result;
}

}  // namespace wavetap::replay
