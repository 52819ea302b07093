#include "cli/run_environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "cli/known_devices.h"
#include "correct/corrections.h"
#include "doctor/check.h"
#include "doctor/fix.h"
#include "doctor/machine.h"
#include "util/text.h"
#include "vgpu/model.h"

namespace wavetap::cli {
namespace {

void apply_model_environment(const vgpu::Model& model) {
  const std::string setting(model.quirk("lie.environment"));
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) return;
  setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 0);
}

// The machine the program will see: this one, with the virtual GPUs in place of its own.
doctor::Machine machine_with(const std::vector<vgpu::Model>& models) {
  doctor::Machine machine = doctor::read_machine(doctor::Root(), known_devices());
  // What getenv() gives now; /proc/self/environ does not follow setenv().
  for (doctor::Variable& variable : machine.environment.variables) {
    if (const char* value = std::getenv(variable.name.c_str())) variable.value = value;
  }
  if (models.empty()) return machine;
  machine.gpus.clear();
  for (const vgpu::Model& model : models) {
    const std::string setting(model.quirk("lie.environment"));
    const std::string name = setting.substr(0, setting.find('='));
    const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
    if (value != nullptr && machine.variable(name) == nullptr)
      machine.environment.variables.push_back({name, value});
    doctor::Gpu gpu;
    gpu.node = static_cast<uint32_t>(machine.gpus.size() + 1);
    gpu.target = model.target;
    gpu.device_id = model.device_id;
    gpu.properties_path = model.name + ".gpu";
    machine.gpus.push_back(std::move(gpu));
  }
  return machine;
}

void apply_safe_changes(const std::vector<vgpu::Model>& models) {
  const doctor::Machine machine = machine_with(models);
  doctor::Findings findings;
  doctor::run_checks(machine, findings);
  for (const doctor::EnvironmentChange& change : doctor::safe_changes(findings)) {
    if (change.is_unset) {
      unsetenv(change.name.c_str());
      fmt::print(stderr, "wavetap: --safe: {} unset ({})\n", change.name, change.because);
    } else {
      setenv(change.name.c_str(), change.value.c_str(), 1);
      fmt::print(stderr, "wavetap: --safe: {}={} ({})\n", change.name, util::escape_control(change.value),
                 change.because);
    }
  }
}

// The figures the program should see: published ones of the first GPU, then what the user gave. HIP counts
// WGPs from gfx10 on.
struct Figures {
  std::string text;
  uint32_t multiprocessors = 0;
  uint32_t true_multiprocessors = 0;
};

Result<Figures> corrected_figures(const doctor::Machine& machine, const std::string& request) {
  std::vector<std::pair<std::string, std::string>> fields;
  Figures figures;
  const doctor::KnownDevice* known = nullptr;
  for (const doctor::KnownDevice& device : machine.known_devices) {
    if (!machine.gpus.empty() && device.device_id == machine.gpus.front().device_id) known = &device;
  }
  if (known != nullptr) {
    figures.true_multiprocessors =
        known->target.major >= 10 ? known->compute_units / 2 : known->compute_units;
    fields = {{"multiprocessors", std::to_string(figures.true_multiprocessors)},
              {"clock-mhz", std::to_string(known->engine_clock_mhz)},
              {"wave-size", std::to_string(known->wave_size)},
              {"arch", amd::to_string(known->target)}};
  } else if (request.empty()) {
    return errorf(
        "--correct-device: this GPU is not in the device database; give the figures, "
        "--correct-device=multiprocessors=36,clock-mhz=2575");
  }
  if (!request.empty()) {
    // Only what was asked for.
    fields.clear();
    for (const std::string& pair : util::split(request, ',')) {
      const size_t equals = pair.find('=');
      fields.emplace_back(pair.substr(0, equals), equals == std::string::npos ? "" : pair.substr(equals + 1));
    }
  }
  for (const auto& [name, value] : fields) {
    figures.text += (figures.text.empty() ? "" : ",") + name + "=" + value;
    if (name == "multiprocessors")
      figures.multiprocessors = static_cast<uint32_t>(util::parse_unsigned(value).value_or(0));
  }
  correct::Corrections checked;
  if (!correct::parse_corrections(figures.text.c_str(), checked)) {
    return errorf(
        "--correct-device=%s: not FIELD=NUMBER[,…]; fields are multiprocessors, clock-mhz, wave-size, "
        "lds-bytes and arch",
        request.c_str());
  }
  return figures;
}

Status apply_correction(const doctor::Machine& machine, const std::string& request) {
  const Result<Figures> figures = corrected_figures(machine, request);
  if (!figures.ok()) return figures.error();
  const Result<std::string> library = correct_library();
  if (!library.ok()) return library.error();
  setenv(correct::kVariable, figures->text.c_str(), 1);
  const char* present = std::getenv("LD_PRELOAD");
  setenv("LD_PRELOAD", (present != nullptr && *present != '\0' ? *library + ":" + present : *library).c_str(),
         1);
  fmt::print(stderr, "wavetap: --correct-device: the program sees {}, whatever the layers say\n",
             util::escape_control(figures->text));
  if (figures->true_multiprocessors != 0 && figures->multiprocessors > figures->true_multiprocessors) {
    warn(
        errorf("--correct-device: %u multiprocessors are more than the %u workgroup slots HIP schedules by; "
               "occupancy and cooperative "
               "launches computed from it ask for more than fits",
               figures->multiprocessors, figures->true_multiprocessors));
  }
  return {};
}

}  // namespace

Status prepare_environment(const std::vector<std::string>& gpus, const RunEnvironment& wanted) {
  std::vector<vgpu::Model> models;
  for (const std::string& name : util::split(util::join(gpus, ","), ',')) {
    Result<vgpu::Model> model = name.empty() ? Result<vgpu::Model>(Error{}) : find_model(name);
    if (model.ok()) models.push_back(std::move(*model));
  }
  for (const vgpu::Model& model : models) apply_model_environment(model);
  if (wanted.safe) apply_safe_changes(models);
  if (wanted.correct) return apply_correction(machine_with(models), *wanted.correct);
  return {};
}

}  // namespace wavetap::cli
