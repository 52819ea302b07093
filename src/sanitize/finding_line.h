// A finding as keys of a line of JSON, for whoever reports it (cli/sanitize_report.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/gpu_addr.h"
#include "codeobj/source_map.h"
#include "sanitize/finding.h"

namespace wavetap::sanitize {

// What is known about an instruction's address.
struct CodePlace {
  std::string instruction;
  std::optional<uint64_t> offset;  // bytes from the kernel's first instruction
  // Innermost first; empty without debug information.
  std::vector<codeobj::SourceFrame> frames;
};

// An argument of the kernel that is an address.
struct PointerArgument {
  size_t number = 0;  // from 0, hidden ones do not count
  std::string name;   // may be empty
  uint64_t value = 0;
};

// What names the places and addresses of a dispatch's findings.
struct Naming {
  std::function<CodePlace(GpuAddr pc)> find_code;
  std::vector<PointerArgument> pointers;
};

// Appends everything but what belongs to the dispatch: kernel, GPU, queue. `line` is inside an object.
void append_finding(std::string& line, const Finding& finding, const Naming& naming);

std::string hex_text(uint64_t value);

}  // namespace wavetap::sanitize
