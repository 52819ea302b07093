#include "doctor/active_trials.h"
#include "util/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

struct LastWords {
  const char* text;
  const char* meaning;
};

// What ROCr, HIP and the C library print when a queue or a process dies; the first that occurs is
// the cause.
constexpr LastWords kLastWords[] = {
    {"HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
     "aperture violation (0x29): a wave used an address outside every aperture"},
    {"Memory access fault by GPU", "page fault: a wave used an address that is not mapped"},
    {"HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION",
     "illegal instruction (0x2a): a wave met code this chip does not have"},
    {"HSA_STATUS_ERROR_INVALID_ISA", "invalid ISA (0x100f): code for another chip"},
    {"HSA_STATUS_ERROR_EXCEPTION", "hardware exception (0x1016)"},
    {"HSA_STATUS_ERROR_OUT_OF_RESOURCES", "out of resources (0x1008)"},
    {"HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS", "incompatible arguments (0x100a)"},
    {"hipErrorNoBinaryForGpu", "no code for this GPU"},
};

TrialResult run_one(const std::string& program, const std::string& name,
                    const std::string& condition, const ChildOptions& changes) {
  ChildOptions options = changes;
  options.arguments = {program, "run", name};
  TrialResult result{name, condition, TrialOutcome::kSkipped, ""};
  const Result<ChildResult> child = run_child(options);
  if (!child.ok()) {
    result.text = child.error().message;
    return result;
  }
  const nlohmann::ordered_json answer = util::read_json(child->output);
  if (child->timed_out && !answer.is_object()) {
    result.outcome = TrialOutcome::kHung;
    result.text = fmt::format("did not end within {} s", options.limit.count() / 1000);
    return result;
  }
  if (!answer.is_object()) {
    result.outcome = TrialOutcome::kDied;
    result.text = decode_death(*child);
    return result;
  }
  const std::string outcome = answer.value("outcome", "");
  result.outcome = outcome == "passed"   ? TrialOutcome::kPassed
                   : outcome == "failed" ? TrialOutcome::kWrong
                                         : TrialOutcome::kSkipped;
  result.text = answer.value("text", "");
  if (name == "printf" && result.outcome == TrialOutcome::kPassed &&
      child->errors.find("a kernel says hello") == std::string::npos) {
    result.outcome = TrialOutcome::kWrong;
    result.text = "the kernel ran and nothing was printed";
  }
  return result;
}

const TrialResult* find(const std::vector<TrialResult>& results, const std::string& name,
                        const std::string& condition = "") {
  const auto found = std::find_if(results.begin(), results.end(), [&](const TrialResult& r) {
    return r.name == name && r.condition == condition;
  });
  return found == results.end() ? nullptr : &*found;
}

constexpr const char* kNoSdma = "HSA_ENABLE_SDMA=0";
constexpr const char* kNoOverride = "without the override";
constexpr const char* kOverrideVariable = "HSA_OVERRIDE_GFX_VERSION";

bool is_bad(const TrialResult& result) {
  return result.outcome == TrialOutcome::kWrong || result.outcome == TrialOutcome::kDied ||
         result.outcome == TrialOutcome::kHung;
}

// What the results mean together. Each function explains some of them; what nobody explains is
// reported as it is.
class Judge {
 public:
  Judge(const Machine& machine, const std::vector<TrialResult>& results, Findings& findings)
      : machine_(machine), results_(results), findings_(findings) {}

  void judge_copy_engine();
  void judge_hang();
  void judge_override();
  void report_the_rest();

 private:
  bool is_explained(const TrialResult& result) const {
    return std::find(explained_.begin(), explained_.end(), &result) != explained_.end();
  }
  void explain_all(TrialOutcome outcome) {
    for (const TrialResult& result : results_)
      if (result.outcome == outcome) explained_.push_back(&result);
  }

