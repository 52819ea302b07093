// Group 13: every variable of ROCm, its libraries and PyTorch, classified: read and ordinary, for
// debugging, dangerous, read by nobody, contradicting another.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "doctor/finding.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

void cite(const Machine& machine, const std::string& name, Finding& finding) {
  for (const FileSetting* setting : machine.environment.set_in(name))
    finding.saw(setting->where(), setting->name + "=" + setting->value);
}

bool is_off(const std::string& value) { return value.empty() || value == "0"; }

// Variables with a value that has its own story.
void judge_value(const Machine& machine, const Variable& variable, Findings& findings) {
  const std::string setting = variable.name + "=" + variable.value;
  if (variable.name == "HSA_XNACK" && !is_off(variable.value)) {
    const bool can = std::any_of(machine.gpus.begin(), machine.gpus.end(), [](const Gpu& gpu) {
      return gpu.target && gpu.target->is_gfx90a_family();
    });
    if (!can && !machine.gpus.empty()) {
      Finding& finding =
          findings
              .warning("environment.no-effect", fmt::format("{} cannot affect {}", setting,
                                                            machine.gpus.front().target_name()))
              .saw("environment", setting)
              .because("Only gfx90a and gfx94x can switch page-fault retry per process.");
      cite(machine, variable.name, finding);
      finding.unset(variable.name);
    }
  }
  if (variable.name == "HSA_FORCE_FINE_GRAIN_PCIE" && !is_off(variable.value)) {
    Finding& finding =
        findings.note("environment.fine-grain", setting + " makes VRAM coherent over PCIe")
            .saw("environment", setting)
            .because(
                "It is often set to force non-coherent memory; it does the opposite, and costs "
                "bandwidth.");
    cite(machine, variable.name, finding);
    finding.unset(variable.name);
  }
}

// The libraries of a list, separated as the loader and ROCr have it.
std::vector<std::string> libraries_in(std::string_view name, std::string value) {
  if (name == "LD_PRELOAD" || name == "HSA_TOOLS_LIB")
    std::replace(value.begin(), value.end(), ' ', ':');
  std::vector<std::string> libraries = util::split(value, ':');
  std::erase(libraries, "");
  return libraries;
}

// `wavetap run` puts its libraries into LD_PRELOAD and, for ROCr, into HSA_TOOLS_LIB as well. That
// is one thing to say, and the note on LD_PRELOAD says it.
bool is_said_of_preload(const Machine& machine, const std::string& library) {
  const std::string name = base_name(library);
  if (name != "libwavetap.so" && name != "libwavetap_gpu.so") return false;
  const std::string* preload = machine.variable("LD_PRELOAD");
  if (preload == nullptr) return false;
  const std::vector<std::string> preloaded = libraries_in("LD_PRELOAD", *preload);
  return std::any_of(preloaded.begin(), preloaded.end(),
                     [&](const std::string& other) { return base_name(other) == name; });
}

// Variables that put a library into every program.
void judge_injected(const Machine& machine, const Variable& variable, Findings& findings) {
  if (variable.name != "HSA_TOOLS_LIB" && variable.name != "LD_PRELOAD" &&
      variable.name != "LD_AUDIT" && variable.name != "ROCP_TOOL_LIBRARIES")
    return;
  std::string setting = variable.name + "=" + variable.value;
  std::vector<std::string> libraries = libraries_in(variable.name, variable.value);
  if (variable.name == "HSA_TOOLS_LIB") {
    const size_t ours = std::erase_if(libraries, [&](const std::string& library) {
      return is_said_of_preload(machine, library);
    });
    if (ours != 0 && libraries.empty()) return;
    if (ours != 0) setting = variable.name + "=" + util::join(libraries, " ");
  }
  Finding& finding = findings
                         .note("environment.injected",
                               fmt::format("{} loads something into every program", variable.name))
                         .saw("environment", setting)
                         .because("What you see may be its doing.");
  cite(machine, variable.name, finding);
  for (const std::string& path : libraries) {
    if (!path.starts_with('/') || machine.root.exists(path)) continue;
    findings
        .warning("environment.missing-tool",
                 fmt::format("{} names {}, which does not exist", variable.name, path))
        .saw("environment", setting)
        .because("The loader complains in every process, and the tool does nothing.")
        .unset(variable.name);
  }
}

