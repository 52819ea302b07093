// What `wavetap profile` profiles: traces and captured dispatches.
#pragma once

#include <string>

#include "base/result.h"
#include "profile/profile.h"

namespace wavetap::cli {

struct ProfileInput {
  std::string model;     // of `wavetap gpu list` or a path; "": the one that the file names
  std::string counters;  // what `run --counters` wrote, for hot places; "": none
};

// The GPU of a trace: the one named, else the one the trace names.
Result<model::Model> model_of_trace(const store::Trace& trace, const std::string& name,
                                    const std::string& path);
// `shown`: what to call it.
Result<profile::Profile> profile_trace(const std::string& path, const std::string& shown,
                                       const ProfileInput& input,
                                       const profile::Selection& selection);
// Whatever `path` is: a capture by its name, else a trace.
Result<profile::Profile> profile_input(const std::string& path, const ProfileInput& input,
                                       const profile::Selection& selection);
// Replays the captures of a file with counters and modelled caches.
Result<profile::Profile> profile_capture(const std::string& path, const ProfileInput& input,
                                         const profile::Selection& selection);

}  // namespace wavetap::cli
