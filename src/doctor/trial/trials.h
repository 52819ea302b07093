// The trials, run one per process. Each returns what it found; a crash, a fault or a hang is seen by
// the parent, which knows how to read the remains. A trial that fails leaves its buffers and signals
// to the end of the process, which follows.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace wavetap::doctor::trial {

enum class Outcome : unsigned char { kPassed, kFailed, kSkipped };

struct Verdict {
  Outcome outcome = Outcome::kPassed;
  std::string text;
};
inline Verdict passed(std::string text) { return {Outcome::kPassed, std::move(text)}; }
inline Verdict failed(std::string text) { return {Outcome::kFailed, std::move(text)}; }
inline Verdict skipped(std::string text) { return {Outcome::kSkipped, std::move(text)}; }

struct Trial {
  const char* name;
  Verdict (*run)();
};
const std::vector<Trial>& trials();

// hsa_trials.cc
Verdict try_pools();
Verdict try_copy_engine();

// hip_trials.cc
Verdict try_init();
Verdict try_copy();
Verdict try_copy_on_device();
Verdict try_saxpy();
Verdict try_lds();
Verdict try_atomics();
Verdict try_scratch();
Verdict try_printf();
Verdict try_coherence();
Verdict try_gemm();

// convolution_trial.cc
Verdict try_conv();

}  // namespace wavetap::doctor::trial
