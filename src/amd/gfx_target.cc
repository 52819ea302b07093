#include "amd/gfx_target.h"

#include <cstdio>

namespace wavetap::amd {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

struct MachEntry {
  uint8_t mach;
  GfxTarget target;
};

// EF_AMDGPU_MACH values of the AMDGPU ELF ABI.
constexpr MachEntry kMach[] = {
    {0x02c, {9, 0, 0}},  {0x02d, {9, 0, 2}},  {0x02e, {9, 0, 4}},  {0x02f, {9, 0, 6}},
    {0x030, {9, 0, 8}},  {0x031, {9, 0, 9}},  {0x032, {9, 0, 12}}, {0x033, {10, 1, 0}},
    {0x034, {10, 1, 1}}, {0x035, {10, 1, 2}}, {0x036, {10, 3, 0}}, {0x037, {10, 3, 1}},
    {0x038, {10, 3, 2}}, {0x039, {10, 3, 3}}, {0x03d, {10, 3, 5}}, {0x03e, {10, 3, 4}},
    {0x03f, {9, 0, 10}}, {0x040, {9, 4, 0}},  {0x041, {11, 0, 0}}, {0x042, {10, 1, 3}},
    {0x043, {11, 5, 0}}, {0x044, {11, 0, 3}}, {0x045, {10, 3, 6}}, {0x046, {11, 0, 1}},
    {0x047, {11, 0, 2}}, {0x048, {12, 0, 0}}, {0x04a, {11, 5, 1}}, {0x04b, {9, 4, 1}},
    {0x04c, {9, 4, 2}},  {0x04e, {12, 0, 1}}, {0x04f, {9, 5, 0}},  {0x055, {11, 5, 2}},
};

// Code for several targets, and the one that stands for them here: the encodings are the same.
struct GenericEntry {
  const char* name;
  uint8_t mach;
  GfxTarget target;
};
constexpr GenericEntry kGeneric[] = {
    {"gfx9-generic", 0x051, {9, 0, 0}},     {"gfx10-1-generic", 0x052, {10, 1, 0}},
    {"gfx10-3-generic", 0x053, {10, 3, 0}}, {"gfx11-generic", 0x054, {11, 0, 0}},
    {"gfx12-generic", 0x059, {12, 0, 0}},   {"gfx9-4-generic", 0x05f, {9, 4, 2}},
};

}  // namespace

std::string to_string(GfxTarget t) {
  char text[32];
  std::snprintf(text, sizeof text, "gfx%u%x%x", t.major, t.minor, t.stepping);
  return text;
}

std::optional<GfxTarget> parse_gfx_target(std::string_view text) {
  if (const size_t colon = text.find(':'); colon != std::string_view::npos)
    text = text.substr(0, colon);
  for (const GenericEntry& entry : kGeneric)
    if (text == entry.name) return entry.target;
  if (!text.starts_with("gfx") || text.size() < 6 || text.size() > 7) return std::nullopt;
  const int stepping = hex_digit(text.back());
  const int minor = hex_digit(text[text.size() - 2]);
  int major = 0;
  for (const char c : text.substr(3, text.size() - 5)) {
    if (c < '0' || c > '9') return std::nullopt;
    major = major * 10 + (c - '0');
  }
  if (stepping < 0 || minor < 0 || major == 0) return std::nullopt;
  return GfxTarget{static_cast<uint8_t>(major), static_cast<uint8_t>(minor),
                   static_cast<uint8_t>(stepping)};
}

bool expects_sram_ecc(std::string_view target_id) {
  if (target_id.find(":sramecc+") != std::string_view::npos) return true;
  if (target_id.find(":sramecc-") != std::string_view::npos) return false;
  const std::optional<GfxTarget> target = parse_gfx_target(target_id);
  return target && target->always_has_sram_ecc();
}

std::optional<GfxTarget> target_from_elf_mach(uint32_t e_flags) {
  for (const MachEntry& entry : kMach)
    if (entry.mach == (e_flags & 0xff)) return entry.target;
  for (const GenericEntry& entry : kGeneric)
    if (entry.mach == (e_flags & 0xff)) return entry.target;
  return std::nullopt;
}

}  // namespace wavetap::amd
