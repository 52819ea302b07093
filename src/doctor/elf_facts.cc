#include "doctor/elf_facts.h"

#include <elf.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/byte_cursor.h"
#include "codeobj/container.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

// Limits that no real library reaches, against files that claim anything.
constexpr size_t kMaxSegments = 256;
constexpr size_t kMaxDynamicEntries = 4096;
constexpr size_t kMaxNoteBytes = 65536;
constexpr size_t kMaxNameBytes = 4096;

class Reader {
 public:
  explicit Reader(int fd) : fd_(fd) {}

  template <class T>
  bool at(uint64_t offset, T& value) const {
    return offset < (1ull << 62) &&
           pread(fd_, &value, sizeof value, static_cast<off_t>(offset)) == sizeof value;
  }
  std::string bytes(uint64_t offset, size_t size) const {
    std::string text(size, '\0');
    if (offset >= (1ull << 62)) return "";
    const ssize_t got = pread(fd_, text.data(), size, static_cast<off_t>(offset));
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }
  std::string name(uint64_t offset) const {
    const std::string text = bytes(offset, kMaxNameBytes);
    return text.substr(0, text.find('\0'));
  }

 private:
  int fd_;
};

std::optional<uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return std::nullopt;
}

std::string build_id_in(const std::string& notes) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t content = name + ((size_t{note.n_namesz} + 3) & ~size_t{3});
    const size_t next = content + ((size_t{note.n_descsz} + 3) & ~size_t{3});
    if (next > notes.size() + 3 || content + note.n_descsz > notes.size()) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        notes.compare(name, 3, "GNU") == 0) {
      std::string text;
      for (size_t i = 0; i < note.n_descsz && i < 64; ++i)
        text += fmt::format("{:02x}", static_cast<unsigned char>(notes[content + i]));
      return text;
    }
    at = next;
  }
  return "";
}

}  // namespace

bool ElfFacts::needs(std::string_view stem) const {
  return std::any_of(needed.begin(), needed.end(),
                     [&](const std::string& name) { return name.starts_with(stem); });
}

std::optional<ElfFacts> read_elf_facts(const Root& root, const std::string& path) {
  const ScopedFd fd = root.open(path);
  if (!fd.valid()) return std::nullopt;
  const Reader reader(fd.get());
  Elf64_Ehdr header;
  if (!reader.at(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return std::nullopt;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;

  ElfFacts facts;
  facts.path = path;
  std::vector<Elf64_Phdr> segments(std::min<size_t>(header.e_phnum, kMaxSegments));
  for (size_t i = 0; i < segments.size(); ++i) {
    if (!reader.at(header.e_phoff + i * sizeof(Elf64_Phdr), segments[i])) return facts;
  }
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_NOTE && facts.build_id.empty()) {
      facts.build_id = build_id_in(
          reader.bytes(segment.p_offset, std::min<uint64_t>(segment.p_filesz, kMaxNoteBytes)));
    }
    if (segment.p_type != PT_DYNAMIC) continue;
    for (uint64_t i = 0; i < segment.p_filesz / sizeof(Elf64_Dyn) && i < kMaxDynamicEntries; ++i) {
      Elf64_Dyn entry;
      if (!reader.at(segment.p_offset + i * sizeof entry, entry) || entry.d_tag == DT_NULL) break;
      entries.push_back(entry);
    }
  }
  std::optional<uint64_t> strings;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) strings = offset_of(segments, entry.d_un.d_ptr);
  }
  if (!strings) return facts;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_SONAME) facts.soname = reader.name(*strings + entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(reader.name(*strings + entry.d_un.d_val));
    if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
    for (std::string& folder : util::split(reader.name(*strings + entry.d_un.d_val), ':'))
      facts.search_path.push_back(std::move(folder));
  }
  return facts;
}

namespace {

constexpr size_t kMaxSections = 4096;
constexpr size_t kMaxBundleEntries = 256;
constexpr size_t kMaxBundleHeaderBytes = 64 << 10;
constexpr size_t kMaxCompressedBytes = 16 << 20;
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";

std::optional<Elf64_Shdr> find_section(const Reader& file, std::string_view name) {
  Elf64_Ehdr header;
  if (!file.at(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxSections)
    return std::nullopt;
  Elf64_Shdr names;
  if (!file.at(header.e_shoff + uint64_t{header.e_shstrndx} * sizeof names, names))
    return std::nullopt;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!file.at(header.e_shoff + i * sizeof section, section)) return std::nullopt;
    if (file.bytes(names.sh_offset + section.sh_name, name.size() + 1) == std::string(name) + '\0')
      return section;
  }
  return std::nullopt;
}

