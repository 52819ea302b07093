// Which instruction sets run each other's code: the knowledge behind HSA_OVERRIDE_GFX_VERSION.
#pragma once

#include <string>
#include <string_view>

#include "amd/gfx_target.h"

namespace wavetap::doctor {

enum class Compatibility : unsigned char {
  kSame,     // the chip itself
  kSafe,     // the same instructions and the same rules
  kPartial,  // mostly the same; the text says what is not
  kUnsafe,   // instructions, formats or rules differ
};

struct OverrideVerdict {
  Compatibility compatibility = Compatibility::kUnsafe;
  std::string reason;   // why
  std::string symptom;  // how it shows when unsafe
  std::string instead;  // a safe override for the chip, "10.3.0"; empty when none is known
};

// What happens when `chip` runs code built for `code`.
OverrideVerdict judge_override(amd::GfxTarget chip, amd::GfxTarget code);

// "10.3.0"
std::string override_text(amd::GfxTarget target);

}  // namespace wavetap::doctor
