#include "tune/tuner.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "util/isolated.h"

namespace wavetap::tune {
namespace {

using Clock = std::chrono::steady_clock;
using proof::Outcome;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

struct Job {
  int64_t point = 0;
  double part = 1;
  Values values;
};

class Tuner {
 public:
  Tuner(const Spec& spec, const Space& space, const Measure& measure, const TuneLimits& limits,
        Journal& journal, const std::function<void(const Progress&)>& tell)
      : spec_(spec),
        space_(space),
        measure_(measure),
        limits_(limits),
        journal_(journal),
        tell_(tell) {}

  Status run() {
    if (spec_.subject == Subject::kCapture || !spec_.baseline.empty())
      if (const Status status = run_jobs({{kBaselinePoint, 1, spec_.baseline}}); !status.ok())
        return status;
    const std::unique_ptr<Search> search = make_search(spec_.search, space_);
    while (!is_over()) {
      const std::vector<Proposal> proposals = search->propose(spec_.batch);
      if (proposals.empty()) break;
      std::vector<Job> jobs;
      for (const Proposal& proposal : proposals)
        jobs.push_back(
            {static_cast<int64_t>(proposal.point), proposal.part, space_.values(proposal.point)});
      if (const Status status = run_jobs(jobs); !status.ok()) return status;
      for (const Proposal& proposal : proposals) {
        const Entry* entry = journal_.find(static_cast<int64_t>(proposal.point), proposal.part);
        if (entry == nullptr) return {};  // the time is up
        done_ += proposal.part;
        search->tell({proposal, value_of(*entry)});
      }
    }
    return {};
  }

 private:
  bool is_over() const {
    return done_ >= limits_.evaluations - 1e-9 ||
           (limits_.seconds > 0 && seconds_since(started_) >= limits_.seconds);
  }

  std::optional<double> value_of(const Entry& entry) const {
    if (entry.trial.outcome != Outcome::kGood) return std::nullopt;
    const double value = entry.trial.figures.at("objective");
    return spec_.maximise ? -value : value;
  }

  // Those that the journal does not have, each in a process of its own.
  Status run_jobs(const std::vector<Job>& all) {
    std::vector<Job> jobs;
    for (const Job& job : all)
      if (journal_.find(job.point, job.part) == nullptr) jobs.push_back(job);
    std::vector<std::function<std::string()>> pieces;
    for (const Job& job : jobs)
      pieces.push_back([this, &job] {
        const Clock::time_point started = Clock::now();
        const proof::Trial trial = measure_(job.values, job.part, job.point == kBaselinePoint);
        return std::to_string(seconds_since(started)) + "\n" + proof::to_text(trial);
      });
    Status failure;
    const double limit =
        spec_.build_seconds + spec_.run_seconds * std::max(spec_.runs + spec_.warmups(), 1u) + 10;
    const auto done = [&](size_t number, const util::Isolated& answer) {
      failure = keep(jobs[number], answer);
      return failure.ok() && !(limits_.seconds > 0 && seconds_since(started_) >= limits_.seconds);
    };
    util::run_isolated(
        pieces, limits_.jobs,
        {spec_.subject == Subject::kCapture ? spec_.build_seconds + spec_.run_seconds : limit},
        done);
    return failure;
  }

  Status keep(const Job& job, const util::Isolated& answer) {
    Entry entry{job.point, job.part, job.values, {}, 0};
    if (answer.ending == util::Ending::kDone) {
      const size_t line = answer.text.find('\n');
      entry.seconds = std::strtod(answer.text.c_str(), nullptr);
      const Result<proof::Trial> trial =
          proof::parse_trial(line == std::string::npos ? "" : answer.text.substr(line + 1));
      if (trial.ok()) entry.trial = *trial;
      else entry.trial = {Outcome::kCrash, trial.error().message, {}, 0, {}};
    } else {
      const bool timed_out = answer.ending == util::Ending::kTimedOut;
      entry.trial = {timed_out ? Outcome::kTimeout : Outcome::kCrash, answer.text, {}, 0, {}};
    }
    const Status added = journal_.add(entry);
    if (added.ok() && tell_) {
      running_ += job.point == kBaselinePoint ? 0 : job.part;
      tell_({share(done_ + running_), best_of(spec_, journal_), journal_.find(kBaselinePoint, 1)});
      running_ = 0;
    }
    return added;
  }

  double share(double done) const {
    const double of_time = limits_.seconds > 0 ? seconds_since(started_) / limits_.seconds : 0;
    return std::min(std::max(done / limits_.evaluations, of_time), 1.0);
  }

  const Spec& spec_;
  const Space& space_;
  const Measure& measure_;
  const TuneLimits limits_;
  Journal& journal_;
  const std::function<void(const Progress&)>& tell_;
  const Clock::time_point started_ = Clock::now();
  double done_ = 0;
  double running_ = 0;
};

}  // namespace

bool is_better(const Spec& spec, const Entry& a, const Entry& b) {
  const double x = a.trial.figures.at("objective");
  const double y = b.trial.figures.at("objective");
  return spec.maximise ? x > y : x < y;
}

const Entry* best_of(const Spec& spec, const Journal& journal) {
  const Entry* best = nullptr;
  for (const Entry& entry : journal.entries()) {
    if (entry.trial.outcome != Outcome::kGood || entry.part < 1 || entry.point == kBaselinePoint)
      continue;
    if (best == nullptr || is_better(spec, entry, *best)) best = &entry;
  }
  return best;
}

Measure measure_by(const Evaluation& evaluation) {
  return [&evaluation](const Values& values, double part, bool is_original) {
    const std::string out =
        evaluation.scratch + "/" + std::to_string(static_cast<long>(getpid())) + ".out";
    proof::Trial trial = evaluate(evaluation, values, part, out, is_original);
    unlink(out.c_str());
    return trial;
  };
}

Status run_search(const Spec& spec, const Space& space, const Measure& measure,
                  const TuneLimits& limits, Journal& journal,
                  const std::function<void(const Progress&)>& tell) {
  return Tuner(spec, space, measure, limits, journal, tell).run();
}

}  // namespace wavetap::tune
