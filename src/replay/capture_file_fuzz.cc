// Any bytes, and any records with good checksums: reading a capture ends, stays inside, and whatever
// it accepts can be looked at.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"

namespace {

using namespace wavetap;

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

void append_header(std::vector<std::byte>& file) {
  format::CaptureFileHeader header{};
  std::memcpy(header.magic, format::kCaptureMagic, sizeof header.magic);
  header.version = format::kCaptureVersion;
  header.header_bytes = sizeof header;
  header.checksum =
      format::capture_checksum(&header, offsetof(format::CaptureFileHeader, checksum));
  append(file, header);
}

void append_record(std::vector<std::byte>& file, uint32_t type, format::CaptureCodec codec,
                   std::span<const std::byte> payload, uint64_t raw_bytes) {
  format::CaptureRecordHeader header{};
  header.magic = format::kCaptureRecordMagic;
  header.type = static_cast<format::CaptureRecordType>(type);
  header.codec = codec;
  header.stored_bytes = payload.size();
  header.raw_bytes = raw_bytes;
  header.checksum = format::capture_record_checksum(header, payload.data());
  append(file, header);
  file.insert(file.end(), payload.begin(), payload.end());
}

// Records from the input: a byte of type, a byte of length in eights, the payload. Small numbers stand
// for themselves, so that captures and regions are found.
std::vector<std::byte> file_of(const uint8_t* data, size_t size) {
  std::vector<std::byte> file;
  append_header(file);
  for (size_t at = 0; at + 2 <= size;) {
    const uint32_t type = data[at] % 10;
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

void look_at(std::span<const std::byte> bytes) {
  const auto file = replay::CaptureFile::over(bytes, "input");
  if (!file.ok()) return;
  uint32_t sum = 0;
  for (uint32_t id = 0; id <= (*file)->page_count() && id < 64; ++id)
    sum += static_cast<uint32_t>((*file)->page(id)[4095]);
  for (const replay::Capture& capture : (*file)->captures()) {
    uint64_t total = 0;
    for (const replay::CapturedRegion& region : capture.regions) {
      total += region.record.size_bytes;
      sum += static_cast<uint32_t>(
          replay::captured_bytes(**file, capture, replay::State::kAfter, region.end() - 1, 9)[0]);
    }
    uint64_t images = 0;
    for (const auto& object : capture.code_objects) images += object.record.size_bytes;
    if (images < 1u << 20) (void)replay::find_captured_kernel(**file, capture);
    if (total < 1u << 20) (void)replay::CapturedMemory::load(**file, capture);
  }
  if (sum == UINT32_MAX) std::abort();  // cannot be; the reads above must not be left out
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  look_at({reinterpret_cast<const std::byte*>(data), size});
  look_at(file_of(data, size));
  return 0;
}
