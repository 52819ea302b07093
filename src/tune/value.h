// Values of parameters: numbers and words.
#pragma once

#include <map>
#include <string>
#include <variant>

namespace wavetap::tune {

using Value = std::variant<double, std::string>;
using Values = std::map<std::string, Value>;

inline bool is_number(const Value& value) { return value.index() == 0; }
// Whole numbers without a point: what a command line wants.
std::string to_text(const Value& value);

// Replaces every {name} by its value. A brace that encloses no name of a value is left alone, so that
// shell code can have its own.
std::string substitute(const std::string& text, const Values& values);

}  // namespace wavetap::tune
