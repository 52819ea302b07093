// Numbers of profiles as people read them.
#pragma once

#include <string>

namespace wavetap::profile {

std::string percent_text(double share);                      // "62 %"
std::string rate_text(double per_second, const char* unit);  // "1.64 TFLOP/s"
std::string bytes_text(double bytes);                        // "8.0 MiB"
std::string gain_text(double gain);                          // "1.8x", "over 10x"
// The kernel's name without what tells two templates apart by a page of arguments.
std::string short_kernel(const std::string& name);

}  // namespace wavetap::profile
