#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wavetap::cli {

// What the dynamic linker would be asked for by a host program: DT_NEEDED and DT_RUNPATH/DT_RPATH
// with $ORIGIN expanded.
struct ElfNeeds {
  std::vector<std::string> libraries;
  std::vector<std::string> search_path;

  // The needed library whose name starts with `stem` ("libamdhip64.so"), or "".
  std::string find(const std::string& stem) const;
};

// Nothing when the bytes are no 64-bit little-endian ELF file (a script, say). A statically linked
// program needs nothing. Hostile input is fine.
std::optional<ElfNeeds> elf_needs(std::span<const std::byte> file, const std::string& path);

}  // namespace wavetap::cli
