#include "analysis/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "util/text.h"

namespace wavetap::analysis {
namespace {

// All of `text` as a number, or nothing. Not locale-dependent, no spaces, no hexadecimal.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool in_range(const Setting& setting, double value) {
  return std::isfinite(value) && value >= setting.least && value <= setting.most;
}

// " from 1 to 16", " of at least 0", or nothing.
std::string range_text(const Setting& setting) {
  const bool below = setting.least != std::numeric_limits<double>::lowest();
  const bool above = setting.most != std::numeric_limits<double>::max();
  if (below && above) return fmt::format(" from {} to {}", setting.least, setting.most);
  if (below) return fmt::format(" of at least {}", setting.least);
  return above ? fmt::format(" of at most {}", setting.most) : "";
}

// What a value has to be, with its article: "a whole number from 1 to 16".
std::string wanted_text(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::kWhole: return "a whole number" + range_text(setting);
    case SettingKind::kReal: return "a number" + range_text(setting);
    case SettingKind::kText: return "a text";
    case SettingKind::kBounds:
      return "a list of ascending whole numbers" + range_text(setting) + ", such as 10,100,1000";
  }
  return "";
}

// "shortest gap in microseconds (1)"
std::string help_text(const Setting& setting) {
  return setting.fallback.empty() ? std::string(setting.help)
                                  : fmt::format("{} ({})", setting.help, setting.fallback);
}

const Setting* find_setting(std::span<const Setting> known, std::string_view name) {
  for (const Setting& setting : known)
    if (setting.name == name) return &setting;
  return nullptr;
}

Error unknown_setting(std::span<const Setting> known, std::string_view owner,
                      std::string_view assignment, std::string_view key) {
  const std::string shown = util::escape_control(assignment);
  if (known.empty()) return {fmt::format("{}: {} has no settings; leave it out", shown, owner)};
  std::vector<std::string> names;
  for (const Setting& setting : known) names.emplace_back(setting.name);
  // A key cut short, or one misspelt.
  std::string near = util::nearest_name(key, names);
  for (const std::string& name : names)
    if (near.empty() && key.size() > 1 && name.starts_with(key)) near = name;
  if (near.empty())
    return {fmt::format("{}: {} has no setting {}; it has {}", shown, owner,
                        util::escape_control(key), util::join(names, ", "))};
  return {fmt::format("{}: {} has no setting {}; did you mean {}, {}?", shown, owner,
                      util::escape_control(key), near, help_text(*find_setting(known, near)))};
}

}  // namespace

Result<Settings::Value> Settings::read(const Setting& setting, std::string_view text) {
  const Error wrong = {fmt::format("{}={}: not {}; {}: {}", setting.name,
                                   util::escape_control(text), wanted_text(setting), setting.name,
                                   help_text(setting))};
  switch (setting.kind) {
    case SettingKind::kWhole: {
      const std::optional<int64_t> value = number<int64_t>(text);
      if (!value || !in_range(setting, static_cast<double>(*value))) return wrong;
      return Value(*value);
    }
    case SettingKind::kReal: {
      const std::optional<double> value = number<double>(text);
      if (!value || !in_range(setting, *value)) return wrong;
      return Value(*value);
    }
    case SettingKind::kText:
      if (text.empty()) return wrong;
      return Value(std::string(text));
    case SettingKind::kBounds: {
      std::vector<int64_t> values;
      for (const std::string& part : util::split(text, ',')) {
        const std::optional<int64_t> value = number<int64_t>(part);
        if (!value || !in_range(setting, static_cast<double>(*value)) ||
            (!values.empty() && *value <= values.back()))
          return wrong;
        values.push_back(*value);
      }
      if (values.empty()) return wrong;
      return Value(std::move(values));
    }
  }
  return wrong;
}

Result<Settings> Settings::parse(std::span<const Setting> known, std::string_view owner,
                                 std::span<const std::string> assignments) {
  Settings out;
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    const std::string_view key = std::string_view(assignment).substr(0, equals);
    const Setting* setting = find_setting(known, key);
    if (setting == nullptr) return unknown_setting(known, owner, assignment, key);
    if (equals == std::string::npos)
      return Error{fmt::format("{}: no value given; write {}", key, setting_usage(*setting))};
    Result<Value> value = read(*setting, std::string_view(assignment).substr(equals + 1));
    if (!value.ok()) return value.error();
    if (!out.given_.emplace(key, std::move(*value)).second)
      return Error{fmt::format("{}: {} is given twice; give it once",
                               util::escape_control(assignment), key)};
  }
  return out;
}

bool Settings::has(const Setting& setting) const {
  return given_.contains(setting.name) || !setting.fallback.empty();
}

template <class T>
T Settings::value(const Setting& setting) const {
  if (const auto found = given_.find(setting.name); found != given_.end())
    return std::get<T>(found->second);
  // A test reads every fallback of every analysis, so this cannot fail for one in a table.
  const Result<Value> fallback = read(setting, setting.fallback);
  return fallback.ok() ? std::get<T>(*fallback) : T{};
}

int64_t Settings::whole(const Setting& setting) const { return value<int64_t>(setting); }
double Settings::real(const Setting& setting) const { return value<double>(setting); }
std::string Settings::text(const Setting& setting) const { return value<std::string>(setting); }
std::vector<int64_t> Settings::bounds(const Setting& setting) const {
  return value<std::vector<int64_t>>(setting);
}

std::string setting_usage(const Setting& setting) {
  const std::string_view value = !setting.value.empty()                 ? setting.value
                                 : setting.kind == SettingKind::kText   ? "TEXT"
                                 : setting.kind == SettingKind::kBounds ? "N,N,…"
                                 : setting.kind == SettingKind::kWhole  ? "N"
                                                                        : "NUMBER";
  return fmt::format("{}={}: {}", setting.name, value, help_text(setting));
}

}  // namespace wavetap::analysis
