#include "vgpu/launch_choice.h"

namespace wavetap::vgpu {

KernelPattern::KernelPattern(const std::string& pattern)
    : compiled_(!pattern.empty() &&
                ::regcomp(&pattern_, pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}

KernelPattern::~KernelPattern() {
  if (compiled_) ::regfree(&pattern_);
}

bool KernelPattern::matches(const std::string& name) const {
  return !compiled_ || ::regexec(&pattern_, name.c_str(), 0, nullptr, 0) == 0;
}

bool is_runtimes_own(const KnownKernel& kernel) {
  return kernel.built_in || kernel.name.starts_with("__amd_rocclr_");
}

}  // namespace wavetap::vgpu
