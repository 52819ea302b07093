// Which device a program should use: "cuda" (HIP answers to that name in PyTorch) or "cpu", and
// why. The answer is kept per state of the machine, so that asking is cheap.
#pragma once

#include <string>
#include <vector>

#include "doctor/machine.h"

namespace wavetap::doctor {

struct DeviceChoice {
  std::string device;  // "cuda" or "cpu"
  std::vector<std::string> reasons;
  bool cached = false;
};

// Changes when the driver, its GPUs, the boot, the libraries or a variable that matters change.
std::string machine_state(const Machine& machine, const std::string& program_version);

// Asks the machine: GPUs, permissions, and a kernel in a child process.
DeviceChoice choose_device(const Machine& machine, const std::string& program);

// The kept answer for a state, in FILE; nothing when there is none. Writing is best effort.
bool read_choice(const std::string& file, const std::string& state, DeviceChoice& choice);
void write_choice(const std::string& file, const std::string& state, const DeviceChoice& choice);

}  // namespace wavetap::doctor
