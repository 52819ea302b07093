#include "format/launch_choice.h"

#include <charconv>

namespace wavetap::format {
namespace {

constexpr std::string_view kRandom = "random ";

// The next number of the text and the blank behind it; false: there is none.
bool take_number(std::string_view& text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return true;
}

}  // namespace

bool RandomLaunches::contains(uint64_t launch) const {
  // SplitMix64: every bit of the result depends on every bit of both numbers.
  uint64_t mixed = seed + launch * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return (mixed ^ mixed >> 31) % one_in == 0;
}

std::string RandomLaunches::text() const {
  return std::string(kRandom) + std::to_string(one_in) + " " + std::to_string(seed);
}

LaunchChoice LaunchChoice::of_checked(std::string_view text) {
  LaunchChoice choice;
  if (text == kFirst) {
    choice.first_ = true;
  } else if (text.starts_with(kRandom)) {
    std::string_view rest = text.substr(kRandom.size());
    RandomLaunches& random = choice.random_;
    if (take_number(rest, &random.one_in) && take_number(rest, &random.seed) && rest.empty() &&
        random.one_in != 0)
      return choice;
    random = {};
    choice.list_ = LaunchList::of_checked(text);
  } else {
    choice.list_ = LaunchList::of_checked(text);
  }
  return choice;
}

bool LaunchChoice::contains(uint64_t launch, bool is_first) const {
  if (first_) return is_first;
  if (random_.one_in != 0) return random_.contains(launch);
  return list_.empty() || list_.contains(launch);
}

}  // namespace wavetap::format