// ROCr also takes UUIDs, as rocminfo prints them.
bool is_uuid_of_a_gpu(const Machine& machine, const std::string& entry) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(), [&](const Gpu& gpu) {
    return entry == fmt::format("GPU-{:016x}", gpu.property("unique_id"));
  });
}

// The variables that list visible GPUs. The runtimes read a list up to the first entry that names no
// GPU; what follows is hidden. Set and empty means all to HIP, which also reads CUDA's variable, and
// none to ROCr.
void judge_visible(const Machine& machine, const Variable& variable, Findings& findings) {
  const bool rocr = variable.name == "ROCR_VISIBLE_DEVICES";
  if (!rocr && variable.name != "HIP_VISIBLE_DEVICES" && variable.name != "CUDA_VISIBLE_DEVICES")
    return;
  const std::string setting = variable.name + "=" + variable.value;
  const auto report = [&](Verdict verdict, const std::string& summary, const char* why) {
    Finding& finding = findings.add(verdict, "environment.hidden", summary)
                           .saw("environment", setting)
                           .because(why);
    cite(machine, variable.name, finding);
    finding.unset(variable.name);
  };
  constexpr const char* kNoDevice = "HIP reports no device and programs use the CPU.";
  constexpr const char* kEnds =
      "The list ends at the first entry that names no GPU; what follows is hidden.";
  if (variable.value.empty() && !rocr) {
    report(Verdict::kNote, variable.name + " is empty, which HIP takes for unset",
           "ROCR_VISIBLE_DEVICES= hides every GPU, and other frameworks read this one that way.");
    return;
  }
  if (variable.value.empty() || variable.value.starts_with("-1")) {
    report(Verdict::kError, setting + " hides every GPU", kNoDevice);
    return;
  }
  if (machine.gpus.empty()) return;
  size_t visible = 0;
  for (const std::string& entry : util::split(variable.value, ',')) {
    const auto index = util::parse_unsigned(entry);
    if ((index && *index < machine.gpus.size()) || (rocr && is_uuid_of_a_gpu(machine, entry))) {
      ++visible;
      continue;
    }
    if (entry == "-1") return;  // the usual way to end a list
    const std::string problem =
        index
            ? fmt::format("names GPU {}, and there {} {}", *index,
                          machine.gpus.size() == 1 ? "is" : "are", machine.gpus.size())
            : fmt::format("hides {}: `{}` is {}", visible == 0 ? "every GPU" : "what follows",
                          entry, rocr ? "neither a GPU's index nor its UUID" : "not a GPU's index");
    report(visible == 0 ? Verdict::kError : Verdict::kWarning, setting + " " + problem,
           visible == 0 ? kNoDevice : kEnds);
    return;
  }
}

void judge_kind(const Machine& machine, const Variable& variable, Findings& findings,
                std::vector<std::string>& ordinary) {
  const std::string setting = variable.name + "=" + variable.value;
  const VariableFact* fact = find_variable_fact(variable.name);
  if (fact == nullptr) {
    const std::string near = nearest_variable(variable.name);
    Finding& finding =
        findings.warning("environment.unknown", variable.name + " is read by nothing we know")
            .saw("environment", setting)
            .because("A variable nobody reads has no effect, whatever it promises.");
    cite(machine, variable.name, finding);
    finding.unset(variable.name);
    if (!near.empty()) finding.advise("did you mean " + near + "?");
    return;
  }
  switch (fact->kind) {
    case VariableKind::kInert: {
      Finding& finding = findings.warning("environment.inert", variable.name + " does nothing")
                             .saw("environment", setting)
                             .because(std::string(fact->text) + ".");
      cite(machine, variable.name, finding);
      finding.unset(variable.name);
      return;
    }
    case VariableKind::kDangerous:
      // The override has a check of its own.
      if (variable.name.starts_with("HSA_OVERRIDE_GFX_VERSION")) return;
      {
        Finding& finding =
            findings.warning("environment.dangerous", setting + " can break programs")
                .saw("environment", setting)
                .because(std::string(fact->text) + fmt::format(" (read by {}).", fact->reader));
        cite(machine, variable.name, finding);
        finding.unset(variable.name);
      }
      return;
    case VariableKind::kDebug: {
      if (is_off(variable.value) || variable.name.starts_with("MIOPEN_DEBUG_")) return;
      Finding& finding = findings.note("environment.debug", setting + " is a debugging aid")
                             .saw("environment", setting)
                             .because(fmt::format("{} (read by {}).", fact->text, fact->reader));
      cite(machine, variable.name, finding);
      return;
    }
    case VariableKind::kKnown: ordinary.push_back(variable.name); return;
  }
}

