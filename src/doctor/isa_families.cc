#include "doctor/isa_families.h"

#include <fmt/format.h>

namespace wavetap::doctor {
namespace {

struct Family {
  std::string_view member;
  std::string_view code;
  Compatibility kind;
  std::string_view text;
};

// clang-format off
constexpr Family kFamilies[] = {
#define WT_FAMILY(member, code, kind, text) {member, code, Compatibility::kind, text},
#include "doctor/isa_families.inc"
#undef WT_FAMILY
};
// clang-format on

// gfx1010, gfx1011, …: RDNA 1.
bool is_rdna1(amd::GfxTarget target) { return target.major == 10 && target.minor == 1; }
bool is_rdna2(amd::GfxTarget target) { return target.major == 10 && target.minor == 3; }

std::string why_unsafe(amd::GfxTarget chip, amd::GfxTarget code) {
  if (is_rdna1(chip) && is_rdna2(code)) {
    return "gfx103x code uses dot products (v_dot2, v_dot4), a wider image and ray-tracing set and "
           "other hazard rules that gfx101x chips do not have";
  }
  if (chip.major != code.major)
    return fmt::format("gfx{} and gfx{} are different instruction encodings", chip.major,
                       code.major);
  if (chip.has_mfma() != code.has_mfma())
    return "one of the two has matrix instructions and the other has not";
  return fmt::format("{} and {} are not in one family", amd::to_string(chip), amd::to_string(code));
}

}  // namespace

std::string override_text(amd::GfxTarget target) {
  return fmt::format("{}.{}.{}", target.major, target.minor, target.stepping);
}

OverrideVerdict judge_override(amd::GfxTarget chip, amd::GfxTarget code) {
  OverrideVerdict verdict;
  const std::string member = amd::to_string(chip), wanted = amd::to_string(code);
  for (const Family& family : kFamilies) {
    if (family.member == member && family.kind == Compatibility::kSafe && verdict.instead.empty()) {
      if (const auto target = amd::parse_gfx_target(family.code))
        verdict.instead = override_text(*target);
    }
  }
  if (chip == code) {
    verdict.compatibility = Compatibility::kSame;
    verdict.reason = "the chip's own version";
    return verdict;
  }
  for (const Family& family : kFamilies) {
    if (family.member != member || family.code != wanted) continue;
    verdict.compatibility = family.kind;
    verdict.reason = std::string(family.text);
    return verdict;
  }
  // Two members of one family run each other's code when both run the base's and the base is
  // exactly theirs.
  if (is_rdna2(chip) && is_rdna2(code)) {
    verdict.compatibility = Compatibility::kSafe;
    verdict.reason = "all of gfx103x share one instruction set (gfx10-3-generic)";
    return verdict;
  }
  verdict.reason = why_unsafe(chip, code);
  verdict.symptom =
      chip.major == code.major
          ? "simple kernels work; convolutions and GEMMs stop with an illegal instruction, "
            "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION (0x29), a page fault, or hang"
          : "the first kernel stops with an illegal instruction, a page fault or hangs";
  return verdict;
}

}  // namespace wavetap::doctor
