#include "optimize/timing.h"

#include <fmt/format.h>

#include <algorithm>

#include "proof/difference.h"

namespace wavetap::optimize {
namespace {

using proof::Difference;
using Json = nlohmann::ordered_json;

const char* difference_verdict(const Difference& difference) {
  if (difference.is_lower()) return "faster";
  if (difference.is_higher()) return "slower";
  return difference.pairs == 0 ? "not compared" : "no difference";
}

Json difference_json(const Difference& difference) {
  return {{"verdict", difference_verdict(difference)},
          {"ratio", difference.ratio},
          {"low", difference.low},
          {"high", difference.high},
          {"pairs", difference.pairs}};
}

double median_of(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

// The n-th pair of all captures together.
TimedRuns sum_of_runs(const std::vector<TimedRuns>& runs) {
  TimedRuns sum;
  size_t pairs = SIZE_MAX;
  for (const TimedRuns& one : runs) pairs = std::min({pairs, one.before.size(), one.after.size()});
  for (size_t i = 0; !runs.empty() && i < pairs; ++i) {
    sum.before.push_back(0);
    sum.after.push_back(0);
    for (const TimedRuns& one : runs) {
      sum.before.back() += one.before[i];
      sum.after.back() += one.after[i];
    }
  }
  return sum;
}

}  // namespace

TimingVerdict judge_times(const Timed& timed, double least_gain) {
  TimingVerdict verdict;
  const TimedRuns sum = sum_of_runs(timed.runs);
  const Difference all = proof::compare_pairs(sum.before, sum.after);
  verdict.json = {{"gpu", timed.place.gpu}, {"clock", timed.place.clock}};
  if (!timed.place.note.empty()) verdict.json["note"] = timed.place.note;
  verdict.json.update(difference_json(all));
  const char* const by = timed.place.clock == "gpu" ? "" : ", by the time of the emulation";
  verdict.json["captures"] = Json::array();
  for (const TimedRuns& one : timed.runs) {
    const Difference difference = proof::compare_pairs(one.before, one.after);
    Json row = {{"capture", one.capture},
                {"before_seconds", median_of(one.before)},
                {"after_seconds", median_of(one.after)}};
    row.update(difference_json(difference));
    verdict.json["captures"].push_back(row);
    if (difference.is_higher() && verdict.reason.empty())
      verdict.reason =
          fmt::format("slower on capture {}: {}{}", one.capture, proof::to_text(difference), by);
  }
  if (all.is_lower() || all.is_higher()) verdict.improvement = 1 / all.ratio;
  if (!verdict.reason.empty()) return verdict;
  verdict.is_faster = all.is_lower() && all.ratio <= 1 - least_gain;
  if (verdict.is_faster) return verdict;
  verdict.reason = proof::to_text(all) + by;
  if (all.is_lower())
    verdict.reason = fmt::format("faster, but not by {:g} %: {}", least_gain * 100, verdict.reason);
  return verdict;
}

}  // namespace wavetap::optimize
