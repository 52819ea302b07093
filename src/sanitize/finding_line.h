// A finding as keys of a line of JSON, for whoever reports it (cli/sanitize_report.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/gpu_addr.h"
#include "emu/memory.h"
#include "sanitize/finding.h"

namespace wavetap::sanitize {

// What is known about an instruction's address.
struct CodePlace {
  std::string instruction;
  std::optional<uint64_t> offset;  // bytes from the kernel's first instruction
  std::string source;              // "file:line", or ""
};
using FindCode = std::function<CodePlace(GpuAddr pc)>;

// Appends everything but what belongs to the dispatch: kernel, GPU, queue. `line` is inside an object.
void append_finding(std::string& line, const Finding& finding, const FindCode& find_code);

std::string hex_text(uint64_t value);

}  // namespace wavetap::sanitize
