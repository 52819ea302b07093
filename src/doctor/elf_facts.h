// What a shared library says of itself, read from its dynamic section: a few small reads, however
// large it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/root.h"

namespace wavetap::doctor {

struct ElfFacts {
  std::string path;
  std::string soname;
  std::string build_id;  // hexadecimal; empty when there is none
  std::vector<std::string> needed;
  std::vector<std::string> search_path;  // DT_RUNPATH or DT_RPATH, $ORIGIN as it is

  bool needs(std::string_view stem) const;
};

// Nothing when it is no 64-bit little-endian ELF file. Hostile input is fine.
std::optional<ElfFacts> read_elf_facts(const Root& root, const std::string& path);

// The targets of the first bundle in a library's .hip_fatbin section, "gfx90a" …, which every
// kernel of the library is built for as a rule. Empty when there is none, or it is compressed and
// larger than 16 MiB.
std::vector<std::string> fat_binary_targets(const Root& root, const std::string& path);

// Whether the library defines `name` for others, in its dynamic symbol table.
bool exports_symbol(const Root& root, const std::string& path, std::string_view name);

// Which of the texts a file holds, one after the other. Nothing when it cannot be read or is larger
// than 128 MiB.
std::optional<std::vector<bool>> texts_in_file(const Root& root, const std::string& path,
                                               const std::vector<std::string_view>& texts);

// "6.3" from the real name of a library file: libamdhip64.so.6.3.60304 -> "6.3.60304"; "" when it
// has none.
std::string version_in_name(const std::string& file_name);

}  // namespace wavetap::doctor
