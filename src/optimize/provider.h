// Providers: who proposes candidates. A request is a JSON document with everything a provider may know;
// an answer is new text for some of the source files. docs/optimize.md has both.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::optimize {

inline constexpr char kRequestSchema[] = "wavetap.optimize.request/1";
inline constexpr char kAnswerSchema[] = "wavetap.optimize.answer/1";

// Source files by the names they have in the build's folder.
using Sources = std::map<std::string, std::string>;

struct Proposed {
  bool declined = false;
  std::string rationale;  // or why nothing is proposed
  Sources files;          // those that change, whole
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string name() const = 0;
  // An error is the provider's failure, not the candidate's.
  virtual Result<Proposed> propose(const nlohmann::ordered_json& request) = 0;
};

}  // namespace wavetap::optimize
