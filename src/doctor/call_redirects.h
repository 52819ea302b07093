// The redirect report: which library answers each CUDA, HIP and HSA function, for whom and how
// often, read from what libwavetap_audit.so counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/finding.h"
#include "doctor/root.h"

namespace wavetap::doctor {

struct Redirect {
  std::string layer;  // "CUDA", "HIP", "HSA"
  std::string function;
  std::string from;  // path of the caller's file, "program" for the program itself
  std::string to;
  uint64_t calls = 0;
  bool by_dlsym = false;
};

// All files of a folder, several processes summed, most called first. Damaged files are skipped.
std::vector<Redirect> read_redirects(const std::string& folder);

// A table of edges between files and one of functions.
std::string redirects_text(const std::vector<Redirect>& redirects, size_t columns, size_t top);

// Chains such as CUDA -> translation layer -> HIP, and programs that never reached the GPU.
void judge_redirects(const std::string& process, const std::vector<Redirect>& redirects,
                     Findings& findings);

}  // namespace wavetap::doctor
