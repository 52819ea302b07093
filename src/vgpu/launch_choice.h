// Which kernels a hook is asked to look at: `--kernel` of commands. Which launches of them: format/launch_list.h.
#pragma once

#include <regex.h>

#include <cstdint>
#include <string>
#include <vector>

#include "vgpu/kernel_cache.h"

namespace wavetap::vgpu {

// POSIX extended, in the demangled name. Matches everything when the pattern is empty.
class KernelPattern {
 public:
  explicit KernelPattern(const std::string& pattern);
  ~KernelPattern();
  KernelPattern(const KernelPattern&) = delete;
  KernelPattern& operator=(const KernelPattern&) = delete;

  bool empty() const { return !compiled_; }
  bool matches(const std::string& name) const;

 private:
  regex_t pattern_{};
  bool compiled_ = false;
};

// A kernel that HIP or ROCr brings for its own purposes, in a code object of theirs or without one.
bool is_runtimes_own(const KnownKernel& kernel);

}  // namespace wavetap::vgpu
