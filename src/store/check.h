// Is a trace sound? Every claim the format makes, checked row by row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::store {

struct Finding {
  std::string what;  // "rocpd_api: ends before it starts"
  uint64_t count = 0;
  std::string example;   // one row, "id 12"
  bool is_error = true;  // false: odd, but every reader copes
};

struct CheckResult {
  std::vector<Finding> findings;  // what is wrong; empty when the file is sound
  uint64_t calls = 0, ops = 0, links = 0, strings = 0;
  std::string losses;  // the recorder's own count, "" when unknown

  bool sound() const {
    for (const Finding& finding : findings)
      if (finding.is_error) return false;
    return losses.empty() || losses == "0";
  }
};

Result<CheckResult> check_trace(const std::string& path);

}  // namespace wavetap::store
