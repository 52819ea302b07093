// The program's code, for captures: which kernels may be captured, by kernel object, and every code object
// with where it is loaded. Known from the moment an executable is frozen until it is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wavetap::agent {

// A kernel that the selection names. Never freed: a thread may hold one.
struct CapturableKernel {
  std::string name;  // demangled
  uint64_t executable = 0;
};

struct CodeInMemory {
  uint64_t executable = 0;
  uint64_t agent = 0;
  uint64_t load_base = 0;
  uint64_t load_bytes = 0;
  uint64_t load_delta = 0;  // loaded address - linked address
  std::string uri;
  std::vector<std::byte> copy;  // of the ELF file, when the program may free it
  const std::byte* image = nullptr;
  uint64_t image_bytes = 0;
};

// From now on. `chosen` is asked for each kernel's demangled and mangled name.
void watch_code(bool (*chosen)(const std::string& shown, const std::string& symbol));
// Null: not one that is chosen.
const CapturableKernel* find_capturable(uint64_t kernel_object);
// All that is loaded for this GPU, under a lock: no calls that load or free code.
void for_each_code(uint64_t agent, const std::function<void(const CodeInMemory&)>& visit);
// The runtime is going.
void forget_code();
void unlock_code_after_fork();

}  // namespace wavetap::agent
