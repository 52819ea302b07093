// Facts about the program that a captured dispatch was launched by, for its facts record.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "capture/capture_writer.h"
#include "format/capture_request.h"

namespace wavetap::capture {

// The program's command line.
std::string command_line();
// "library.NAME": the runtimes it uses, by path.
void add_libraries(FactList& facts);
// "host_stack.NN": "FILE+0xOFFSET" for each return address, as far as a file is there.
void add_host_stack(FactList& facts, std::span<const uint64_t> addresses);
// "made.ADDRESS": how the program got it from HIP. Nothing for plain device memory.
void add_hip_allocation(FactList& facts, const format::HipAllocation& allocation);

}  // namespace wavetap::capture
