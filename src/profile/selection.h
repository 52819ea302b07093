// Selection: which dispatches are to be profiled.
#pragma once

#include <string>

#include "format/launch_list.h"

namespace wavetap::profile {

struct Selection {
  std::string pattern;          // extended regular expression in the name; "": all
  format::LaunchList launches;  // of each kernel, from 1; empty: all
};

}  // namespace wavetap::profile
