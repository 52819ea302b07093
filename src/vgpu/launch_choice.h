// Which launches of a kernel a hook is asked to look at: `--kernel` and `--launch` of commands.
#pragma once

#include <regex.h>

#include <cstdint>
#include <string>
#include <vector>

#include "vgpu/kernel_cache.h"

namespace wavetap::vgpu {

// "3,7" as numbers. The command line has checked it.
std::vector<uint64_t> parse_launches(const std::string& text);

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
