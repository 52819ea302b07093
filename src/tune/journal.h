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
#include "base/scoped_fd.h"
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
  // A new one, or with `resume` the one that is there; an error when it is of another spec, when it is
  // there and not to be gone on with, or when another search uses it.
  static Result<Journal> open(const std::string& path, const Spec& spec, bool resume);

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(int64_t point, double part) const;
  Status add(const Entry& entry);

 private:
  Status lock(const std::string& path);
  Status begin(const Spec& spec);
  Status load();
  void remember(const Entry& entry);

  ScopedFd lock_;  // nobody else writes this journal, or builds in its folder
  store::Db db_;
  std::vector<Entry> entries_;
  std::map<std::pair<int64_t, double>, size_t> index_;
};

}  // namespace wavetap::tune
