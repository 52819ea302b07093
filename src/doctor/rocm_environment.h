// The environment of the process, and the configuration files that set parts of it for everybody.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/root.h"

namespace wavetap::doctor {

struct Variable {
  std::string name;
  std::string value;
};

// A line of a configuration file that sets a variable: NAME=VALUE at PATH:LINE.
struct FileSetting {
  std::string name;
  std::string value;
  std::string path;
  size_t line = 0;
  std::string where() const { return path + ":" + std::to_string(line); }
};

struct Environment {
  bool known = false;               // /proc/self/environ could be read
  std::vector<Variable> variables;  // sorted by name
  std::vector<FileSetting> settings;

  const std::string* value(std::string_view name) const;
  // The files that set it, most specific last.
  std::vector<const FileSetting*> set_in(std::string_view name) const;
};

Environment read_environment(const Root& root);

// True for variables of ROCm, its libraries and the frameworks on top: HSA_*, HIP_*, MIOPEN_*, …
bool concerns_rocm(std::string_view name);

// How a variable of ours is classified (environment_table.inc).
enum class VariableKind : unsigned char { kKnown, kInert, kDangerous, kDebug };
struct VariableFact {
  std::string_view name;  // ends with '*' for a family
  VariableKind kind;
  std::string_view reader;  // who reads it
  std::string_view text;    // what it does, or why it does nothing
};
const VariableFact* find_variable_fact(std::string_view name);
// The known name nearest to a misspelt one, or "".
std::string nearest_variable(std::string_view name);

}  // namespace wavetap::doctor
