// Settings of analyses: what `--set KEY=VALUE`, the C interface and Python hand over as text. Each
// analysis lists what it knows in a table; the texts are read against it once, here, before the
// analysis runs. An unknown key, a value of another kind or one out of range is an error, never a
// guess.
//
//   constexpr Setting kMinUs{.name = "min-us", .kind = SettingKind::kReal, .fallback = "1",
//                            .help = "shortest gap in microseconds", .least = 0};
//   const double shortest_us = options.settings.real(kMinUs);
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace wavetap::analysis {

enum class SettingKind : uint8_t {
  kWhole,   // a whole number
  kReal,    // a number
  kText,    // any text that is not empty; what it means, the analysis checks
  kBounds,  // whole numbers in ascending order, separated by commas
};

struct Setting {
  std::string_view name;
  SettingKind kind = SettingKind::kText;
  std::string_view fallback = "";  // its value when it is not given, as a user would write it
  std::string_view help;
  std::string_view value = "";  // what help calls its value; "" for what the kind says
  // Of a number, or of each number of a list.
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};

// The settings of one run, read and checked. Those that were not given have their fallback.
class Settings {
 public:
  // Each assignment is "key=value". The error names the assignment, what is wrong with it and what
  // the setting is for; `owner` is the analysis, as a person calls it.
  static Result<Settings> parse(std::span<const Setting> known, std::string_view owner,
                                std::span<const std::string> assignments);

  // Given, or with a fallback.
  bool has(const Setting& setting) const;
  // Only of a setting of that kind, and only where has() holds.
  int64_t whole(const Setting& setting) const;
  double real(const Setting& setting) const;
  std::string text(const Setting& setting) const;
  std::vector<int64_t> bounds(const Setting& setting) const;

 private:
  using Value = std::variant<int64_t, double, std::string, std::vector<int64_t>>;
  static Result<Value> read(const Setting& setting, std::string_view text);
  template <class T>
  T value(const Setting& setting) const;

  std::map<std::string, Value, std::less<>> given_;
};

// One line of help: "min-us=NUMBER: shortest gap in microseconds (1)".
std::string setting_usage(const Setting& setting);

}  // namespace wavetap::analysis
