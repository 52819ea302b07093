#include "cli/run_environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "correct/corrections.h"
#include "doctor/correction_risk.h"
#include "doctor/finding.h"
#include "doctor/fix.h"
#include "doctor/machine.h"
#include "model/model.h"
#include "util/text.h"
#include "vgpu/config.h"

namespace wavetap::cli {
namespace {

void apply_model_environment(const model::Model& model) {
  const std::string setting(model.quirk("lie.environment"));
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) return;
  setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 0);
}

// The machine the program will see: this one, with the virtual GPUs in place of its own.
doctor::Machine machine_with(const std::vector<model::Model>& models) {
  doctor::Machine machine =
      doctor::read_machine(doctor::Root(), model::sound_models(models_folder()));
  // What getenv() gives now; /proc/self/environ does not follow setenv().
  for (doctor::Variable& variable : machine.environment.variables) {
    if (const char* value = std::getenv(variable.name.c_str())) variable.value = value;
  }
  if (models.empty()) return machine;
  for (const model::Model& model : models) {
    const std::string setting(model.quirk("lie.environment"));
    const std::string name = setting.substr(0, setting.find('='));
    const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
    if (value != nullptr && machine.variable(name) == nullptr)
      machine.environment.variables.push_back({name, value});
  }
  machine.gpus.clear();
  vgpu::Config config;
  config.models = models;
  for (const vgpu::GpuPlace& place : vgpu::place_gpus(config)) {
    const model::Model& model = models[place.model];
    doctor::Gpu gpu;
    gpu.node = place.node;
    gpu.target = model.target;
    gpu.device_id = model.device_id;
    gpu.revision = model.revision;
    gpu.pci_address = place.pci_address();
    gpu.properties_path = model.name + ".gpu";
    doctor::match_known(machine.known_devices, gpu);
    machine.gpus.push_back(std::move(gpu));
  }
  return machine;
}

void apply_safe_changes(const std::vector<model::Model>& models) {
  const doctor::Machine machine = machine_with(models);
  doctor::Findings findings;
  doctor::run_checks(machine, findings);
  for (const doctor::EnvironmentChange& change : doctor::safe_changes(findings)) {
    if (change.is_unset) {
      unsetenv(change.name.c_str());
      fmt::print(stderr, "wavetap: --safe: {} unset ({})\n", change.name, change.because);
    } else {
      setenv(change.name.c_str(), change.value.c_str(), 1);
      fmt::print(stderr, "wavetap: --safe: {}={} ({})\n", change.name,
                 util::escape_control(change.value), change.because);
    }
  }
}

std::string name_of(const doctor::Gpu& gpu) {
  return gpu.known != nullptr && gpu.same_board
             ? fmt::format("{} ({})", gpu.pci_address, gpu.known->marketing_name)
             : gpu.pci_address;
}

// The published figures, in the words of correct/corrections.h. With an override in force the
// runtime loads the code of another chip, and a program must go on asking for that.
std::string published_figures(const doctor::Machine& machine, const doctor::Gpu& gpu) {
  const doctor::TrueFigures figures =
      doctor::true_figures(*gpu.known, machine.variable("GPU_ENABLE_WGP_MODE"));
  std::string text =
      fmt::format("multiprocessors={},clock-mhz={},wave-size={},lds-bytes={}",
                  figures.multiprocessors, figures.clock_mhz, figures.wave_size, figures.lds_bytes);
  if (!doctor::override_for(machine, gpu)) text += ",arch=" + figures.arch;
  return text;
}

// Warns of figures that break what programs compute from them.
void warn_of_risks(const doctor::Machine& machine, const doctor::Gpu& gpu,
                   const std::string& request) {
  const std::string* mode = machine.variable("GPU_ENABLE_WGP_MODE");
  const doctor::TrueFigures truth = gpu.known != nullptr && gpu.same_board
                                        ? doctor::true_figures(*gpu.known, mode)
                                        : doctor::true_figures(gpu, mode);
  for (const std::string& pair : util::split(request, ',')) {
    const size_t equals = pair.find('=');
    const std::string risk =
        doctor::correction_risk(truth, pair.substr(0, equals), pair.substr(equals + 1));
    if (!risk.empty()) warn(errorf("--correct-device: %s: %s", name_of(gpu).c_str(), risk.c_str()));
  }
}

// WAVETAP_CORRECT for what the user asked for, or for the published figures of every GPU that is
// known.
Result<std::string> corrections_for(const doctor::Machine& machine, const std::string& request) {
  if (!request.empty()) {
    correct::Corrections checked;
    if (!correct::parse_corrections(request.c_str(), checked)) {
      return errorf(
          "--correct-device=%s: not FIELD=NUMBER[,…]; fields are multiprocessors, clock-mhz, "
          "wave-size, "
          "lds-bytes and arch",
          request.c_str());
    }
    fmt::print(stderr, "wavetap: --correct-device: the program sees {}, whatever the layers say\n",
               util::escape_control(request));
    for (const doctor::Gpu& gpu : machine.gpus) warn_of_risks(machine, gpu, request);
    return request;
  }
  std::vector<std::string> sets;
  for (const doctor::Gpu& gpu : machine.gpus) {
    if (gpu.known == nullptr || !gpu.same_board) {
      warn(errorf(
          "--correct-device: %s: not in the device database, left as it is; give its figures: "
          "--correct-device=multiprocessors=36,clock-mhz=2575",
          name_of(gpu).c_str()));
      continue;
    }
    const std::string figures = published_figures(machine, gpu);
    sets.push_back(fmt::format("@{} {}", gpu.pci_address, figures));
    fmt::print(stderr,
               "wavetap: --correct-device: {}: the program sees {}, whatever the layers say\n",
               name_of(gpu), figures);
  }
  if (sets.empty() || sets.size() > correct::CorrectionTable::kMaxSets) {
    return errorf(
        "--correct-device: this machine has %s in the device database; give the figures, "
        "--correct-device=multiprocessors=36,clock-mhz=2575",
        sets.empty() ? "no GPU that is" : "more GPUs than can be told apart");
  }
  return util::join(sets, ";");
}

Result<std::string> apply_correction(const doctor::Machine& machine, const std::string& request) {
  Result<std::string> library = correct_library();
  if (!library.ok()) return library.error();
  const Result<std::string> text = corrections_for(machine, request);
  if (!text.ok()) return text.error();
  setenv(correct::kVariable, text->c_str(), 1);
  return library;
}

}  // namespace

Result<std::string> prepare_environment(const std::vector<std::string>& gpus,
                                        const RunEnvironment& wanted) {
  std::vector<model::Model> models;
  for (const std::string& name : util::split(util::join(gpus, ","), ',')) {
    Result<model::Model> model = name.empty() ? Result<model::Model>(Error{}) : find_model(name);
    if (model.ok()) models.push_back(std::move(*model));
  }
  for (const model::Model& model : models) apply_model_environment(model);
  if (wanted.safe) apply_safe_changes(models);
  if (wanted.correct) return apply_correction(machine_with(models), *wanted.correct);
  return std::string();
}

bool machine_has_gpu() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const fs::directory_entry& node :
       fs::directory_iterator("/sys/class/kfd/kfd/topology/nodes", ignored)) {
    std::ifstream properties(node.path() / "properties");
    std::string name;
    for (uint64_t value = 0; properties >> name >> value;)
      if (name == "simd_count" && value != 0) return true;
  }
  return false;
}

}  // namespace wavetap::cli
