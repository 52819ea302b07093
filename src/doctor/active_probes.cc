#include "doctor/active_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

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

ProbeResult run_one(const std::string& probe, const std::string& name, const std::string& condition,
                    const ChildOptions& changes) {
  ChildOptions options = changes;
  options.arguments = {probe, "run", name};
  ProbeResult result{name, condition, ProbeOutcome::kSkipped, ""};
  const Result<ChildResult> child = run_child(options);
  if (!child.ok()) {
    result.text = child.error().message;
    return result;
  }
  const nlohmann::json answer = nlohmann::json::parse(child->output, nullptr, false);
  if (child->timed_out && !answer.is_object()) {
    result.outcome = ProbeOutcome::kHung;
    result.text = fmt::format("did not end within {} s", options.limit.count() / 1000);
    return result;
  }
  if (!answer.is_object()) {
    result.outcome = ProbeOutcome::kDied;
    result.text = decode_death(*child);
    return result;
  }
  const std::string outcome = answer.value("outcome", "");
  result.outcome = outcome == "passed"   ? ProbeOutcome::kPassed
                   : outcome == "failed" ? ProbeOutcome::kWrong
                                         : ProbeOutcome::kSkipped;
  result.text = answer.value("text", "");
  if (name == "printf" && result.outcome == ProbeOutcome::kPassed &&
      child->errors.find("a kernel says hello") == std::string::npos) {
    result.outcome = ProbeOutcome::kWrong;
    result.text = "the kernel ran and nothing was printed";
  }
  return result;
}

const ProbeResult* find(const std::vector<ProbeResult>& results, const std::string& name,
                        const std::string& condition = "") {
  const auto found = std::find_if(results.begin(), results.end(), [&](const ProbeResult& r) {
    return r.name == name && r.condition == condition;
  });
  return found == results.end() ? nullptr : &*found;
}

constexpr const char* kNoSdma = "HSA_ENABLE_SDMA=0";
constexpr const char* kNoOverride = "without the override";
constexpr const char* kOverrideVariable = "HSA_OVERRIDE_GFX_VERSION";

bool is_bad(const ProbeResult& result) {
  return result.outcome == ProbeOutcome::kWrong || result.outcome == ProbeOutcome::kDied ||
         result.outcome == ProbeOutcome::kHung;
}

}  // namespace

