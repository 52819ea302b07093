#include "cli/elf_needs.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// The file offset behind a virtual address, by the loadable segments.
std::optional<uint64_t> file_offset(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return std::nullopt;
}

std::string text_at(std::span<const std::byte> file, uint64_t offset) {
  if (offset >= file.size()) return "";
  const auto* begin = reinterpret_cast<const char*>(file.data()) + offset;  // chars may alias bytes
  return std::string(begin, strnlen(begin, file.size() - offset));
}

std::string expand_origin(std::string folder, const std::string& origin) {
  for (const std::string token : {"$ORIGIN", "${ORIGIN}"}) {
    for (size_t at; (at = folder.find(token)) != std::string::npos;)
      folder.replace(at, token.size(), origin);
  }
  return folder;
}

}  // namespace

std::string ElfNeeds::find(const std::string& stem) const {
  const auto match =
      std::find_if(libraries.begin(), libraries.end(),
                   [&](const std::string& library) { return library.starts_with(stem); });
  return match == libraries.end() ? "" : *match;
}

std::optional<ElfNeeds> elf_needs(std::span<const std::byte> file, const std::string& path) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;

  std::vector<Elf64_Phdr> segments;
  for (uint32_t i = 0; i < header->e_phnum; ++i) {
    const auto segment =
        read_at<Elf64_Phdr>(file, header->e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    segments.push_back(*segment);
  }
  ElfNeeds needs;
  const auto dynamic =
      std::find_if(segments.begin(), segments.end(),
                   [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
  if (dynamic == segments.end()) return needs;

  uint64_t strings_address = 0;
  std::vector<Elf64_Dyn> entries;
  for (uint64_t at = dynamic->p_offset; at - dynamic->p_offset < dynamic->p_filesz;
       at += sizeof(Elf64_Dyn)) {
    const auto entry = read_at<Elf64_Dyn>(file, at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_STRTAB) strings_address = entry->d_un.d_ptr;
    entries.push_back(*entry);
  }
  const auto strings = file_offset(segments, strings_address);
  if (!strings) return needs;

  const size_t slash = path.rfind('/');
  const std::string origin = slash == std::string::npos ? "." : path.substr(0, slash);
  for (const Elf64_Dyn& entry : entries) {
    const std::string text = text_at(file, *strings + entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) needs.libraries.push_back(text);
    if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
    for (const std::string& folder : util::split(text, ':'))
      needs.search_path.push_back(expand_origin(folder, origin));
  }
  return needs;
}

}  // namespace wavetap::cli