void add_target(std::string_view target_id, std::vector<std::string>& targets) {
  const std::string target(target_id.substr(0, target_id.find(':')));
  if (!target.empty() && std::find(targets.begin(), targets.end(), target) == targets.end())
    targets.push_back(target);
}

// magic, count, then offset, size, length of the id and the id of each entry.
void add_targets_of_header(std::span<const std::byte> bytes, std::vector<std::string>& targets) {
  ByteCursor cursor(bytes);
  cursor.skip(kBundleMagic.size());
  const std::optional<uint64_t> count = cursor.take<uint64_t>();
  for (uint64_t i = 0; count && i < *count && i < kMaxBundleEntries; ++i) {
    cursor.skip(2 * sizeof(uint64_t));
    const std::optional<uint64_t> length = cursor.take<uint64_t>();
    const auto id = length ? cursor.take_bytes(*length) : std::nullopt;
    if (!id) return;
    add_target(codeobj::target_id_of_entry({reinterpret_cast<const char*>(id->data()), id->size()}),
               targets);
  }
}

}  // namespace

bool exports_symbol(const Root& root, const std::string& path, std::string_view name) {
  constexpr uint64_t kMaxTableBytes = 128 << 20;
  const ScopedFd fd = root.open(path);
  if (!fd.valid()) return false;
  const Reader file(fd.get());
  const std::optional<Elf64_Shdr> symbols = find_section(file, ".dynsym");
  const std::optional<Elf64_Shdr> strings = find_section(file, ".dynstr");
  if (!symbols || !strings || symbols->sh_size > kMaxTableBytes ||
      strings->sh_size > kMaxTableBytes)
    return false;
  const std::string names = file.bytes(strings->sh_offset, strings->sh_size);
  const size_t at = names.find('\0' + std::string(name) + '\0');
  if (at == std::string::npos) return false;
  const std::string table = file.bytes(symbols->sh_offset, symbols->sh_size);
  for (size_t i = 0; i + sizeof(Elf64_Sym) <= table.size(); i += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, table.data() + i, sizeof symbol);
    if (symbol.st_name == at + 1 && symbol.st_shndx != SHN_UNDEF) return true;
  }
  return false;
}

std::optional<std::vector<bool>> texts_in_file(const Root& root, const std::string& path,
                                               const std::vector<std::string_view>& texts) {
  constexpr uint64_t kMaxBytes = 128 << 20;
  constexpr size_t kPieceBytes = 1 << 20, kOverlapBytes = 256;
  const ScopedFd fd = root.open(path);
  if (!fd.valid()) return std::nullopt;
  const Reader file(fd.get());
  std::vector<bool> found(texts.size());
  for (uint64_t at = 0;; at += kPieceBytes) {
    if (at > kMaxBytes) return std::nullopt;
    const std::string piece = file.bytes(at, kPieceBytes + kOverlapBytes);
    for (size_t i = 0; i < texts.size(); ++i)
      if (piece.find(texts[i]) != std::string::npos) found[i] = true;
    if (piece.size() <= kPieceBytes) return found;
  }
}

std::vector<std::string> fat_binary_targets(const Root& root, const std::string& path) {
  std::vector<std::string> targets;
  const ScopedFd fd = root.open(path);
  if (!fd.valid()) return targets;
  const Reader file(fd.get());
  const std::optional<Elf64_Shdr> section = find_section(file, ".hip_fatbin");
  if (!section || section->sh_type == SHT_NOBITS) return targets;
  const auto read = [&](size_t limit) {
    return file.bytes(section->sh_offset, std::min<uint64_t>(section->sh_size, limit));
  };
  const std::string head = read(kMaxBundleHeaderBytes);
  if (head.starts_with(kBundleMagic)) {
    add_targets_of_header(std::as_bytes(std::span(head)), targets);
  } else if (head.starts_with("CCOB")) {
    const std::string whole = read(kMaxCompressedBytes);
    for (const codeobj::ContainedCodeObject& object :
         codeobj::find_code_objects(std::as_bytes(std::span(whole))).code_objects)
      add_target(object.target_id, targets);
  }
  return targets;
}

std::string version_in_name(const std::string& file_name) {
  const size_t at = file_name.find(".so.");
  return at == std::string::npos ? "" : file_name.substr(at + 4);
}

}  // namespace wavetap::doctor
