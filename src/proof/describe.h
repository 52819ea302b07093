// Verdicts and findings in one sentence each, for reasons.
#pragma once

#include <string>
#include <vector>

#include "replay/captured_kernel.h"
#include "replay/verify.h"
#include "sanitize/finding.h"

namespace wavetap::proof {

// "argument 2 (float*): 12 elements of type f32 differ, the first at [0]: 1 instead of 2".
std::string describe_difference(const replay::CapturedKernel& kernel,
                                const replay::BufferDifference& difference);
std::string describe_verdict(const replay::CapturedKernel& kernel, const replay::Verdict& verdict);
// The first of the errors among them; "" when there is none.
std::string describe_errors(const std::vector<sanitize::Finding>& findings);

}  // namespace wavetap::proof
