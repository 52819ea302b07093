#include "tune/evaluate.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "util/file.h"
#include "util/isolated.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/pattern.h"
#include "util/text.h"

namespace wavetap::tune {
namespace {

using proof::Outcome;
using proof::Trial;

constexpr size_t kReasonBytes = 2000;

Trial failed(Outcome outcome, std::string reason) {
  if (reason.size() > kReasonBytes) reason = "…" + reason.substr(reason.size() - kReasonBytes);
  return {outcome, std::move(reason), {}, 0, {}};
}

std::vector<std::pair<std::string, std::string>> environment_of(const Spec& spec,
                                                                const Values& values) {
  std::vector<std::pair<std::string, std::string>> made;
  for (const auto& [name, text] : spec.environment)
    made.emplace_back(name, substitute(text, values));
  return made;
}

Result<std::optional<std::array<uint32_t, 3>>> sizes_of(const std::vector<Expression>& sizes,
                                                        const Values& values) {
  if (sizes.empty()) return std::optional<std::array<uint32_t, 3>>();
  std::array<uint32_t, 3> made = {1, 1, 1};
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const Result<double> size = sizes[axis].number(values);
    if (!size.ok()) return size.error();
    if (!(*size >= 1 && *size <= 4e9) || std::floor(*size) != *size)
      return errorf("launch: %s is %g, not a whole number from 1 on", sizes[axis].text().c_str(),
                    *size);
    made[axis] = static_cast<uint32_t>(*size);
  }
  return std::optional(made);
}

Trial try_capture(const Evaluation& evaluation, const Values& values, double part,
                  const std::string& out) {
  const Spec& spec = evaluation.spec;
  proof::TrialOptions options;
  options.file = spec.full_path(spec.capture);
  options.capture = spec.capture_number;
  options.code = out;
  options.tolerance = spec.tolerance;
  options.tools = spec.tools;
  options.model = evaluation.model;
  options.part = part;
  options.threads = 1;
  if (!out.empty()) {
    const auto workgroup = sizes_of(spec.workgroup, values);
    const auto workgroups = sizes_of(spec.workgroups, values);
    if (!workgroup.ok()) return failed(Outcome::kRefused, workgroup.error().message);
    if (!workgroups.ok()) return failed(Outcome::kRefused, workgroups.error().message);
    options.shape = {*workgroup, *workgroups};
  }
  // Only the replay's time is limited here; when it is over, this process goes (util/isolated.h).
  const auto whole = static_cast<time_t>(spec.run_seconds);
  const itimerval limit{
      {}, {whole, static_cast<suseconds_t>((spec.run_seconds - static_cast<double>(whole)) * 1e6)}};
  setitimer(ITIMER_REAL, &limit, nullptr);
  Trial trial = proof::run_trial(options);
  const itimerval none{};
  setitimer(ITIMER_REAL, &none, nullptr);
  return trial;
}

// The spec's patterns were checked when it was read.
bool is_in(const std::string& pattern, const std::string& text) {
  const Result<util::Pattern> compiled = util::compile_pattern(pattern);
  return compiled.ok() && compiled->is_in(text);
}

// What a program's run says about itself: its status, and its output where a check is asked for.
std::optional<Trial> judge_run(const Spec& spec, const Result<util::ShellResult>& ran) {
  if (!ran.ok()) return failed(Outcome::kCrash, ran.error().message);
  if (ran->timed_out)
    return failed(Outcome::kTimeout, fmt::format("not done after {:g} seconds", spec.run_seconds));
  if (ran->status != 0)
    return failed(ran->status >= 128 ? Outcome::kFault : Outcome::kWrong,
                  fmt::format("exit status {}: {}", ran->status, ran->output));
  if (!spec.output_check.empty() && !is_in(spec.output_check, ran->output))
    return failed(Outcome::kWrong, "its output lacks " + spec.output_check);
  return std::nullopt;
}

// One run; the number, or what went wrong.
struct MetricRun {
  std::optional<Trial> bad;
  double value = 0;
};

MetricRun run_metric(const Evaluation& evaluation, const std::string& command,
                     const util::ShellOptions& shell) {
  const Spec& spec = evaluation.spec;
  std::vector<std::string> words = {"/bin/sh", "-c", command};
  if (!spec.gpu.empty())
    words = {evaluation.wavetap, "run", "--no-trace", "--gpu", spec.gpu, "--",
             "/bin/sh",          "-c",  command};
  const Result<util::ShellResult> ran = util::run_words(words, shell);
  if (std::optional<Trial> bad = judge_run(spec, ran)) return {std::move(bad), 0};
  const Result<util::Pattern> metric = util::compile_pattern(spec.metric);
  const std::optional<std::string> found =
      metric.ok() ? metric->first_group(ran->output) : std::nullopt;
  if (!found) return {failed(Outcome::kWrong, "its output lacks the metric " + spec.metric), 0};
  const std::string& text = *found;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  while (*end == ' ') ++end;
  if (text.empty() || *end != 0 || !std::isfinite(value))
    return {failed(Outcome::kWrong, "its metric is not a number: " + text), 0};
  return {std::nullopt, value};
}

Trial try_metric(const Evaluation& evaluation, const std::string& command,
                 const util::ShellOptions& shell) {
  std::vector<double> found;
  const uint32_t warmups = evaluation.spec.warmups();
  for (uint32_t run = 0; run < warmups + evaluation.spec.runs; ++run) {
    const MetricRun ran = run_metric(evaluation, command, shell);
    if (ran.bad) return *ran.bad;
    if (run >= warmups) found.push_back(ran.value);
  }
  std::sort(found.begin(), found.end());
  Trial trial;
  trial.figures["metric"] = found[found.size() / 2];
  trial.figures["metric_least"] = found.front();
  trial.figures["metric_most"] = found.back();
  return trial;
}

// From profile.json, the program's heaviest kernel that matches.
Trial figures_of(const std::string& path, const Spec& spec) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return failed(Outcome::kCrash, bytes.error().message);
  const nlohmann::ordered_json json = util::read_json(
      std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  Trial trial;
  try {
    const nlohmann::ordered_json& resources = json.at("resources");
    trial.figures = {{"time", json.at("runtime_ms").get<double>() / 1e3},
                     {"bytes", json.at("roofline").at("bytes")},
                     {"vgprs", resources.at("vgpr_per_thread")},
                     {"sgprs", resources.at("sgpr_per_wave")},
                     {"lds", resources.at("lds_bytes")},
                     {"scratch", resources.at("scratch_bytes")},
                     {"spills", resources.at("vgpr_spills")},
                     {"occupancy", json.at("occupancy").at("theoretical")}};
  } catch (const nlohmann::ordered_json::exception&) {
    return failed(Outcome::kCrash, path + ": not a profile");
  }
  if (!trial.figures.contains(spec.objective))
    return failed(Outcome::kCrash, spec.objective + ": only captured dispatches have this figure");
  return trial;
}

Trial try_program(const Evaluation& evaluation, const Values& values, const std::string& out) {
  const Spec& spec = evaluation.spec;
  Values all = values;
  all["out"] = out;
  const std::string command = substitute(spec.program, all);
  const util::ShellOptions shell{spec.folder, environment_of(spec, values), spec.run_seconds};
  if (spec.subject == Subject::kMetric) return try_metric(evaluation, command, shell);
  const std::string folder =
      evaluation.scratch + "/profile." + std::to_string(static_cast<long>(getpid()));
  const Result<util::ShellResult> ran =
      util::run_words({evaluation.wavetap, "profile", "--gpu", spec.gpu, "-k", spec.kernel, "-o",
                       folder, "--", "/bin/sh", "-c", command},
                      shell);
  std::optional<Trial> bad = judge_run(spec, ran);
  Trial trial = bad ? *bad : figures_of(folder + "/profile.json", spec);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return trial;
}

// Names a figure that only a whole run has: of a part, results are not compared.
bool needs_whole_run(const Expression& constraint) {
  for (const std::string& name : constraint.names())
    if (name.starts_with("error_")) return true;
  return false;
}

// Constraints, and the figure that is searched for.
void judge(const Spec& spec, const Values& values, double part, Trial& trial) {
  if (trial.outcome != Outcome::kGood) return;
  Values all = values;
  for (const auto& [name, figure] : trial.figures) all[name] = figure;
  trial.figures["objective"] = trial.figures[spec.objective];
  for (const Expression& constraint : spec.constraints) {
    if (part < 1 && needs_whole_run(constraint)) continue;
    const Result<bool> holds = constraint.holds(all);
    if (holds.ok() && *holds) continue;
    trial.outcome = Outcome::kConstraint;
    trial.reason = holds.ok() ? constraint.text() : holds.error().message;
    for (const std::string& name : constraint.names())
      if (trial.figures.contains(name))
        trial.reason += fmt::format("; {} is {:g}", name, trial.figures[name]);
    return;
  }
}

}  // namespace

