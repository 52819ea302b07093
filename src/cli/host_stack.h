// The stack of the host thread that launched a captured dispatch.
#pragma once

#include <string>
#include <vector>

#include "replay/capture_file.h"

namespace wavetap::cli {

// "saxpy_step(int) at main.cc:41" for "/path/program+0x1234", an offset in that file, of a return
// address. "" when the file is not there or does not know.
std::string name_host_frame(const std::string& place);

struct HostFrame {
  std::string place;  // "/path/program+0x1234"
  std::string name;   // as found when it was captured; may be ""
};
// From the innermost on; empty when it is not known.
std::vector<HostFrame> host_stack(const replay::Capture& capture);

}  // namespace wavetap::cli
