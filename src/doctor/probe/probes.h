// The active probes, run one per process. Each returns what it found; a crash, a fault or a hang is
// seen by the parent, which knows how to read the remains.
#pragma once

#include <string>
#include <vector>

namespace wavetap::doctor::probe {

enum class Outcome : unsigned char { kPassed, kFailed, kSkipped };

struct Verdict {
  Outcome outcome = Outcome::kPassed;
  std::string text;
};

struct Probe {
  const char* name;
  Verdict (*run)();
};
const std::vector<Probe>& probes();

}  // namespace wavetap::doctor::probe
