// ElfView: a checked, read-only view of a 64-bit little-endian ELF file.
//
// The bytes are foreign: a host executable, a file of a user, memory another library handed over.
// Every offset and length is checked when it is used; what is out of range reads as empty. Nothing
// is copied, so the bytes must outlive the view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace wavetap::codeobj {

inline constexpr uint16_t kElfMachineAmdgpu = 224;

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t entry_bytes = 0;
  uint32_t link = 0;
  std::span<const std::byte> bytes;  // empty for SHT_NOBITS
};

struct ElfSegment {
  uint32_t type = 0;
  uint32_t flags = 0;
  uint64_t address = 0;
  uint64_t memory_bytes = 0;
  uint64_t align = 0;
  std::span<const std::byte> bytes;
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size_bytes = 0;
  uint8_t type = 0;     // STT_*
  uint8_t binding = 0;  // STB_*
  uint16_t section = 0;
};

class ElfView {
 public:
  // Nothing when the bytes do not begin with a usable ELF64 little-endian header.
  static std::optional<ElfView> open(std::span<const std::byte> file);

  uint16_t machine() const { return machine_; }
  uint32_t flags() const { return flags_; }
  uint8_t abi_version() const { return abi_version_; }
  std::span<const std::byte> file() const { return file_; }

  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  const ElfSection* section(std::string_view name) const;
  // Of .symtab and .dynsym; a symbol in both appears twice.
  std::vector<ElfSymbol> symbols() const;

  // File bytes behind [address, address + size) of one loadable segment; empty when any part has
  // none.
  std::span<const std::byte> at_address(uint64_t address, uint64_t size_bytes) const;
  // As much as there is from `address` to the end of its segment's file bytes.
  std::span<const std::byte> from_address(uint64_t address) const;

 private:
  ElfView() = default;
  bool read_sections(uint64_t offset, uint16_t count, uint16_t entry_bytes, uint16_t names);
  bool read_segments(uint64_t offset, uint16_t count, uint16_t entry_bytes);

  std::span<const std::byte> file_;
  uint16_t machine_ = 0;
  uint32_t flags_ = 0;
  uint8_t abi_version_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSegment> segments_;
};

// The part [offset, offset + size) of `bytes`, or empty when it crosses the end.
std::span<const std::byte> slice(std::span<const std::byte> bytes, uint64_t offset,
                                 uint64_t size_bytes);
// The NUL-terminated string at `offset` of a string table; empty when there is none.
std::string_view string_at(std::span<const std::byte> table, uint64_t offset);

}  // namespace wavetap::codeobj