  const Machine& machine_;
  const std::vector<TrialResult>& results_;
  Findings& findings_;
  std::vector<const TrialResult*> explained_;
};

// Wrong with the copy engine, right without it.
void Judge::judge_copy_engine() {
  const TrialResult *copy = find(results_, "copy-engine"),
                    *copy_by_kernel = find(results_, "copy-engine", kNoSdma);
  if (copy == nullptr || !is_bad(*copy) || copy_by_kernel == nullptr ||
      copy_by_kernel->outcome != TrialOutcome::kPassed)
    return;
  findings_.error("trials.sdma-broken", "the copy engine (SDMA) damages or loses data")
      .saw("trial " + copy->label(), copy->text)
      .saw("trial " + copy_by_kernel->label(), copy_by_kernel->text)
      .because(
          "The same copies done by kernels are right, so memory and kernels are sound and the "
          "engine, its firmware or the link is not.")
      .set("HSA_ENABLE_SDMA", "0")
      .advise(
          "update the firmware package and the kernel; if it stays, the card or the slot is "
          "faulty");
  // Every other trial moves its data with the same engine.
  explain_all(TrialOutcome::kWrong);
}

// Kernels that never end, while copies do.
void Judge::judge_hang() {
  const TrialResult* saxpy = find(results_, "saxpy");
  if (saxpy == nullptr || saxpy->outcome != TrialOutcome::kHung) return;
  const TrialResult* copy = find(results_, "copy-engine");
  const bool copies_end = copy != nullptr && copy->outcome == TrialOutcome::kPassed;
  Finding& hang = findings_.error("trials.hang", "kernels are submitted and never end");
  hang.saw("trial saxpy", saxpy->text);
  if (copy != nullptr) hang.saw("trial " + copy->label(), copy->text);
  hang.because(
      copies_end
          ? "Memory and the copy engine work; the compute units or their scheduler do not. Any "
            "program will stand still at its first kernel."
          : "Neither kernels nor copies end: the GPU is hung or was reset under this process.");
  hang.as_root("reboot    # or: echo 1 > /sys/kernel/debug/dri/0/amdgpu_gpu_recover");
  hang.advise("look at the kernel log for ring timeouts; try default clocks and voltages");
  explain_all(TrialOutcome::kHung);
}

// Bad with the override, good without.
void Judge::judge_override() {
  for (const char* name : {"saxpy", "gemm", "conv"}) {
    const TrialResult *with = find(results_, name), *without = find(results_, name, kNoOverride);
    if (with == nullptr || without == nullptr || !is_bad(*with) ||
        without->outcome != TrialOutcome::kPassed)
      continue;
    const std::string* value = machine_.variable(kOverrideVariable);
    findings_
        .error("trials.override",
               fmt::format("{}={} breaks {}; without it the same trial passes", kOverrideVariable,
                           value != nullptr ? *value : "", name))
        .saw("trial " + with->label(), fmt::format("{}: {}", to_string(with->outcome), with->text))
        .saw("trial " + without->label(), without->text)
        .because(
            "The override makes the runtime load another chip's code, and this chip cannot run all "
            "of it.")
        .unset(kOverrideVariable);
    explained_.push_back(with);
    return;
  }
}

void Judge::report_the_rest() {
  size_t passed = 0;
  std::vector<std::string> skipped;
  for (const TrialResult& result : results_) {
    if (result.outcome == TrialOutcome::kPassed) ++passed;
    if (result.outcome == TrialOutcome::kSkipped)
      skipped.push_back(fmt::format("{}: {}", result.label(), result.text));
    if (!is_bad(result) || is_explained(result)) continue;
    findings_
        .error("trials." + result.name,
               fmt::format("the trial {} {}", result.label(), to_string(result.outcome)))
        .saw("trial " + result.label(), result.text)
        .because("Programs that do the same will fail the same way.")
        .advise("fix what the checks above report first, then try again");
  }
  if (!skipped.empty()) {
    Finding& finding = findings_.unknown(
        "trials.skipped", fmt::format("{} not run", util::count_of(skipped.size(), "trial")));
    for (const std::string& text : skipped) finding.saw("trial", text);
  }
  if (passed != 0)
    findings_.ok("trials", fmt::format("{} passed", util::count_of(passed, "trial")))
        .saw("wavetap-trial", "each in a process of its own");
}

}  // namespace

