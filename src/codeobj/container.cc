// Formats: clang/docs/ClangOffloadBundler.rst.
//
// Bundle                                   Compressed bundle
//   0  24  "__CLANG_OFFLOAD_BUNDLE__"        0  4  "CCOB"
//  24   8  number of entries                 4  2  version
//  32   .  entries: offset 8, size 8,        6  2  method: 0 zlib, 1 zstd
//          id length 8, id                   8  .  v2: whole size 4; v3: whole size 8
//                                            .  .  uncompressed size 4 (v3: 8)
//                                            .  8  hash
//                                            .  .  data

#include "codeobj/container.h"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/byte_cursor.h"
#include "codeobj/elf.h"

namespace wavetap::codeobj {
namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr uint64_t kMaxEntries = 4096;
constexpr uint64_t kMaxUncompressedBytes = uint64_t{1} << 31;
constexpr size_t kGrowBytes = 1 << 20;

using Bytes = std::span<const std::byte>;
using Storage = std::shared_ptr<const std::vector<std::byte>>;

bool starts_with(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

size_t find(Bytes bytes, std::string_view magic, size_t from) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.find(magic, from);
}

struct Finder {
  ContainerContents contents;

  void problem(uint64_t offset, const char* what) {
    char text[160];
    std::snprintf(text, sizeof text, "offset 0x%llx: %s", static_cast<unsigned long long>(offset),
                  what);
    contents.problems.emplace_back(text);
  }

  void add(Bytes bytes, std::string_view target_id, uint64_t offset, const Storage& storage) {
    const std::optional<ElfView> elf = ElfView::open(bytes);
    if (!elf || elf->machine() != kElfMachineAmdgpu) {
      problem(offset,
              "the entry is not an AMDGPU code object; bitcode and other kinds are skipped");
      return;
    }
    ContainedCodeObject found;
    found.target = amd::target_from_elf_mach(elf->flags());
    found.target_id = target_id;
    if (found.target_id.empty() && found.target) found.target_id = amd::to_string(*found.target);
    if (!found.target) found.target = amd::parse_gfx_target(target_id);
    found.bytes = bytes;
    found.storage = storage;
    found.file_offset = offset;
    contents.code_objects.push_back(std::move(found));
  }

  // Parses the bundle at the start of `bytes`; returns how far it reaches, at least past its magic.
  uint64_t bundle(Bytes bytes, uint64_t offset, const Storage& storage) {
    ByteCursor cursor(bytes);
    cursor.skip(kBundleMagic.size());
    const std::optional<uint64_t> count = cursor.take<uint64_t>();
    if (!count || *count > kMaxEntries) {
      problem(offset, "bundle: bad number of entries");
      return kBundleMagic.size();
    }
    uint64_t end = kBundleMagic.size();
    for (uint64_t i = 0; i < *count; ++i) {
      const std::optional<uint64_t> at = cursor.take<uint64_t>();
      const std::optional<uint64_t> size = cursor.take<uint64_t>();
      const std::optional<uint64_t> id_bytes = cursor.take<uint64_t>();
      const std::optional<Bytes> id = id_bytes ? cursor.take_bytes(*id_bytes) : std::nullopt;
      if (!at || !size || !id) {
        problem(offset, "bundle: the entry table is cut short");
        return end;
      }
      const std::string_view entry_id(reinterpret_cast<const char*>(id->data()), id->size());
      const std::string_view target_id = target_id_of_entry(entry_id);
      const Bytes entry = slice(bytes, *at, *size);
      if (entry.size() != *size) {
        problem(offset, "bundle: an entry lies outside the file");
        continue;
      }
      end = std::max(end, *at + *size);
      if (target_id.empty() || entry.empty()) continue;
      add(entry, target_id, storage ? offset : offset + *at, storage);
    }
    return end;
  }

  uint64_t compressed(Bytes bytes, uint64_t offset);

