// Code objects of other files that are loaded in the place of the program's.
//
//   reader made     where the bytes of the code object are, is remembered
//   object loaded   what the table offers as a whole is compared with it (swap/whole.h) and loaded into an
//                   executable of ours to see that the runtime takes it; then the program's executable
//                   gets it, and never the one that the program named
//   frozen          swap_policy.cc asks what became of each code object, and writes it down
//
// HIP makes a reader from memory for each code object of each GPU, whoever brought it: the program, a
// library, hipRTC. Whatever is refused or fails here, the program's own code object is loaded.
#pragma once

#include <cstdint>
#include <optional>

#include "swap/legality.h"
#include "swap/table.h"

namespace wavetap::agent {

// What became of a code object that has kernels of the table.
struct WholeSwap {
  uint64_t executable = 0;
  uint64_t agent = 0;
  const void* memory = nullptr;  // of what was loaded; null: it is in a file
  const swap::Candidate* candidate = nullptr;
  swap::Verdict verdict;  // legal: it is the candidate's
};

// The table lives as long as the process.
void start_whole_swaps(const swap::Table& table);
// Each time the GPU runtime is loaded. Nothing without offers.
void install_whole_hooks();

// `memory` as the runtime names it.
std::optional<WholeSwap> find_whole_swap(uint64_t executable, uint64_t agent, const void* memory);

void forget_whole_swaps(uint64_t executable);
// The runtime is gone.
void forget_whole_swaps();
void unlock_whole_swaps_after_fork();

}  // namespace wavetap::agent
