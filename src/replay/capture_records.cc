// Records of a capture file: where they are, whether they are whole, what is in them.
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"
#include "replay/capture_file.h"

namespace wavetap::replay {
namespace {

using format::CaptureRecordHeader;

Error damaged(uint64_t at, const char* what) {
  return errorf("%s at byte %llu", what, static_cast<unsigned long long>(at));
}

Status check_header(std::span<const std::byte> file, const std::string& name) {
  const std::optional<format::CaptureFileHeader> header =
      read_at<format::CaptureFileHeader>(file, 0);
  if (!header || std::memcmp(header->magic, format::kCaptureMagic, sizeof header->magic) != 0)
    return errorf("%s: not a captured dispatch; make one with wavetap capture", name.c_str());
  if (header->version > format::kCaptureVersion) {
    return errorf("%s: version %u of the format, this wavetap reads up to %u; use a newer wavetap",
                  name.c_str(), header->version, format::kCaptureVersion);
  }
  const uint64_t sum =
      format::capture_checksum(&*header, offsetof(format::CaptureFileHeader, checksum));
  if (sum != header->checksum || header->header_bytes < sizeof *header ||
      header->header_bytes > file.size())
    return errorf("%s: the file's header is damaged; capture again", name.c_str());
  return {};
}

}  // namespace

Result<std::string> walk_records(std::span<const std::byte> file, const std::string& name,
                                 const std::function<void(const CaptureRecord&)>& visit) {
  const Status good = check_header(file, name);
  if (!good.ok()) return good.error();
  uint64_t at = read_at<format::CaptureFileHeader>(file, 0)->header_bytes;
  while (at < file.size()) {
    const std::optional<CaptureRecordHeader> header = read_at<CaptureRecordHeader>(file, at);
    if (!header) return damaged(at, "ends in the middle of a record").message;
    if (header->magic != format::kCaptureRecordMagic ||
        header->raw_bytes > format::kMostCaptureRecordBytes ||
        header->stored_bytes > format::kMostCaptureRecordBytes)
      return damaged(at, "damaged").message;
    const uint64_t begin = at + sizeof *header;
    if (header->stored_bytes > file.size() - begin)
      return damaged(at, "ends in the middle of a record").message;
    const std::span<const std::byte> payload = file.subspan(begin, header->stored_bytes);
    if (format::capture_record_checksum(*header, payload.data()) != header->checksum)
      return damaged(at, "damaged").message;
    visit({header->type, at, payload, header->codec, header->raw_bytes});
    at = begin + header->stored_bytes;
  }
  return std::string();
}

std::vector<std::byte> unpack(const CaptureRecord& record) {
  std::vector<std::byte> raw(record.raw_bytes);
  switch (record.codec) {
    case format::CaptureCodec::kStored:
      if (record.stored.size() != raw.size()) return {};
      std::copy(record.stored.begin(), record.stored.end(), raw.begin());
      return raw;
    case format::CaptureCodec::kZstd:
      if (ZSTD_decompress(raw.data(), raw.size(), record.stored.data(), record.stored.size()) !=
          raw.size())
        return {};
      return raw;
  }
  return {};
}

}  // namespace wavetap::replay
