#include "util/inlined_text.h"

namespace wavetap::util {

std::vector<std::string> inlined_lines(std::span<const NamedPlace> frames, std::string_view shown) {
  std::vector<std::string> lines;
  for (size_t i = 0; i + 1 < frames.size(); ++i) {
    std::string line = "in " + (frames[i].function.empty() ? "a function" : frames[i].function);
    // The places of the others are where the one before was inlined.
    if (i == 0 && frames[0].source != shown) line += " at " + frames[0].source;
    lines.push_back(line + ", inlined at " + frames[i + 1].source);
  }
  return lines;
}

}  // namespace wavetap::util
