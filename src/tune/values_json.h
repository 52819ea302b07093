#pragma once

#include "tune/value.h"
#include "util/json_library.h"

namespace wavetap::tune {

inline nlohmann::ordered_json values_json(const Values& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) {
    if (!is_number(value)) json[name] = std::get<std::string>(value);
    else if (const double number = std::get<double>(value);
             number == static_cast<double>(static_cast<int64_t>(number)))
      json[name] = static_cast<int64_t>(number);
    else json[name] = number;
  }
  return json;
}

inline Values values_of(const nlohmann::ordered_json& json) {
  Values values;
  if (!json.is_object()) return values;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) values[name] = value.get<double>();
    else if (value.is_string()) values[name] = value.get<std::string>();
  }
  return values;
}

}  // namespace wavetap::tune
