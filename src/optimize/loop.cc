#include "optimize/loop.h"

#include <fmt/format.h>

#include <filesystem>

#include "util/file.h"
#include "util/isolated.h"

namespace wavetap::optimize {
namespace {

using Json = nlohmann::ordered_json;

Usage difference(const Usage& after, const Usage& before) {
  return {after.requests - before.requests,
          after.retries - before.retries,
          after.prompt_tokens - before.prompt_tokens,
          after.answer_tokens - before.answer_tokens,
          after.cost - before.cost,
          after.is_estimated};
}

void write_diff(const Ledger& ledger, const Sources& before, const Attempt& attempt) {
  const std::string folder = ledger.folder_of(attempt.number);
  (void)write_sources(folder + "/.before", before);
  util::ShellOptions in_folder;
  in_folder.folder = folder;
  std::string text;
  for (const auto& [name, content] : attempt.files) {
    if (!before.contains(name)) continue;
    const Result<util::ShellResult> ran = util::run_words(
        {"diff", "-u", "--label", "a/" + name, "--label", "b/" + name, ".before/" + name, name},
        in_folder);
    if (ran.ok()) text += ran->output;
  }
  (void)util::write_file(folder + "/" + kDiff, text);
  (void)util::run_words({"rm", "-rf", folder + "/.before"}, {});
}

// One candidate, with its repairs. False when the provider has nothing more; the reason says why.
bool make_attempt(const Ledger& ledger, const Judge& judge, Provider& provider,
                  const LoopOptions& options, const Sources& sources, const Standing& best,
                  Attempt& attempt, Standing& standing) {
  FailedBuild failed;
  for (uint32_t repair = 0; repair <= options.repairs; ++repair) {
    const Result<Proposed> proposed =
        provider.propose(make_request(ledger, options, sources, best.sum(), failed));
    if (!proposed.ok()) {
      attempt.step = Step::kProvider;
      attempt.reason = proposed.error().message;
      break;
    }
    // Nobody repairs it: the build that failed is the verdict.
    if (proposed->declined && repair != 0) break;
    if (proposed->declined) {
      attempt.reason = proposed->rationale;
      return false;
    }
    attempt.repairs = repair;
    attempt.rationale = proposed->rationale;
    attempt.files = proposed->files;
    attempt.checks.clear();
    judge.judge(best, sources, attempt, standing);
    failed = {attempt.reason, attempt.files};
    if (attempt.step != Step::kBuild || provider.name() == "rules") break;
  }
  return true;
}

}  // namespace

Json make_request(const Ledger& ledger, const LoopOptions& options, const Sources& sources,
                  const std::map<std::string, double>& figures, const FailedBuild& failed) {
  const Task& task = ledger.task();
  Json history = Json::array();
  for (const Attempt& attempt : ledger.attempts())
    history.push_back({{"rationale", attempt.rationale},
                       {"accepted", attempt.accepted()},
                       {"step", name_of(attempt.step)},
                       {"reason", attempt.reason}});
  Json request = {
      {"schema", kRequestSchema},
      {"kernel",
       {{"name", task.kernel},
        {"short_name", options.short_name},
        {"workgroup", {options.workgroup[0], options.workgroup[1], options.workgroup[2]}},
        {"grid", {options.grid[0], options.grid[1], options.grid[2]}}}},
      {"gpu", task.gpu},
      {"objective", {{"figure", task.objective}, {"direction", "minimize"}}},
      {"constraints",
       {"the kernel keeps its name, its parameters and its launch",
        fmt::format("every byte it writes is compared with the original's ({}), on recorded and on "
                    "other inputs, other sizes among them",
                    task.tolerance),
        task.may_lose_precision ? "fewer digits than the original's are fine within that"
                                : "it computes with no fewer digits than the original",
        "no clock, no host calls, no other files"}},
      {"figures", figures},
      {"profile", options.profile},
      {"hot", options.hot},
      {"sources", sources},
      {"history", history}};
  if (!failed.errors.empty()) {
    request["build_errors"] = failed.errors;
    request["candidate"] = failed.files;
  }
  return request;
}

Status run_loop(Ledger& ledger, const Judge& judge, Provider& provider, const LoopOptions& options,
                const std::function<void(const Attempt&)>& tell) {
  // What was accepted before, where attempts are gone on with.
  Sources sources = ledger.original();
  uint32_t number = 0;
  for (const Attempt& attempt : ledger.attempts()) {
    if (!attempt.accepted()) continue;
    number = attempt.number;
    for (const auto& [name, text] : attempt.files) sources[name] = text;
  }
  Result<Standing> first = judge.stand(sources, ledger.folder_of(number));
  if (!first.ok()) return first.error();
  Standing best = *first;
  if (number != 0)
    if (const Status kept = ledger.keep_best(sources, best.code); !kept.ok()) return kept;
  provider.begin_with(ledger.usage_of_attempts());
  std::string declined;
  number = ledger.attempts().empty() ? 1 : ledger.attempts().back().number + 1;
  std::error_code ignored;
  if (number > 1) std::filesystem::remove_all(ledger.folder_of(number), ignored);  // was killed
  for (; number <= options.attempts && provider.stopped().empty(); ++number) {
    Attempt attempt;
    attempt.number = number;
    Standing standing;
    const Usage before = provider.usage();
    if (!make_attempt(ledger, judge, provider, options, sources, best, attempt, standing)) {
      declined = attempt.reason;
      break;
    }
    attempt.usage = difference(provider.usage(), before);
    if (attempt.step != Step::kFiles && attempt.step != Step::kProvider)
      write_diff(ledger, sources, attempt);
    if (const Status added = ledger.add(attempt); !added.ok()) return added;
    if (tell) tell(attempt);
    if (!attempt.accepted()) continue;
    best = standing;
    for (const auto& [name, text] : attempt.files) sources[name] = text;
    if (const Status kept = ledger.keep_best(sources, best.code); !kept.ok()) return kept;
  }
  return ledger.finish(provider.usage(),
                       provider.stopped().empty() ? declined : provider.stopped());
}

Result<std::vector<std::string>> replay_ledger(const Ledger& ledger, const JudgeOptions& options,
                                               const std::string& build,
                                               const std::string& folder) {
  Task task = ledger.task();
  if (!build.empty()) task.build = build;
  Result<Ledger> copy = Ledger::create(folder, task, ledger.original(), ledger.captures());
  if (!copy.ok()) return copy.error();
  const Judge judge(*copy, options);
  Sources sources = ledger.original();
  Result<Standing> first = judge.stand(sources, copy->folder_of(0));
  if (!first.ok()) return first.error();
  Standing best = *first;
  std::vector<std::string> differences;
  for (const Attempt& recorded : ledger.attempts()) {
    if (recorded.step == Step::kProvider) continue;
    Attempt attempt;
    attempt.number = recorded.number;
    attempt.rationale = recorded.rationale;
    attempt.files = recorded.files;
    Standing standing;
    judge.judge(best, sources, attempt, standing);
    // Not timed here: proved, what was said of its speed stands.
    if (!task.timed.empty() && !options.timer && attempt.accepted() &&
        recorded.step == Step::kSpeed) {
      attempt.step = recorded.step;
      attempt.reason = recorded.reason;
    }
    if (const Status added = copy->add(attempt); !added.ok()) return added.error();
    if (attempt.step != recorded.step)
      differences.push_back(fmt::format("attempt {}: {} instead of {}{}{}", attempt.number,
                                        name_of(attempt.step), name_of(recorded.step),
                                        attempt.reason.empty() ? "" : ": ", attempt.reason));
    if (!attempt.accepted()) continue;
    best = standing;
    for (const auto& [name, text] : attempt.files) sources[name] = text;
  }
  if (const Status finished = copy->finish({}, ""); !finished.ok()) return finished.error();
  return differences;
}

}  // namespace wavetap::optimize
