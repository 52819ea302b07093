#include "tune/results.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tune/tuner.h"
#include "tune/values_json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::tune {
namespace {

using Json = nlohmann::ordered_json;
using proof::Outcome;

double objective_of(const Entry& entry) { return entry.trial.figures.at("objective"); }

Json entry_json(const Entry& entry) {
  Json json = {{"parameters", values_json(entry.values)},
               {"outcome", proof::name_of(entry.trial.outcome)},
               {"figures", entry.trial.figures}};
  if (!entry.trial.reason.empty()) json["reason"] = entry.trial.reason;
  if (entry.trial.code_hash != 0) json["code_hash"] = fmt::format("{:016x}", entry.trial.code_hash);
  return json;
}

std::map<std::string, uint64_t> outcomes_of(const Journal& journal) {
  std::map<std::string, uint64_t> outcomes;
  for (const Entry& entry : journal.entries())
    if (entry.point != kBaselinePoint) ++outcomes[std::string(proof::name_of(entry.trial.outcome))];
  return outcomes;
}

double evaluations_of(const Journal& journal) {
  double sum = 0;
  for (const Entry& entry : journal.entries())
    if (entry.point != kBaselinePoint) sum += entry.part;
  return sum;
}

// Of the best against the baseline, by runs that took turns.
const char* verdict_of(const Findings& findings) {
  const proof::Difference& measured = *findings.measured;
  if (measured.pairs == 0) return "not compared";
  if (!measured.is_lower() && !measured.is_higher()) return "no difference";
  return measured.is_higher() == findings.spec.maximise ? "better" : "worse";
}

// Why the first of them is no good; the journal has it of all.
std::string none_good_text(const Journal& journal) {
  std::string text = "none of them is good; journal.db says why of each\n";
  for (const Entry& entry : journal.entries()) {
    if (entry.point == kBaselinePoint || entry.trial.outcome == Outcome::kGood) continue;
    const size_t begin = entry.trial.reason.find_first_not_of(" \n");
    if (begin == std::string::npos) continue;
    const std::string line =
        entry.trial.reason.substr(begin, entry.trial.reason.find('\n', begin) - begin);
    return text + fmt::format("the first: {}: {}\n", proof::name_of(entry.trial.outcome),
                              util::escape_control(line));
  }
  return text;
}

// Spaces and quotes in values are the shell's words.
std::string shell_word(const std::string& text) {
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "_-+=.,/:@%") == std::string::npos)
    return text;
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return made + "'";
}

}  // namespace

std::string kind_of_objective(const Spec& spec) {
  if (spec.subject == Subject::kMetric) return "measured";
  for (const char* exact : {"instructions", "lines", "vgprs", "sgprs", "lds", "scratch", "spills"})
    if (spec.objective == exact) return "exact";
  return "modelled";
}

std::string objective_text(const Spec& spec, double value) {
  if (spec.objective == "time") return util::human_seconds(value);
  if (value >= 0 && value < 1e15 && value == std::floor(value))
    return util::group_digits(static_cast<uint64_t>(value));
  return fmt::format("{:.6g}", value);
}

double improvement(const Findings& findings) {
  if (findings.best == nullptr || findings.baseline == nullptr ||
      findings.baseline->trial.outcome != Outcome::kGood)
    return 0;
  if (findings.measured && findings.measured->pairs != 0) {
    if (!findings.measured->is_lower() && !findings.measured->is_higher()) return 1;
    return findings.spec.maximise ? findings.measured->ratio : 1 / findings.measured->ratio;
  }
  const double old_value = objective_of(*findings.baseline);
  const double new_value = objective_of(*findings.best);
  const double ratio = findings.spec.maximise ? new_value / old_value : old_value / new_value;
  return std::isfinite(ratio) ? ratio : 0;
}

Json findings_json(const Findings& findings) {
  const Spec& spec = findings.spec;
  Json json = {{"version", 1},
               {"name", spec.name},
               {"strategy", name_of(spec.search.strategy)},
               {"seed", spec.search.seed},
               {"gpu", findings.gpu},
               {"objective",
                {{"figure", spec.objective},
                 {"direction", spec.maximise ? "maximize" : "minimize"},
                 {"kind", kind_of_objective(spec)}}},
               {"search_space_size", findings.space.size()},
               {"combinations", findings.space.combinations()},
               {"evaluated_configs", evaluations_of(findings.journal)},
               {"outcomes", outcomes_of(findings.journal)}};
  json["baseline"] = findings.baseline == nullptr ? Json() : entry_json(*findings.baseline);
  json["best_config"] = Json();
  if (findings.best == nullptr) return json;
  json["best_config"] = entry_json(*findings.best);
  if (const auto time = findings.best->trial.figures.find("time");
      time != findings.best->trial.figures.end())
    json["best_config"]["runtime_ms"] = time->second * 1e3;
  if (const double better = improvement(findings); better > 0) json["improvement"] = better;
  if (findings.measured)
    json["measured"] = {{"ratio", findings.measured->ratio},
                        {"low", findings.measured->low},
                        {"high", findings.measured->high},
                        {"pairs", findings.measured->pairs},
                        {"verdict", verdict_of(findings)}};
  if (!findings.clock.empty()) json["clock"] = findings.clock;
  return json;
}

std::string flags_of(const Values& values) {
  std::string flags;
  for (const auto& [name, value] : values)
    flags += (flags.empty() ? "" : " ") + shell_word("-D" + name + "=" + to_text(value));
  return flags;
}

std::string findings_text(const Findings& findings) {
  const Spec& spec = findings.spec;
  std::string text = fmt::format(
      "{}: {:g} evaluations of {} points, {}: ", spec.name, evaluations_of(findings.journal),
      util::group_digits(findings.space.size()), name_of(spec.search.strategy));
  std::vector<std::string> parts;
  for (const auto& [name, count] : outcomes_of(findings.journal))
    parts.push_back(fmt::format("{} {}", count, name));
  text += util::join(parts, ", ") + "\n";
  if (findings.best == nullptr) return text + none_good_text(findings.journal);
  const Entry& best = *findings.best;
  text += fmt::format("best {} ({}): {}", spec.objective, kind_of_objective(spec),
                      objective_text(spec, objective_of(best)));
  for (const auto& [name, value] : best.values)
    text += fmt::format("  {}={}", name, to_text(value));
  text += "\n";
  if (const double better = improvement(findings); better > 0)
    text += fmt::format(
        "baseline {}: {}\n", objective_text(spec, objective_of(*findings.baseline)),
        better == 1 ? "no difference"
                    : fmt::format("{:.3g} times {}", better, better > 1 ? "better" : "as good"));
  if (findings.measured)
    text += fmt::format("best against baseline, runs taking turns: {}\n",
                        findings.measured->pairs == 0
                            ? "not compared: only numbers above 0 have a ratio"
                            : proof::to_text(*findings.measured));
  if (!findings.clock.empty()) text += fmt::format("clock: {}\n", findings.clock);
  if (spec.subject == Subject::kCapture)
    text += fmt::format("verified: what it writes is what the captured dispatch wrote ({})\n",
                        spec.verify.empty() ? "bit by bit" : spec.verify);
  return text;
}

}  // namespace wavetap::tune
