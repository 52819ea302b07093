// GfxTarget: an AMDGPU instruction-set version such as gfx1030, and the facts of it that several
// folders need. Per-instruction differences live in isa/; device figures live in models/*.gpu.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wavetap::amd {

struct GfxTarget {
  uint8_t major = 0;
  uint8_t minor = 0;
  uint8_t stepping = 0;

  friend constexpr auto operator<=>(const GfxTarget&, const GfxTarget&) = default;

  // gfx90a, gfx940..gfx950: 512 unified vector registers, packed work-item ids, wave64 only.
  constexpr bool is_gfx90a_family() const {
    return major == 9 && ((minor == 0 && stepping == 10) || minor >= 4);
  }
  // gfx940, gfx941, gfx942, gfx950: architected flat scratch, sc0/sc1/nt instead of glc/slc.
  constexpr bool is_gfx940_family() const { return major == 9 && minor >= 4; }
  constexpr bool has_mfma() const {
    return major == 9 && ((minor == 0 && (stepping == 8 || stepping == 10)) || minor >= 4);
  }
  constexpr bool has_wave32() const { return major >= 10; }
  // v0 holds x | y << 10 | z << 20 instead of three registers.
  constexpr bool has_packed_work_item_ids() const { return is_gfx90a_family() || major >= 11; }
  // The hardware, not the kernel's prologue, sets FLAT_SCRATCH.
  constexpr bool has_architected_scratch() const { return is_gfx940_family() || major >= 11; }
  constexpr bool has_kernarg_preload() const { return is_gfx90a_family(); }
  // Register files protected by ECC, whatever the board: a write of half a register clears the
  // other half (d16 loads). gfx906 and gfx908 are built either way.
  constexpr bool always_has_sram_ecc() const { return is_gfx90a_family(); }
};

// "gfx1030", "gfx90a" (minor and stepping are single hexadecimal digits).
std::string to_string(GfxTarget target);
// Accepts "gfx90a" and the target-id form "gfx90a:sramecc+:xnack-". A generic target such as
// "gfx10-3-generic" is the first of those it stands for.
std::optional<GfxTarget> parse_gfx_target(std::string_view text);
// Whether code for a target id runs with SRAM ECC: what "sramecc+" or "sramecc-" says, else what
// the target always has. Code that says nothing runs either way.
bool expects_sram_ecc(std::string_view target_id);
// KFD's number: major * 10000 + minor * 100 + stepping.
constexpr uint32_t kfd_version(GfxTarget t) {
  return t.major * 10000u + t.minor * 100u + t.stepping;
}
// EF_AMDGPU_MACH_* of an ELF header's e_flags (low 8 bits), or nothing when unknown.
std::optional<GfxTarget> target_from_elf_mach(uint32_t e_flags);

}  // namespace wavetap::amd
