// The heatmap of a kernel as a picture: a band per buffer, pages from left to right, time from top to
// bottom, brighter where more lanes were.
#pragma once

#include <string>

#include "inspect/probe_results.h"

namespace wavetap::inspect {

// A PNG file's bytes.
std::string heatmap_picture(const ProbedKernel& kernel);

}  // namespace wavetap::inspect
