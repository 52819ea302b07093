// The rule-based provider: rewrites of source text that often make a kernel faster, tried one after the
// other, each on top of what was accepted. It needs no network and always proposes the same.
//
// A rule looks at text, not at a program: what it makes may be wrong, and the proof that every candidate
// goes through says so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "optimize/provider.h"

namespace wavetap::optimize {

// What a rule knows besides the text.
struct RuleFacts {
  std::string kernel;  // its short name
  uint32_t workgroup[3] = {1, 1, 1};
};

struct Rule {
  const char* name;
  const char* what;  // for the rationale
  // The text changed, or nothing where the rule does not apply.
  std::optional<std::string> (*apply)(const std::string& source, const RuleFacts& facts);
};
const std::vector<Rule>& rules();

std::unique_ptr<Provider> make_rules();

}  // namespace wavetap::optimize
