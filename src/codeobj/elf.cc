// Layouts: System V ABI, ELF-64. Only <elf.h>'s structures and constants are used; each structure
// is copied out of the file (read_at) before a field is looked at.

#include "codeobj/elf.h"

#include <elf.h>

#include <cstring>

#include "base/byte_cursor.h"

namespace wavetap::codeobj {

std::span<const std::byte> slice(std::span<const std::byte> bytes, uint64_t offset,
                                 uint64_t size_bytes) {
  if (offset > bytes.size() || bytes.size() - offset < size_bytes) return {};
  return bytes.subspan(offset, size_bytes);
}

std::string_view string_at(std::span<const std::byte> table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const auto* begin = reinterpret_cast<const char*>(table.data()) + offset;
  const size_t room = table.size() - offset;
  const size_t length = strnlen(begin, room);
  return length == room ? std::string_view() : std::string_view(begin, length);
}

std::optional<ElfView> ElfView::open(std::span<const std::byte> file) {
  const std::optional<Elf64_Ehdr> header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;
  ElfView view;
  view.file_ = file;
  view.machine_ = header->e_machine;
  view.flags_ = header->e_flags;
  view.abi_version_ = header->e_ident[EI_ABIVERSION];
  view.read_sections(header->e_shoff, header->e_shnum, header->e_shentsize, header->e_shstrndx);
  view.read_segments(header->e_phoff, header->e_phnum, header->e_phentsize);
  if (view.sections_.empty() && view.segments_.empty()) return std::nullopt;
  return view;
}

bool ElfView::read_sections(uint64_t offset, uint16_t count, uint16_t entry_bytes, uint16_t names) {
  if (entry_bytes < sizeof(Elf64_Shdr) || offset == 0) return false;
  const uint64_t table_bytes = uint64_t{count} * entry_bytes;
  if (slice(file_, offset, table_bytes).size() != table_bytes) return false;
  std::vector<uint32_t> name_offsets;
  for (uint16_t i = 0; i < count; ++i) {
    const std::optional<Elf64_Shdr> raw =
        read_at<Elf64_Shdr>(file_, offset + uint64_t{i} * entry_bytes);
    if (!raw) return false;
    ElfSection section;
    section.type = raw->sh_type;
    section.flags = raw->sh_flags;
    section.address = raw->sh_addr;
    section.size_bytes = raw->sh_size;
    section.entry_bytes = raw->sh_entsize;
    section.link = raw->sh_link;
    if (raw->sh_type != SHT_NOBITS) section.bytes = slice(file_, raw->sh_offset, raw->sh_size);
    sections_.push_back(section);
    name_offsets.push_back(raw->sh_name);
  }
  if (names < sections_.size())
    for (size_t i = 0; i < sections_.size(); ++i)
      sections_[i].name = string_at(sections_[names].bytes, name_offsets[i]);
  return true;
}

bool ElfView::read_segments(uint64_t offset, uint16_t count, uint16_t entry_bytes) {
  if (entry_bytes < sizeof(Elf64_Phdr) || offset == 0) return false;
  const uint64_t table_bytes = uint64_t{count} * entry_bytes;
  if (slice(file_, offset, table_bytes).size() != table_bytes) return false;
  for (uint16_t i = 0; i < count; ++i) {
    const std::optional<Elf64_Phdr> raw =
        read_at<Elf64_Phdr>(file_, offset + uint64_t{i} * entry_bytes);
    if (!raw) return false;
    ElfSegment segment;
    segment.type = raw->p_type;
    segment.flags = raw->p_flags;
    segment.address = raw->p_vaddr;
    segment.memory_bytes = raw->p_memsz;
    segment.align = raw->p_align;
    segment.bytes = slice(file_, raw->p_offset, raw->p_filesz);
    segments_.push_back(segment);
  }
  return true;
}

const ElfSection* ElfView::section(std::string_view name) const {
  for (const ElfSection& section : sections_)
    if (section.name == name) return &section;
  return nullptr;
}

std::vector<ElfSymbol> ElfView::symbols() const {
  std::vector<ElfSymbol> symbols;
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
    if (section.link >= sections_.size()) continue;
    const std::span<const std::byte> strings = sections_[section.link].bytes;
    for (uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= section.bytes.size();
         at += sizeof(Elf64_Sym)) {
      const std::optional<Elf64_Sym> raw = read_at<Elf64_Sym>(section.bytes, at);
      ElfSymbol symbol;
      symbol.name = string_at(strings, raw->st_name);
      symbol.value = raw->st_value;
      symbol.size_bytes = raw->st_size;
      symbol.type = ELF64_ST_TYPE(raw->st_info);
      symbol.binding = ELF64_ST_BIND(raw->st_info);
      symbol.section = raw->st_shndx;
      symbols.push_back(symbol);
    }
  }
  return symbols;
}

std::span<const std::byte> ElfView::at_address(uint64_t address, uint64_t size_bytes) const {
  const std::span<const std::byte> rest = from_address(address);
  return size_bytes <= rest.size() ? rest.first(size_bytes) : std::span<const std::byte>();
}

std::span<const std::byte> ElfView::from_address(uint64_t address) const {
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    const uint64_t offset = address - segment.address;
    if (offset < segment.bytes.size()) return segment.bytes.subspan(offset);
  }
  return {};
}

}  // namespace wavetap::codeobj
