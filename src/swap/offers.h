// What files have to offer, and what is to be taken from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "swap/kernel_info.h"

namespace wavetap::swap {

struct IndexedObject {
  uint64_t offset = 0;  // in the file; of a compressed bundle, where that begins
  uint64_t bytes = 0;   // 0: the file is the code object
  uint32_t number = 0;  // nth code object of the file
  bool is_compressed = false;
  std::vector<KernelInfo> kernels;
  std::vector<Variable> variables;
};

struct IndexedFile {
  std::string path;
  int64_t time_ns = 0;
  uint64_t bytes = 0;
  std::vector<IndexedObject> objects;
  std::vector<std::string> problems;  // "gfx90a: not a 64-bit …"
};

// A line of a manifest.
struct Rule {
  std::string pattern;  // "": every kernel of the file, in the place of the one with its symbol
  std::string path;
  std::string kernel;  // to run; "": the one that the pattern found
  uint64_t original_hash = 0;
  uint8_t allowed = 0;
};

}  // namespace wavetap::swap
