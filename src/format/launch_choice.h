// LaunchChoice: which launches of the kernels that match are looked at. Written down as text, by the command line for what runs in
// the program: "" all of them, "first" the first of each kernel, "random N SEED" each with a chance of one in N, else a LaunchList.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/launch_list.h"

namespace wavetap::format {

// A launch is taken or not by its number and the seed alone: who gives the seed again gets the same launches.
struct RandomLaunches {
  uint64_t one_in = 0;  // 0: not by chance
  uint64_t seed = 0;

  bool contains(uint64_t launch) const;
  std::string text() const;
};

class LaunchChoice {
 public:
  static constexpr std::string_view kFirst = "first";

  LaunchChoice() = default;
  // Of a text that a command has made; one that is damaged on its way asks for nothing.
  static LaunchChoice of_checked(std::string_view text);

  // `launch`: its number among all that match, from 1. `is_first`: of its kernel; asked for only when that matters.
  bool contains(uint64_t launch, bool is_first) const;
  bool asks_for_first() const { return first_; }
  bool is_empty() const { return !first_ && random_.one_in == 0 && list_.empty(); }
  const RandomLaunches& random() const { return random_; }

 private:
  LaunchList list_;
  RandomLaunches random_;
  bool first_ = false;
};

}  // namespace wavetap::format
