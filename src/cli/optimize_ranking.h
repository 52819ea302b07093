// Which kernel of a program to optimize, where nobody says: the one with the largest part of the critical
// path whose source is at hand.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/ledger.h"

namespace wavetap::cli {

// Profiles the program on a virtual GPU. Kernels by their part of the critical path, the largest first.
Result<std::vector<optimize::RankedKernel>> rank_kernels(const std::string& gpu,
                                                         const std::vector<std::string>& program,
                                                         const optimize::Sources& sources);

// A regular expression that matches this name and no other.
std::string exact_regex(const std::string& name);

}  // namespace wavetap::cli
