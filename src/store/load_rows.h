// Tables that a Trace holds row by row, loaded as tables.inc says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/id_map.h"
#include "store/sqlite.h"
#include "store/trace.h"

namespace wavetap::store {

// Collects what could not be taken as it stands, by kind.
class Problems {
 public:
  void count(const std::string& what, uint64_t n = 1) {
    if (n > 0) counts_[what] += n;
  }
  std::vector<Problem> list() const {
    std::vector<Problem> out;
    for (const auto& [what, n] : counts_) out.push_back({what, n});
    return out;
  }

 private:
  std::map<std::string, uint64_t> counts_;
};

// `trace` has its strings, calls and ops already; `strings` finds the former by the ids of the file.
Status load_rows(Trace& trace, Db& db, const LoadOptions& options, const IdMap& strings,
                 Problems& problems);

}  // namespace wavetap::store
