// What `wavetap probe` looks at, as the user writes it: launches by -d, --launch and --every, libraries by a filter of Omniprobe's.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/program_run.h"

namespace wavetap::cli {

inline constexpr uint64_t kOmniprobesOneIn = 100;

// `dispatches`: "", all, first or 1, random or random=N. Fills in probe.launches (format/launch_choice.h). A chance has a seed: the one
// that is given or, for 0, one that is made up here; it is said.
Status choose_launches(const std::string& dispatches, uint64_t seed, ProbeRunOptions& probe);

// The JSON file of Omniprobe's --library-filter: what its `exclude` lists is not probed. Its `include` adds files to those that it
// looks for kernels in, where every kernel that runs is seen here.
Status use_library_filter(const std::string& path, ProbeRunOptions& probe);

}  // namespace wavetap::cli
