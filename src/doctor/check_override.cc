// Group 8: HSA_OVERRIDE_GFX_VERSION makes the runtime load another chip's code. In one family that
// is fine; across families it is the most common cause of crashes nobody explains.
#include <fmt/format.h>

#include "doctor/finding.h"
#include "doctor/isa_families.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

void cite_files(const Machine& machine, const std::string& variable, Finding& finding) {
  for (const FileSetting* setting : machine.environment.set_in(variable)) {
    finding.saw(setting->where(), setting->name + "=" + setting->value);
  }
}

void judge(const Machine& machine, const Gpu& gpu, const Override& override_, Findings& findings) {
  const std::string setting = override_.variable + "=" + override_.value;
  if (!override_.target) {
    Finding& bad = findings.error("override.malformed", setting + " is not MAJOR.MINOR.STEPPING")
                       .saw("environment", setting)
                       .because("libhsakmt refuses it and then finds no GPU at all.");
    cite_files(machine, override_.variable, bad);
    bad.unset(override_.variable);
    return;
  }
  if (!gpu.target) {
    findings
        .unknown("override.target",
                 "whether the override is safe is not known: the driver does not state the chip's "
                 "target")
        .saw("environment", setting)
        .saw(gpu.properties_path, "no gfx_target_version");
    return;
  }
  const OverrideVerdict verdict = judge_override(*gpu.target, *override_.target);
  const std::string code = amd::to_string(*override_.target);
  switch (verdict.compatibility) {
    case Compatibility::kSame:
      findings.ok("override.same", fmt::format("{} is what node {} is anyway", setting, gpu.node))
          .saw(gpu.properties_path, gpu.target_name());
      return;
    case Compatibility::kSafe:
      findings.ok("override.safe", fmt::format("{} is safe on {}", setting, gpu.target_name()))
          .saw("environment", setting)
          .saw(gpu.properties_path, gpu.target_name())
          .because(verdict.reason + ".");
      return;
    case Compatibility::kPartial: {
      Finding& partial = findings
                             .warning("override.partial", fmt::format("{} is not quite safe on {}",
                                                                      setting, gpu.target_name()))
                             .saw("environment", setting)
                             .saw(gpu.properties_path, gpu.target_name())
                             .because(verdict.reason + ".");
      cite_files(machine, override_.variable, partial);
      partial.unset(override_.variable);
      return;
    }
    case Compatibility::kUnsafe: break;
  }
  Finding& unsafe = findings
                        .error("override.unsafe", fmt::format("{} runs {} code on {} hardware",
                                                              setting, code, gpu.target_name()))
                        .saw("environment", setting)
                        .saw(gpu.properties_path,
                             fmt::format("gfx_target_version {} = {}",
                                         gpu.property("gfx_target_version"), gpu.target_name()))
                        .because(fmt::format("{}. Symptom: {}.", verdict.reason, verdict.symptom));
  cite_files(machine, override_.variable, unsafe);
  unsafe.unset(override_.variable);
  if (!verdict.instead.empty()) unsafe.set(override_.variable, verdict.instead);
  unsafe.advise(fmt::format(
      "use libraries built for {}: hipcc --offload-arch={}, a rocBLAS and PyTorch that carry it",
      gpu.target_name(), gpu.target_name()));
}

}  // namespace

void check_override(const Machine& machine, Findings& findings) {
  bool any = false;
  for (const Gpu& gpu : machine.gpus) {
    const std::optional<Override> found = override_for(machine, gpu);
    if (!found) continue;
    any = true;
    judge(machine, gpu, *found, findings);
  }
  if (any) return;
  // Set for the next login, although not for this process.
  for (const FileSetting& setting : machine.environment.settings) {
    if (!setting.name.starts_with("HSA_OVERRIDE_GFX_VERSION")) continue;
    any = true;
    const auto code = parse_override(setting.value);
    for (const Gpu& gpu : machine.gpus) {
      if (!code || !gpu.target) continue;
      const OverrideVerdict verdict = judge_override(*gpu.target, *code);
      if (verdict.compatibility != Compatibility::kUnsafe) continue;
      findings
          .warning("override.configured",
                   fmt::format("{} sets {}={}, unsafe on {}", setting.path, setting.name,
                               setting.value, gpu.target_name()))
          .saw(setting.where(), setting.name + "=" + setting.value)
          .because(fmt::format("It is not in force here, but new logins get it. {}. Symptom: {}.",
                               verdict.reason, verdict.symptom))
          .as_root(fmt::format("remove line {} of {}", setting.line, setting.path));
    }
  }
  if (!machine.environment.known) {
    findings.unknown("override", "the environment cannot be read")
        .saw("/proc/self/environ", "not there");
  } else if (!any) {
    findings.ok("override", "no override is set").saw("environment", "no HSA_OVERRIDE_GFX_VERSION");
  }
}

}  // namespace wavetap::doctor
