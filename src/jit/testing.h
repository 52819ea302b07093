// TwinMachines: the same code on the same state, once by its handlers and once compiled.
//
// Test-only; included by tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <vector>

#include "emu/testing/targets.h"
#include "jit/testing_objects.h"
#include "jit/testing_twins.h"

namespace wavetap::jit {

// The processor that this one is, or the one that WT_JIT_PROCESSOR names (x86-64-v3, x86-64-v4; generic of arm64): what LLVM makes of
// a module depends on it.
inline Host& test_host() {
  static Host* host = new Host(std::getenv("WT_JIT_PROCESSOR"));
  return *host;
}

// A processor without arithmetic of halves that every one we compile for can stand in for.
inline Host& plain_host() {
#if defined(__aarch64__)
  static Host* host = new Host("generic");
#else
  static Host* host = new Host("x86-64-v3");
#endif
  return *host;
}

template <Host& (*kHost)() = test_host>
std::vector<std::byte> compile_for(const BlockRequest& request, const Plan& plan) {
  return compile_or_remember(kHost(), request, plan);
}

struct TwinMachines : Twins {
  explicit TwinMachines(const emu::TestMachine::Options& options,
                        Compile compile = compile_for<test_host>)
      : Twins(options, compile) {}
};

}  // namespace wavetap::jit
