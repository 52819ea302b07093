// TwinMachines: the same code on the same state, once by its handlers and once compiled.
//
// Test-only; included by tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include "emu/testing/targets.h"
#include "jit/testing_objects.h"
#include "jit/testing_twins.h"

namespace wavetap::jit {

inline Host& test_host() {
  static Host* host = new Host();
  return *host;
}

struct TwinMachines : Twins {
  explicit TwinMachines(const emu::TestMachine::Options& options)
      : Twins(options, compile_or_remember) {}
};

}  // namespace wavetap::jit
