#include "optimize/judge.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "optimize/file_access.h"
#include "proof/cross_check.h"
#include "proof/forbidden.h"
#include "sanitize/kinds.h"
#include "util/file.h"
#include "util/isolated.h"
#include "util/text.h"

namespace wavetap::optimize {
namespace {

using proof::Outcome;

// A wave that runs this many instructions hangs.
constexpr uint64_t kWatchdog = 2'000'000'000;
constexpr size_t kMostFileBytes = 1 << 20;
constexpr size_t kLogBytes = 8000;

// In a process of its own; how it ended otherwise.
Result<std::string> isolated(const std::function<std::string()>& work, double seconds) {
  const std::vector<util::Isolated> answers =
      util::run_isolated({work}, 1, {.seconds = seconds, .memory_bytes = 0});
  if (answers.empty()) return errorf("no answer");
  if (answers[0].ending != util::Ending::kDone) return Error{answers[0].text};
  return answers[0].text;
}

// What builds before left there; the sources and our own notes stay.
void clear_folder(const std::string& folder, const Sources& sources) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!sources.contains(name) && name != kDiff)
      std::filesystem::remove_all(entry.path(), ignored);
  }
}

Step step_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRefused: return Step::kSignature;
    case Outcome::kUnclean: return Step::kSanitize;
    case Outcome::kImprecise: return Step::kPrecision;
    default: return Step::kReplay;
  }
}

}  // namespace

std::map<std::string, double> Standing::sum() const {
  std::map<std::string, double> made;
  for (const auto& one : figures) {
    for (const auto& [name, value] : one) {
      const bool adds = name == "time" || name == "instructions" || name == "bytes" ||
                        name == "l2_bytes" || name == "conflicts" || name == "lines";
      if (adds) made[name] += value;
      else if (name == "occupancy")
        made[name] = made.contains(name) ? std::min(made[name], value) : value;
      else made[name] = std::max(made[name], value);
    }
  }
  return made;
}

