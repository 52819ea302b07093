// A fuzzer's input as files of captures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "format/capture.h"

namespace wavetap::replay {

template <class T>
void append_bytes_of(std::vector<std::byte>& to, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

inline void append_header(std::vector<std::byte>& file) {
  const format::CaptureFileHeader header = format::make_capture_header();
  append_bytes_of(file, header);
}

inline void append_record(std::vector<std::byte>& file, uint32_t type, format::CaptureCodec codec,
                          std::span<const std::byte> payload, uint64_t raw_bytes) {
  format::CaptureRecordHeader header{};
  header.magic = format::kCaptureRecordMagic;
  header.type = static_cast<format::CaptureRecordType>(type);
  header.codec = codec;
  header.stored_bytes = payload.size();
  header.raw_bytes = raw_bytes;
  header.checksum = format::capture_record_checksum(header, payload.data());
  append_bytes_of(file, header);
  file.insert(file.end(), payload.begin(), payload.end());
}

// Records from the input: a byte of type, a byte of length in fours, the payload. Small numbers stand
// for themselves, so that captures and regions are found.
inline std::vector<std::byte> file_of_records(const uint8_t* data, size_t size) {
  std::vector<std::byte> file;
  append_header(file);
  for (size_t at = 0; at + 2 <= size;) {
    const uint32_t type = data[at] % 11;
    const bool packed = (data[at] & 0x80) != 0;
    const size_t wanted = size_t{data[at + 1]} * 4;
    at += 2;
    const size_t length = std::min(wanted, size - at);
    size_t total = length;
    if (type == 1) total = format::kCapturePageBytes * (1 + length % 3);
    if (type == 2) total = std::max(length, sizeof(format::CaptureDispatch) + 16);
    std::vector<std::byte> payload(total);
    if (length > 0) std::memcpy(payload.data(), data + at, std::min(length, total));
    at += length;
    append_record(file, type, packed ? format::CaptureCodec::kZstd : format::CaptureCodec::kStored,
                  payload, payload.size());
  }
  return file;
}

// The input as a file whose checksums are right, so that what stands in it counts. Records reach to the
// end of the input at most.
inline std::vector<std::byte> mended(const uint8_t* data, size_t size) {
  std::vector<std::byte> file;
  append_header(file);
  format::CaptureRecordHeader header{};
  for (size_t at = file.size(); at + sizeof header <= size;) {
    std::memcpy(&header, data + at, sizeof header);
    at += sizeof header;
    const auto length = static_cast<size_t>(std::min<uint64_t>(header.stored_bytes, size - at));
    const auto type = static_cast<uint32_t>(header.type) % 16;
    const std::span payload(reinterpret_cast<const std::byte*>(data) + at, length);
    const bool packed = header.codec == format::CaptureCodec::kZstd;
    append_record(file, type, header.codec, payload, packed ? header.raw_bytes : length);
    at += length;
  }
  return file;
}

}  // namespace wavetap::replay
