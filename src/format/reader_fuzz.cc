// Any bytes behind a good chunk header, and any bytes at all: a reader must end, stay inside and
// account for what it skips.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "format/checksum.h"
#include "format/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap::format;
  if (size < 2) return 0;
  const size_t body = size - 2;
  std::vector<uint64_t> words((sizeof(ChunkHeader) + body + 7) / 8);
  auto* bytes = reinterpret_cast<std::byte*>(words.data());
  const size_t total = sizeof(ChunkHeader) + body;
  if (body > 0) std::memcpy(bytes + sizeof(ChunkHeader), data + 2, body);
  if ((data[0] & 1) != 0 && body > 0)
    std::memcpy(bytes, data + 2, std::min(body, sizeof(ChunkHeader)));

  auto* header = reinterpret_cast<ChunkHeader*>(words.data());
  if ((data[0] & 2) != 0) {
    std::memcpy(header->magic, kChunkMagic, sizeof header->magic);
    header->version = kFormatVersion;
    if ((data[0] & 4) != 0) header->header_bytes = sizeof(ChunkHeader);
    header->checksum = crc32c(header, offsetof(ChunkHeader, checksum));
  }
  // Records with plausible headers reach further than random ones.
  if ((data[0] & 8) != 0) {
    uint32_t sequence = static_cast<uint32_t>(header->first_sequence);
    for (size_t at = sizeof(ChunkHeader); at + 8 <= total;) {
      RecordHeader record;
      std::memcpy(&record, bytes + at, sizeof record);
      record.sequence = sequence++;
      record.words = static_cast<uint16_t>(1 + record.words % 16);
      std::memcpy(bytes + at, &record, sizeof record);
      at += size_t{record.words} * 8;
    }
  }

  Chunk chunk;
  std::string why;
  if (Chunk::over({bytes, total}, chunk, why) != Chunk::Open::kGood) return 0;
  Record record;
  size_t seen = 0;
  Chunk::Next next;
  while ((next = chunk.next(record)) == Chunk::Next::kRecord) {
    if (record.bytes.data() < bytes || record.bytes.data() + record.bytes.size() > bytes + total)
      std::abort();
    if (++seen > total / 8) std::abort();
    TextCursor texts(record.after<FunctionFact>());
    for (int i = 0; i < 5; ++i) {
      const std::string_view text = texts.next();
      if (!text.empty() &&
          reinterpret_cast<const std::byte*>(text.data() + text.size()) > bytes + total)
        std::abort();
    }
  }
  if (next == Chunk::Next::kDamaged) (void)chunk.damaged_bytes();
  return 0;
}