std::string_view to_string(TrialOutcome outcome) {
  switch (outcome) {
    case TrialOutcome::kPassed: return "passed";
    case TrialOutcome::kWrong: return "wrong";
    case TrialOutcome::kDied: return "died";
    case TrialOutcome::kHung: return "hung";
    case TrialOutcome::kSkipped: return "skipped";
  }
  return "";
}

std::string decode_death(const ChildResult& child) {
  std::string how = child.signal != 0 ? fmt::format("killed by signal {} ({})", child.signal,
                                                    strsignal(child.signal))
                                      : fmt::format("exit status {}", child.exit_status);
  size_t earliest = std::string::npos;
  const LastWords* cause = nullptr;
  for (const LastWords& words : kLastWords) {
    const size_t at = child.errors.find(words.text);
    if (at >= earliest) continue;
    earliest = at;
    cause = &words;
  }
  if (cause == nullptr) {
    const std::vector<std::string> lines = lines_of(child.errors);
    return lines.empty() ? how : fmt::format("{}: {}", how, lines.back());
  }
  // The runtime's own line, for the address or the queue it names.
  const size_t begin = child.errors.rfind('\n', earliest);
  const size_t from = begin == std::string::npos ? 0 : begin + 1;
  const std::string line = child.errors.substr(from, child.errors.find('\n', from) - from);
  return fmt::format("{}; {}; \"{}\"", cause->meaning, how, trimmed(line).substr(0, 160));
}

TrialResult run_trial(const std::string& program, const std::string& name) {
  return run_one(program, name, "", {});
}

std::vector<TrialResult> run_trials(const Machine& machine, const std::string& program) {
  std::vector<TrialResult> results;
  const auto run = [&](const char* name, const char* condition = "",
                       ChildOptions changes = {}) -> const TrialResult& {
    results.push_back(run_one(program, name, condition, changes));
    return results.back();
  };
  if (is_bad(run("init"))) return results;
  run("pools");
  run("copy-engine");
  const bool hangs = run("saxpy").outcome == TrialOutcome::kHung;
  const auto skip = [&](const char* name, const char* condition = "") {
    results.push_back({name, condition, TrialOutcome::kSkipped, "not tried: kernels do not end"});
  };
  ChildOptions no_sdma;
  no_sdma.set = {{"HSA_ENABLE_SDMA", "0"}};
  // Without the copy engine, copies are kernels.
  if (hangs) skip("copy-engine", kNoSdma);
  else run("copy-engine", kNoSdma, no_sdma);
  for (const char* name : {"copy", "copy-on-device", "lds", "atomics", "scratch", "gemm", "conv",
                           "coherence", "printf"}) {
    if (hangs) skip(name);
    else run(name);
  }
  if (machine.variable(kOverrideVariable) != nullptr) {
    ChildOptions changes;
    changes.unset = {kOverrideVariable};
    for (const char* name : {"saxpy", "gemm", "conv"}) {
      if (hangs && results.back().outcome == TrialOutcome::kHung) skip(name, kNoOverride);
      else run(name, kNoOverride, changes);
    }
  }
  return results;
}

void judge_trials(const Machine& machine, const std::vector<TrialResult>& results,
                  Findings& findings) {
  findings.enter_group(kTrialGroup);
  Judge judge(machine, results, findings);
  judge.judge_copy_engine();
  judge.judge_hang();
  judge.judge_override();
  judge.report_the_rest();
}

}  // namespace wavetap::doctor
