#include "doctor/device_choice.h"

#include <fmt/format.h>

#include <cstdint>

#include "doctor/active_trials.h"
#include "doctor/finding.h"
#include "doctor/rocm_libraries.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

constexpr int kChoiceVersion = 1;

// FNV-1a: the state only has to differ when the machine does.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::string machine_state(const Machine& machine, const std::string& program_version) {
  const Root& root = machine.root;
  std::string text = program_version;
  for (const char* path : {"/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/osrelease",
                           "/sys/module/amdgpu/version"}) {
    text += "\n" + root.line(path).value_or("-");
  }
  text += fmt::format("\n{} {}", machine.identity.uid, machine.identity.gids.size());
  for (const Gpu& gpu : machine.gpus)
    text += fmt::format("\n{} {} {}", gpu.node, gpu.gpu_id, gpu.target_name());
  for (const Variable& variable : machine.environment.variables) {
    if (concerns_rocm(variable.name)) text += "\n" + variable.name + "=" + variable.value;
  }
  for (const SearchFolder& folder : search_folders(machine)) {
    for (const FoundLibrary& library :
         libraries_in(root, folder.path, {"libamdhip64", "libhsa-runtime64"})) {
      text += fmt::format("\n{} {}", library.path, library.elf.build_id);
    }
  }
  return fmt::format("{:016x}", hash_of(text));
}

DeviceChoice choose_device(const Machine& machine, const std::string& program) {
  DeviceChoice choice{"cpu", {}, false};
  if (machine.gpus.empty()) {
    choice.reasons.push_back(machine.root.exists("/dev/kfd") ? "the driver knows no GPU"
                                                             : "/dev/kfd does not exist");
    return choice;
  }
  Findings findings;
  check_device_nodes(machine, findings);
  check_override(machine, findings);
  for (const Finding& finding : findings.all()) {
    if (finding.verdict == Verdict::kError) choice.reasons.push_back(finding.summary);
  }
  // A bad override may still run simple kernels, so what the check says decides as well.
  if (!choice.reasons.empty()) return choice;
  for (const char* name : {"copy", "saxpy"}) {
    const TrialResult result = run_trial(program, name);
    choice.reasons.push_back(
        fmt::format("trial {}: {}: {}", name, to_string(result.outcome), result.text));
    if (result.outcome != TrialOutcome::kPassed) return choice;
  }
  choice.device = "cuda";
  return choice;
}

bool read_choice(const std::string& file, const std::string& state, DeviceChoice& choice) {
  const Result<std::vector<std::byte>> bytes = util::read_file(file);
  if (!bytes.ok()) return false;
  const auto* text = reinterpret_cast<const char*>(bytes->data());
  const nlohmann::ordered_json kept = util::read_json({text, bytes->size()});
  if (!kept.is_object() || kept.value("version", 0) != kChoiceVersion ||
      kept.value("state", "") != state)
    return false;
  const std::string device = kept.value("device", "");
  if (device != "cuda" && device != "cpu") return false;
  choice = {device, {}, true};
  for (const nlohmann::ordered_json& reason :
       kept.value("reasons", nlohmann::ordered_json::array())) {
    if (reason.is_string()) choice.reasons.push_back(reason.get<std::string>());
  }
  return true;
}

void write_choice(const std::string& file, const std::string& state, const DeviceChoice& choice) {
  const nlohmann::ordered_json kept = {{"version", kChoiceVersion},
                                       {"state", state},
                                       {"device", choice.device},
                                       {"reasons", choice.reasons}};
  (void)util::write_file(
      file, kept.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n")
      .ok();
}

}  // namespace wavetap::doctor