std::string_view to_string(ProbeOutcome outcome) {
  switch (outcome) {
    case ProbeOutcome::kPassed: return "passed";
    case ProbeOutcome::kWrong: return "wrong";
    case ProbeOutcome::kDied: return "died";
    case ProbeOutcome::kHung: return "hung";
    case ProbeOutcome::kSkipped: return "skipped";
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

ProbeResult run_probe(const std::string& probe, const std::string& name) {
  return run_one(probe, name, "", {});
}

std::vector<ProbeResult> run_probes(const Machine& machine, const std::string& probe) {
  std::vector<ProbeResult> results;
  const auto run = [&](const char* name, const char* condition = "",
                       ChildOptions changes = {}) -> const ProbeResult& {
    results.push_back(run_one(probe, name, condition, changes));
    return results.back();
  };
  if (is_bad(run("init"))) return results;
  run("pools");
  run("copy-engine");
  const bool hangs = run("saxpy").outcome == ProbeOutcome::kHung;
  const auto skip = [&](const char* name, const char* condition = "") {
    results.push_back({name, condition, ProbeOutcome::kSkipped, "not tried: kernels do not end"});
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
      if (hangs && results.back().outcome == ProbeOutcome::kHung) skip(name, kNoOverride);
      else run(name, kNoOverride, changes);
    }
  }
  return results;
}

void judge_probes(const Machine& machine, const std::vector<ProbeResult>& results,
                  Findings& findings) {
  findings.enter_group(kProbeGroup);
  std::vector<const ProbeResult*> explained;
  const auto explain = [&](const ProbeResult* result) { explained.push_back(result); };

  // The copy engine: wrong with it, right without it.
  const ProbeResult *copy = find(results, "copy-engine"),
                    *copy_by_kernel = find(results, "copy-engine", kNoSdma);
  if (copy != nullptr && is_bad(*copy) && copy_by_kernel != nullptr &&
      copy_by_kernel->outcome == ProbeOutcome::kPassed) {
    findings.error("probes.sdma-broken", "the copy engine (SDMA) damages or loses data")
        .saw("probe " + copy->label(), copy->text)
        .saw("probe " + copy_by_kernel->label(), copy_by_kernel->text)
        .because(
            "The same copies done by kernels are right, so memory and kernels are sound and the "
            "engine, its "
            "firmware or the link is not.")
        .set("HSA_ENABLE_SDMA", "0")
        .advise(
            "update the firmware package and the kernel; if it stays, the card or the slot is "
            "faulty");
    // Every other probe moves its data with the same engine.
    for (const ProbeResult& result : results) {
      if (result.outcome == ProbeOutcome::kWrong) explain(&result);
    }
  }

  // Kernels that never end, while copies do.
  const ProbeResult* saxpy = find(results, "saxpy");
  if (saxpy != nullptr && saxpy->outcome == ProbeOutcome::kHung) {
    const bool copies_end = copy != nullptr && copy->outcome == ProbeOutcome::kPassed;
    Finding& hang = findings.error("probes.hang", "kernels are submitted and never end");
    hang.saw("probe saxpy", saxpy->text);
    if (copy != nullptr) hang.saw("probe " + copy->label(), copy->text);
    hang.because(
        copies_end
            ? "Memory and the copy engine work; the compute units or their scheduler do not. Any "
              "program will stand still at its first kernel."
            : "Neither kernels nor copies end: the GPU is hung or was reset under this process.");
    hang.as_root("reboot    # or: echo 1 > /sys/kernel/debug/dri/0/amdgpu_gpu_recover");
    hang.advise("look at the kernel log for ring timeouts; try default clocks and voltages");
    for (const ProbeResult& result : results) {
      if (result.outcome == ProbeOutcome::kHung) explain(&result);
    }
  }

  // The override: bad with it, good without.
  for (const char* name : {"saxpy", "gemm", "conv"}) {
    const ProbeResult *with = find(results, name), *without = find(results, name, kNoOverride);
    if (with == nullptr || without == nullptr || !is_bad(*with) ||
        without->outcome != ProbeOutcome::kPassed)
      continue;
    const std::string* value = machine.variable(kOverrideVariable);
    findings
        .error("probes.override",
               fmt::format("{}={} breaks {}; without it the same probe passes", kOverrideVariable,
                           value != nullptr ? *value : "", name))
        .saw("probe " + with->label(), fmt::format("{}: {}", to_string(with->outcome), with->text))
        .saw("probe " + without->label(), without->text)
        .because(
            "The override makes the runtime load another chip's code, and this chip cannot run all "
            "of it.")
        .unset(kOverrideVariable);
    explain(with);
    break;
  }

  size_t passed = 0;
  std::vector<std::string> skipped;
  for (const ProbeResult& result : results) {
    if (result.outcome == ProbeOutcome::kPassed) ++passed;
    if (result.outcome == ProbeOutcome::kSkipped)
      skipped.push_back(fmt::format("{}: {}", result.label(), result.text));
    if (!is_bad(result) ||
        std::find(explained.begin(), explained.end(), &result) != explained.end())
      continue;
    findings
        .error("probes." + result.name,
               fmt::format("the probe {} {}", result.label(), to_string(result.outcome)))
        .saw("probe " + result.label(), result.text)
        .because("Programs that do the same will fail the same way.")
        .advise("fix what the checks above report first, then probe again");
  }
  if (!skipped.empty()) {
    Finding& finding = findings.unknown(
        "probes.skipped", fmt::format("{} not run", util::count_of(skipped.size(), "probe")));
    for (const std::string& text : skipped) finding.saw("probe", text);
  }
  if (passed != 0)
    findings.ok("probes", fmt::format("{} passed", util::count_of(passed, "probe")))
        .saw("wavetap-probe", "each in a process of its own");
}

}  // namespace wavetap::doctor