  // Every bundle in `bytes`, plain or compressed.
  void scan(Bytes bytes, uint64_t offset) {
    for (size_t at = 0; at < bytes.size();) {
      const size_t plain = find(bytes, kBundleMagic, at);
      const size_t packed = find(bytes, kCompressedMagic, at);
      const size_t next = std::min(plain, packed);
      if (next == std::string_view::npos) return;
      const Bytes rest = bytes.subspan(next);
      const uint64_t used =
          next == plain ? bundle(rest, offset + next, nullptr) : compressed(rest, offset + next);
      at = next + static_cast<size_t>(std::min<uint64_t>(used, rest.size()));
    }
  }
};

// Decompresses into memory that grows with what really comes out: the size a header claims is not
// believed.
std::optional<std::vector<std::byte>> unpack_zstd(Bytes data, uint64_t limit, size_t& used) {
  ZSTD_DStream* const stream = ZSTD_createDStream();
  if (stream == nullptr) return std::nullopt;
  std::vector<std::byte> out;
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  bool done = false;
  while (!done && out.size() < limit) {
    const size_t room = static_cast<size_t>(std::min<uint64_t>(kGrowBytes, limit - out.size()));
    const size_t have = out.size();
    out.resize(have + room);
    ZSTD_outBuffer chunk{out.data() + have, room, 0};
    const size_t before = in.pos;
    const size_t result = ZSTD_decompressStream(stream, &chunk, &in);
    out.resize(have + chunk.pos);
    if (ZSTD_isError(result) != 0) break;
    done = result == 0;
    if (!done && chunk.pos == 0 && in.pos == before) break;
  }
  ZSTD_freeDStream(stream);
  used = in.pos;
  if (!done) return std::nullopt;
  return out;
}

std::optional<std::vector<std::byte>> unpack_zlib(Bytes data, uint64_t limit, size_t& used) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return std::nullopt;
  std::vector<std::byte> out;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data.data()));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(data.size(), UINT32_MAX));
  int status = Z_OK;
  while (status == Z_OK && out.size() < limit) {
    const size_t room = static_cast<size_t>(std::min<uint64_t>(kGrowBytes, limit - out.size()));
    const size_t have = out.size();
    out.resize(have + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(have + room - stream.avail_out);
  }
  used = static_cast<size_t>(stream.total_in);
  inflateEnd(&stream);
  if (status != Z_STREAM_END) return std::nullopt;
  return out;
}

uint64_t Finder::compressed(Bytes bytes, uint64_t offset) {
  ByteCursor cursor(bytes);
  cursor.skip(kCompressedMagic.size());
  const std::optional<uint16_t> version = cursor.take<uint16_t>();
  const std::optional<uint16_t> method = cursor.take<uint16_t>();
  // "CCOB" is four letters: met in ordinary data it is not followed by a version and a method.
  if (!version || !method || *version < 1 || *version > 3 || *method > 1)
    return kCompressedMagic.size();
  const auto size = [&]() -> std::optional<uint64_t> {
    if (*version == 3) return cursor.take<uint64_t>();
    return cursor.take<uint32_t>();
  };
  const std::optional<uint64_t> whole = *version == 1 ? 0 : size();
  const std::optional<uint64_t> unpacked = size();
  const std::optional<uint64_t> hash = cursor.take<uint64_t>();
  if (!whole || !unpacked || !hash) {
    problem(offset, "compressed bundle: the header is cut short");
    return bytes.size();
  }
  if (*unpacked > kMaxUncompressedBytes) {
    problem(offset, "compressed bundle: larger than 2 GiB when unpacked");
    return kCompressedMagic.size();
  }
  const uint64_t header_bytes = bytes.size() - cursor.size();
  Bytes data = cursor.rest();
  // The data may contain what looks like a bundle; when the header tells its size, none of it is
  // scanned.
  const bool is_bounded = *whole > header_bytes && *whole - header_bytes <= data.size();
  if (is_bounded) data = data.first(*whole - header_bytes);
  size_t used = 0;
  std::optional<std::vector<std::byte>> content =
      *method == 1 ? unpack_zstd(data, *unpacked, used) : unpack_zlib(data, *unpacked, used);
  if (!content || content->size() != *unpacked) {
    problem(offset, "compressed bundle: the data is damaged");
    return is_bounded ? *whole : header_bytes;
  }
  const auto storage = std::make_shared<const std::vector<std::byte>>(std::move(*content));
  if (starts_with(*storage, kBundleMagic)) {
    bundle(*storage, offset, storage);
  } else {
    problem(offset, "compressed bundle: holds no bundle");
  }
  return is_bounded ? *whole : header_bytes + used;
}

}  // namespace

ContainerContents find_code_objects(std::span<const std::byte> file) {
  Finder finder;
  const std::optional<ElfView> elf = ElfView::open(file);
  if (!elf) {
    finder.scan(file, 0);
    return std::move(finder.contents);
  }
  if (elf->machine() == kElfMachineAmdgpu) {
    finder.add(file, {}, 0, nullptr);
    return std::move(finder.contents);
  }
  bool has_section = false;
  for (const ElfSection& section : elf->sections()) {
    if (section.name != ".hip_fatbin" && !section.name.starts_with("__CLANG_OFFLOAD_BUNDLE__"))
      continue;
    has_section = true;
    finder.scan(section.bytes, static_cast<uint64_t>(section.bytes.data() - file.data()));
  }
  // Stripped of its section headers.
  if (!has_section && elf->sections().empty()) finder.scan(file, 0);
  return std::move(finder.contents);
}

}  // namespace wavetap::codeobj
