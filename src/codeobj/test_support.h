// Inputs for the tests of this folder: the code object made from testdata/kernels.s, bundles around
// any bytes, and a small ELF writer. Included by *_test.cc only.
#pragma once

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wavetap::codeobj::test {

using Buffer = std::vector<std::byte>;

template <class T>
void put(Buffer& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

inline void put_text(Buffer& out, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), bytes, bytes + text.size());
}

// Empty when the build had no clang-19.
inline Buffer test_code_object() {
  Buffer bytes;
#ifdef WT_TEST_CODE_OBJECT
  std::ifstream file(WT_TEST_CODE_OBJECT, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  put_text(bytes, text);
#endif
  return bytes;
}

// A bundle with the entries one after another, each at a multiple of 64.
inline Buffer make_bundle(const std::vector<std::pair<std::string, Buffer>>& entries) {
  Buffer out;
  put_text(out, "__CLANG_OFFLOAD_BUNDLE__");
  put(out, uint64_t{entries.size()});
  uint64_t at = out.size();
  for (const auto& [id, bytes] : entries) at += 24 + id.size();
  std::vector<uint64_t> offsets;
  for (const auto& [id, bytes] : entries) {
    at = (at + 63) / 64 * 64;
    offsets.push_back(at);
    put(out, at);
    put(out, uint64_t{bytes.size()});
    put(out, uint64_t{id.size()});
    put_text(out, id);
    at += bytes.size();
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    out.resize(offsets[i]);
    out.insert(out.end(), entries[i].second.begin(), entries[i].second.end());
  }
  return out;
}

// An ELF file with the given sections and nothing else.
inline Buffer make_elf(uint16_t machine, uint32_t flags,
                       const std::vector<std::pair<std::string, Buffer>>& sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = machine;
  header.e_flags = flags;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size() + 2);
  header.e_shstrndx = static_cast<uint16_t>(sections.size() + 1);
  Buffer out(sizeof header);
  std::vector<Elf64_Shdr> headers(1);
  std::string names(1, '\0');
  const auto add = [&](const std::string& name, uint32_t type, const std::byte* bytes,
                       size_t size) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<uint32_t>(names.size());
    section.sh_type = type;
    section.sh_offset = out.size();
    section.sh_size = size;
    headers.push_back(section);
    out.insert(out.end(), bytes, bytes + size);
  };
  for (const auto& [name, bytes] : sections) {
    add(name, SHT_PROGBITS, bytes.data(), bytes.size());
    names += name + '\0';
  }
  headers.push_back({});
  headers.back().sh_name = static_cast<uint32_t>(names.size());
  names += ".shstrtab";
  names += '\0';
  headers.back().sh_type = SHT_STRTAB;
  headers.back().sh_offset = out.size();
  headers.back().sh_size = names.size();
  put_text(out, names);
  header.e_shoff = out.size();
  for (const Elf64_Shdr& section : headers) put(out, section);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace wavetap::codeobj::test
