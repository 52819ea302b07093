// Search: a strategy at work. It proposes points, is told what came of them, and depends on nothing else than
// its seed and those answers: the same answers give the same proposals, on every machine, so that a
// search that was killed can be run again from its journal.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace wavetap::tune {

// `part`: of the work, for strategies that look at many points briefly.
struct Proposal {
  size_t point = 0;
  double part = 1;
};

struct Answer {
  Proposal proposal;
  std::optional<double> value;  // lower is better; none: no good
};

class Search {
 public:
  virtual ~Search() = default;
  // At most `most` points, none of them twice with the same part. Nothing: the search is over.
  virtual std::vector<Proposal> propose(size_t most) = 0;
  // Of everything that was proposed, in that order, before propose() is asked again.
  virtual void tell(const Answer& answer) = 0;
};

}  // namespace wavetap::tune
