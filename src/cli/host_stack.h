// The stack of the host thread that launched a captured dispatch.
#pragma once

#include <string>

namespace wavetap::cli {

// "saxpy_step(int) at main.cc:41" for "/path/program+0x1234", an offset in that file, of a return
// address. "" when the file is not there or does not know.
std::string name_host_frame(const std::string& place);

}  // namespace wavetap::cli
