// Finds AMDGPU code objects wherever they are kept:
//   * a raw code object (.hsaco, .co): ELF for the AMDGPU machine;
//   * a host executable or shared library: its .hip_fatbin sections;
//   * an offload bundle of clang ("__CLANG_OFFLOAD_BUNDLE__"), or several one after another, as
//     linking several translation units gives;
//   * a compressed bundle ("CCOB", versions 1 to 3, zstd or zlib).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amd/gfx_target.h"

namespace wavetap::codeobj {

// One code object. `bytes` point into the input, or into `storage` when it was decompressed.
struct ContainedCodeObject {
  std::string target_id;  // "gfx90a:sramecc+:xnack-"
  std::optional<amd::GfxTarget> target;
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::vector<std::byte>> storage;
  uint64_t file_offset = 0;  // where the code object, or the compressed bundle, begins
};

struct ContainerContents {
  std::vector<ContainedCodeObject> code_objects;
  // What was met and could not be read: "offset 0x1000: compressed bundle: …".
  std::vector<std::string> problems;
};

ContainerContents find_code_objects(std::span<const std::byte> file);

// The target id of a bundle entry id, "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-" -> "gfx90a:xnack-";
// empty for a host entry.
std::string_view target_id_of_entry(std::string_view entry_id);

}  // namespace wavetap::codeobj
