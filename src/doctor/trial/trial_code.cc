#include "doctor/trial/trial_code.h"

// The assembler file of the build folder defines the bytes; targets.inc lists the targets in it.
extern "C" {
#define WT_TARGET(name) extern const std::byte wt_##name##_begin[], wt_##name##_end[];
#include <targets.inc>
#undef WT_TARGET
#if WT_HAS_PRINTF_TRIAL
extern const std::byte wt_printf_begin[], wt_printf_end[];
#endif
}

namespace wavetap::doctor::trial {

std::span<const std::byte> device_code(std::string_view target) {
#define WT_TARGET(name) \
  if (target == #name) return {wt_##name##_begin, wt_##name##_end};
#include <targets.inc>
#undef WT_TARGET
  return {};
}

std::span<const std::byte> printf_code() {
#if WT_HAS_PRINTF_TRIAL
  return {wt_printf_begin, wt_printf_end};
#else
  return {};
#endif
}

}  // namespace wavetap::doctor::trial