Built build(const Spec& spec, const Values& values, const std::string& out) {
  if (spec.build.empty()) return {};
  Values all = values;
  all["out"] = out;
  const Result<util::ShellResult> ran = util::run_shell(
      substitute(spec.build, all), {spec.folder, environment_of(spec, values), spec.build_seconds});
  if (!ran.ok()) return {false, false, ran.error().message};
  if (ran->timed_out) return {false, true, "the build was not done in time"};
  if (ran->status != 0)
    return {false, false, fmt::format("exit status {}: {}", ran->status, ran->output)};
  if (access(out.c_str(), R_OK) != 0)
    return {false, false, "the build made no " + out + ": " + ran->output};
  return {};
}

Trial evaluate(const Evaluation& evaluation, const Values& values, double part,
               const std::string& out, bool is_original) {
  const Spec& spec = evaluation.spec;
  Trial trial;
  if (is_original && spec.subject == Subject::kCapture) {
    trial = try_capture(evaluation, values, part, "");
  } else {
    const Built built = build(spec, values, out);
    if (!built.ok)
      return failed(built.timed_out ? Outcome::kTimeout : Outcome::kBuild, built.output);
    trial = spec.subject == Subject::kCapture ? try_capture(evaluation, values, part, out)
                                              : try_program(evaluation, values, out);
  }
  if (is_original && trial.outcome == Outcome::kGood)
    trial.figures["objective"] = trial.figures[spec.objective];
  else judge(spec, values, part, trial);
  return trial;
}

