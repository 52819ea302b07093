// Journal: every evaluation of a search, in a SQLite file, in the order of the proposals.
//
// A row is written once its evaluation and all before it are over, so that what a killed search leaves
// is a beginning of what it would have left. Rows hold nothing that differs between two runs of the
// same search: how long things took is in a table of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "proof/trial.h"
#include "store/sqlite.h"
#include "tune/search.h"
#include "tune/spec.h"

namespace wavetap::tune {

// The point that stands for the captured kernel itself, or for the spec's baseline.
inline constexpr int64_t kBaselinePoint = -1;

struct Entry {
  int64_t point = 0;
  double part = 1;
  Values values;
  proof::Trial trial;
  double seconds = 0;  // build and run
};

class Journal {
 public:
  // Makes a new one; an error when there is one.
  static Result<Journal> create(const std::string& path, const Spec& spec);
  // An error when it is of another spec.
  static Result<Journal> resume(const std::string& path, const Spec& spec);

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(int64_t point, double part) const;
  Status add(const Entry& entry);

 private:
  Status load();
  void remember(const Entry& entry);

  store::Db db_;
  std::vector<Entry> entries_;
  std::map<std::pair<int64_t, double>, size_t> index_;
};

}  // namespace wavetap::tune
