// Code that runs in the place of a program's kernels: read from its file, described, loaded onto a GPU by
// the runtime's own loader into an executable of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "swap/kernel_info.h"
#include "swap/legality.h"
#include "swap/table.h"

namespace wavetap::agent {

// One version of one code object of a file. Never freed once it is loaded: the runtime and debuggers
// point into it.
struct SwapCode {
  std::string path;
  uint64_t offset = 0;
  int64_t time_ns = 0;
  uint64_t file_bytes = 0;
  std::vector<std::byte> content;
  std::vector<swap::KernelInfo> kernels;
  std::vector<swap::Variable> variables;

  const swap::KernelInfo* find(const std::string& symbol) const;
};

// Reads what a candidate names. `any_version`: as the file is now, not as it was when the program was
// started. The verdict says why there is none.
swap::Verdict read_swap_code(const swap::Candidate& candidate, bool any_version,
                             std::unique_ptr<SwapCode>& code);

// Time and size of a file; false when it is not there. Leaves errno alone.
bool stat_swap_file(const char* path, int64_t& time_ns, uint64_t& bytes);

// Whether the runtime has what loading needs.
bool can_load_swap_code();
// Has the runtime load it for one GPU, and takes it out again. False: it does not, and `why` says it.
bool try_swap_code(const SwapCode& code, uint64_t agent, swap::Verdict& why);

// Has the runtime load it for one GPU. The executable; 0: it does not, and `why` says it.
uint64_t load_swap_code(const SwapCode& code, uint64_t agent, swap::Verdict& why);

// The address of a kernel's descriptor in an executable; 0: it is not there.
uint64_t kernel_object_in(uint64_t executable, uint64_t agent, const std::string& symbol);

}  // namespace wavetap::agent