Result<proof::Difference> compare_metric(const Evaluation& evaluation, const Values& old_values,
                                         const Values& new_values, uint32_t pairs) {
  const Spec& spec = evaluation.spec;
  const Values* sets[2] = {&old_values, &new_values};
  std::string commands[2];
  std::vector<double> found[2];
  for (size_t i = 0; i < 2; ++i) {
    const std::string out = evaluation.scratch + (i == 0 ? "/old.out" : "/new.out");
    const Built built = build(spec, *sets[i], out);
    if (!built.ok) return Error{built.output};
    Values all = *sets[i];
    all["out"] = out;
    commands[i] = substitute(spec.program, all);
  }
  // The first pairs only warm up what is there to be warmed up.
  const uint32_t warmups = spec.warmup.value_or(1);
  for (uint32_t pair = 0; pair < warmups + pairs; ++pair) {
    for (uint32_t turn = 0; turn < 2; ++turn) {
      const size_t i = (pair + turn) % 2;
      const MetricRun ran = run_metric(
          evaluation, commands[i], {spec.folder, environment_of(spec, *sets[i]), spec.run_seconds});
      if (ran.bad) return Error{ran.bad->reason};
      if (pair >= warmups) found[i].push_back(ran.value);
    }
  }
  return proof::compare_pairs(found[0], found[1]);
}

}  // namespace wavetap::tune