// Pairs that cannot both be meant.
void judge_pairs(const Machine& machine, Findings& findings) {
  const std::string* hip = machine.variable("HIP_VISIBLE_DEVICES");
  const std::string* cuda = machine.variable("CUDA_VISIBLE_DEVICES");
  if (hip != nullptr && cuda != nullptr && *hip != *cuda) {
    findings
        .warning("environment.contradiction",
                 "HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES disagree")
        .saw("environment", "HIP_VISIBLE_DEVICES=" + *hip)
        .saw("environment", "CUDA_VISIBLE_DEVICES=" + *cuda)
        .because("HIP follows the first, frameworks that parse the second count other devices.")
        .unset("CUDA_VISIBLE_DEVICES");
  }
  const std::string* direct = machine.variable("AMD_DIRECT_DISPATCH");
  const std::string* interrupt = machine.variable("HSA_ENABLE_INTERRUPT");
  if (direct != nullptr && *direct == "1" && interrupt != nullptr && *interrupt == "0") {
    findings
        .note("environment.contradiction",
              "direct dispatch waits for interrupts, and HSA_ENABLE_INTERRUPT=0 switches them off")
        .saw("environment", "AMD_DIRECT_DISPATCH=1")
        .saw("environment", "HSA_ENABLE_INTERRUPT=0")
        .because("Every waiting thread spins on a core.")
        .unset("HSA_ENABLE_INTERRUPT");
  }
}

// Set for others, although not for this process.
void judge_files(const Machine& machine, Findings& findings) {
  for (const FileSetting& setting : machine.environment.settings) {
    if (machine.variable(setting.name) != nullptr) continue;
    const VariableFact* fact = find_variable_fact(setting.name);
    if (fact != nullptr && fact->kind != VariableKind::kInert) continue;
    findings
        .warning("environment.configured",
                 fmt::format("{} sets {}, which does nothing", setting.path, setting.name))
        .saw(setting.where(), setting.name + "=" + setting.value)
        .because(fact != nullptr ? std::string(fact->text) + "." : "Nothing we know reads it.")
        .as_root(fmt::format("remove line {} of {}", setting.line, setting.path));
  }
}

}  // namespace

void check_environment(const Machine& machine, Findings& findings) {
  if (!machine.environment.known) {
    findings.unknown("environment", "the environment cannot be read")
        .saw("/proc/self/environ", "not there");
  }
  const size_t mark = findings.all().size();
  std::vector<std::string> ordinary;
  for (const Variable& variable : machine.environment.variables) {
    if (!concerns_rocm(variable.name)) continue;
    judge_kind(machine, variable, findings, ordinary);
    judge_value(machine, variable, findings);
    judge_injected(machine, variable, findings);
    judge_visible(machine, variable, findings);
  }
  judge_pairs(machine, findings);
  judge_files(machine, findings);
  if (machine.environment.known && findings.clean_since(mark)) {
    findings
        .ok("environment", ordinary.empty() ? "no variable that matters is set"
                                            : "ordinary variables: " + util::join(ordinary, " "))
        .saw("/proc/self/environ",
             util::count_of(machine.environment.variables.size(), "variable"));
  }
}

}  // namespace wavetap::doctor
