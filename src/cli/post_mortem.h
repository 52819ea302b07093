// What a trace knows about the end of a program: the GPU fault, the kernels in flight, the last
// ones before them, and the calls its threads were in.
#pragma once

#include <string>

namespace wavetap::cli {

// On stderr, every line beginning with "wavetap:". `status` as a shell reports it. Prints nothing
// when there is nothing to tell: no fault, nothing in flight, no call open.
void print_post_mortem(const std::string& trace, int status);

}  // namespace wavetap::cli
