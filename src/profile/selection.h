// Selection: which dispatches are to be profiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wavetap::profile {

struct Selection {
  std::string pattern;             // extended regular expression in the name; "": all
  std::vector<uint64_t> launches;  // of each kernel, from 1; empty: all
};

}  // namespace wavetap::profile
