#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::cli {

struct RunEnvironment {
  // Apply the doctor's safe changes (doctor/fix.h), each said on stderr.
  bool safe = false;
  std::optional<std::string> correct;  // --correct-device: fields the user gave, "" for none
};

// What `wavetap run` does to the environment its program inherits. A model may stand for a machine
// whose logins set variables (`lie.environment = NAME=VALUE`; the user's own win). With `correct`,
// WAVETAP_CORRECT says which figures the program is to see, and a banner says so too. Names that
// are no models are left for the run to complain about. Returns the library to preload for it, ""
// for none.
Result<std::string> prepare_environment(const std::vector<std::string>& gpus,
                                        const RunEnvironment& wanted);

// Whether the kernel's compute driver shows a GPU.
bool machine_has_gpu();

}  // namespace wavetap::cli
