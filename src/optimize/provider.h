// Providers: who proposes candidates. A request is a JSON document with everything a provider may know;
// an answer is new text for some of the source files. docs/optimize.md has both.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "util/json_library.h"

namespace wavetap::optimize {

inline constexpr char kRequestSchema[] = "wavetap.optimize.request/1";
inline constexpr char kAnswerSchema[] = "wavetap.optimize.answer/1";

// Longer answers are no answers.
inline constexpr size_t kMostAnswerBytes = 4 << 20;

// Source files by the names they have in the build's folder.
using Sources = std::map<std::string, std::string>;

struct Proposed {
  bool declined = false;
  std::string rationale;  // or why nothing is proposed
  Sources files;          // those that change, whole
};

// What asking cost so far. Tokens are the service's own count, or a quarter of the bytes where it
// counts nothing.
struct Usage {
  uint64_t requests = 0, retries = 0;
  uint64_t prompt_tokens = 0, answer_tokens = 0;
  double cost = 0;  // in the currency of the given prices
  bool is_estimated = false;
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string name() const = 0;
  // An error is the provider's failure, not the candidate's.
  virtual Result<Proposed> propose(const nlohmann::ordered_json& request) = 0;
  // Exactly what it would be asked.
  virtual nlohmann::ordered_json prompt(const nlohmann::ordered_json& request) const {
    return request;
  }
  virtual Usage usage() const { return {}; }
  // What was used before, by attempts that are gone on with; limits count it.
  virtual void begin_with(const Usage& /*before*/) {}
  // Why asking again is of no use; "" while it is.
  virtual std::string stopped() const { return ""; }
};

}  // namespace wavetap::optimize