// One of two builds that are to give the same bytes. Both begin with the sources alone, and to each it is another
// day: a candidate that knows when it was built (__TIME__, __TIMESTAMP__) is another one each time, however
// fast the two follow each other. "" or what was wrong.
std::string Judge::build_once(const Sources& sources, const std::string& folder, int turn) const {
  clear_folder(folder, sources);
  if (const Status written = write_sources(folder, sources); !written.ok())
    return written.error().message;
  const time_t day = time(nullptr) - (turn == 0 ? 200'000 : 0);
  for (const auto& [name, text] : sources) {
    const timespec times[2] = {{day, 0}, {day, 0}};
    utimensat(AT_FDCWD, (folder + "/" + name).c_str(), times, 0);
  }
  std::string command = ledger_.task().build;
  util::replace_all(command, "{out}", kCode);
  util::replace_all(command, "{source}", sources.begin()->first);
  const Result<SandboxResult> ran =
      run_sandboxed(options_.sandbox, command, folder, options_.build_limits,
                    {{"SOURCE_DATE_EPOCH", std::to_string(day)}});
  std::error_code ignored;
  std::filesystem::remove_all(folder + "/.tmp", ignored);
  if (!ran.ok()) return ran.error().message;
  std::string said = ran->output;
  if (said.size() > kLogBytes) said = "…" + said.substr(said.size() - kLogBytes);
  (void)util::write_file(folder + "/" + kLog, said);
  if (ran->timed_out)
    return fmt::format("the build was not done after {:g} seconds", options_.build_limits.seconds);
  if (ran->is_crowd)
    return fmt::format("the build had more than {} processes", options_.build_limits.processes);
  if (ran->status != 0) return fmt::format("exit status {}: {}", ran->status, said);
  if (access((folder + "/" + kCode).c_str(), R_OK) != 0) return "the build made no {out}: " + said;
  return "";
}

std::string Judge::build(const Sources& sources, const std::string& folder, Step& step) const {
  step = Step::kBuild;
  std::vector<std::byte> first;
  for (int turn = 0; turn < 2; ++turn) {
    if (std::string wrong = build_once(sources, folder, turn); !wrong.empty()) return wrong;
    const Result<std::vector<std::byte>> bytes = util::read_file(folder + "/" + kCode);
    if (!bytes.ok()) return bytes.error().message;
    if (turn == 0) first = *bytes;
    else if (first != *bytes) {
      step = Step::kReproducible;
      return "two builds of the same sources differ: what they make depends on the time or on "
             "chance";
    }
  }
  return "";
}

proof::TrialOptions Judge::trial_options(uint32_t capture, const std::string& code) const {
  proof::TrialOptions trial;
  trial.file = ledger_.captures();
  trial.capture = capture;
  trial.code = code;
  if (const auto tolerance = replay::parse_tolerance(ledger_.task().tolerance); tolerance.ok())
    trial.tolerance = *tolerance;
  trial.has_reference = true;
  trial.may_lose_precision = ledger_.task().may_lose_precision;
  if (const auto tools = sanitize::ToolSet::parse(ledger_.task().tools); tools.ok())
    trial.tools = *tools;
  trial.model = options_.model;
  trial.watchdog_instructions = kWatchdog;
  return trial;
}

bool Judge::try_capture(uint32_t capture, Attempt& attempt, Standing& standing) const {
  const proof::TrialOptions trial = trial_options(capture, standing.code);
  const Result<std::string> forbidden =
      isolated([&] { return proof::find_forbidden(trial); }, options_.run_seconds);
  const Result<std::string> text =
      isolated([&] { return proof::to_text(proof::run_trial(trial)); }, options_.run_seconds);
  attempt.step = Step::kReplay;
  if (!text.ok()) {
    attempt.reason = text.error().message;
    return false;
  }
  const Result<proof::Trial> result = proof::parse_trial(*text);
  if (!result.ok()) {
    attempt.reason = result.error().message;
    return false;
  }
  if (result->outcome == Outcome::kRefused) {
    attempt.step = Step::kSignature;
    attempt.reason = result->reason;
    return false;
  }
  if (forbidden.ok() && !forbidden->empty()) {
    attempt.step = Step::kInstructions;
    attempt.reason = *forbidden;
    return false;
  }
  if (result->outcome != Outcome::kGood) {
    attempt.step = step_of(result->outcome);
    attempt.reason = result->reason;
    return false;
  }
  if (!result->precision.empty()) attempt.checks.push_back({"as recorded", result->precision});
  standing.figures.push_back(result->figures);
  standing.code_hash.push_back(result->code_hash);
  return true;
}

bool Judge::cross_check(uint32_t capture, Attempt& attempt, const std::string& code) const {
  const proof::TrialOptions trial = trial_options(capture, code);
  const uint64_t seed = ledger_.task().seed * 1000 + capture;
  const Result<std::string> text = isolated(
      [&] { return proof::to_text(proof::cross_check(trial, seed)); }, options_.run_seconds * 4);
  attempt.step = Step::kCrossCheck;
  if (!text.ok()) {
    attempt.reason = text.error().message;
    return false;
  }
  const Result<proof::CrossCheck> check = proof::parse_cross_check(*text);
  if (!check.ok()) {
    attempt.reason = check.error().message;
    return false;
  }
  attempt.checks.insert(attempt.checks.end(), check->checks.begin(), check->checks.end());
  attempt.reason = check->reason;
  if (check->outcome == Outcome::kImprecise) attempt.step = Step::kPrecision;
  return check->outcome == Outcome::kGood;
}

// All but the comparison of speed.
bool Judge::prove(const Standing* best, Attempt& attempt, Standing& standing) const {
  const std::vector<uint32_t>& captures = ledger_.task().captures;
  for (size_t i = 0; i < captures.size(); ++i) {
    if (!try_capture(captures[i], attempt, standing)) return false;
    if (best != nullptr && i < best->code_hash.size() &&
        best->code_hash[i] == standing.code_hash[i]) {
      attempt.step = Step::kNoChange;
      attempt.reason = "the compiler makes the same instructions of it";
      return false;
    }
  }
  for (const uint32_t capture : captures)
    if (!cross_check(capture, attempt, standing.code)) return false;
  return true;
}

Result<Standing> Judge::stand(const Sources& sources, const std::string& folder) const {
  Step step{};
  if (const std::string wrong = build(sources, folder, step); !wrong.empty())
    return errorf("the sources as they are: %s: %s; --build has to make {out} of them first",
                  name_of(step).c_str(),
                  wrong.substr(0, wrong.find_last_not_of(" \n") + 1).c_str());
  Standing standing;
  standing.code = folder + "/" + kCode;
  Attempt attempt;
  for (const uint32_t capture : ledger_.task().captures)
    if (!try_capture(capture, attempt, standing))
      return errorf("the sources as they are: %s: %s; %s", name_of(attempt.step).c_str(),
                    attempt.reason.c_str(),
                    attempt.step == Step::kSignature
                        ? "--source and --build have to make the captured kernel"
                        : "capture the kernel that they are the source of");
  return standing;
}

void Judge::judge(const Standing& best, const Sources& sources, Attempt& attempt,
                  Standing& standing) const {
  attempt.before = best.sum();
  attempt.step = Step::kFiles;
  Sources whole = sources;
  for (const auto& [name, text] : attempt.files) {
    if (!whole.contains(name)) {
      attempt.reason = name + " is not one of its sources";
      return;
    }
    if (text.size() > kMostFileBytes) {
      attempt.reason = name + " is larger than 1 MiB";
      return;
    }
    if (const std::string access = find_file_access(sources, text); !access.empty()) {
      attempt.reason = name + " reads other files than before: " + access;
      return;
    }
    whole[name] = text;
  }
  const std::string folder = ledger_.folder_of(attempt.number);
  attempt.reason = build(whole, folder, attempt.step);
  if (!attempt.reason.empty()) return;
  standing = Standing();
  standing.code = folder + "/" + kCode;
  if (!prove(&best, attempt, standing)) return;
  attempt.after = standing.sum();
  attempt.step = Step::kSpeed;
  if (ledger_.task().timed.empty()) compare_figures(best, standing, attempt);
  else compare_times(best, standing, attempt);
  if (attempt.reason.empty()) attempt.step = Step::kAccepted;
}

void Judge::compare_figures(const Standing& best, const Standing& standing,
                            Attempt& attempt) const {
  const std::string& objective = ledger_.task().objective;
  const double was = attempt.before[objective];
  const double is = attempt.after[objective];
  attempt.improvement = is > 0 ? was / is : was > 0 ? was : 1;
  attempt.reason.clear();
  for (size_t i = 0; i < standing.figures.size(); ++i)
    if (standing.figures[i].at(objective) > best.figures[i].at(objective)) {
      attempt.reason =
          fmt::format("worse on capture {}: {} {:g}, was {:g}", ledger_.task().captures[i],
                      objective, standing.figures[i].at(objective), best.figures[i].at(objective));
      return;
    }
  if (is >= was * (1 - ledger_.task().least_gain))
    attempt.reason = fmt::format("{} {:g}, was {:g}: not better by {:g} %", objective, is, was,
                                 ledger_.task().least_gain * 100);
}

void Judge::compare_times(const Standing& best, const Standing& standing, Attempt& attempt) const {
  attempt.reason.clear();
  if (!options_.timer) return;  // what was timed elsewhere is proved here, and not timed
  const Result<Timed> timed = options_.timer(best.code, standing.code);
  if (!timed.ok()) {
    attempt.reason = timed.error().message;
    return;
  }
  const TimingVerdict verdict = judge_times(*timed, ledger_.task().least_gain);
  attempt.improvement = verdict.improvement;
  attempt.timed = verdict.json;
  attempt.reason = verdict.reason;
}

}  // namespace wavetap::optimize
