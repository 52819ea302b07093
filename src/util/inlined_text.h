// The calls that were inlined at an instruction, in words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::util {

// A function and the "file:line" in it.
struct NamedPlace {
  std::string function;
  std::string source;
};

// "in atomicAdd at hip.h:7, inlined at main.hip:41", one line per call, innermost first. `frames` are
// innermost first and end with the function that is really there; `shown` is the line that was named
// already.
std::vector<std::string> inlined_lines(std::span<const NamedPlace> frames, std::string_view shown);

}  // namespace wavetap::util
