// wavetap device: the device a program should use, for scripts: `--device $(wavetap device)`.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "doctor/device_choice.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct DeviceOptions {
  bool json = false;
  bool no_cache = false;
};

// $XDG_CACHE_HOME/wavetap/device.json; empty when there is no place for it.
std::string cache_file() {
  const std::string folder = util::cache_folder();
  if (folder.empty()) return "";
  return folder + "/device.json";
}

int tell_device(const DeviceOptions& options) {
  const Result<std::string> program = trial_program();
  if (!program.ok()) return fail(program.error());
  const doctor::Machine machine =
      doctor::read_machine(doctor::Root(), model::sound_models(models_folder()));
  const std::string state = doctor::machine_state(machine, WAVETAP_VERSION);
  const std::string file = options.no_cache ? "" : cache_file();
  doctor::DeviceChoice choice;
  if (file.empty() || !doctor::read_choice(file, state, choice)) {
    choice = doctor::choose_device(machine, *program);
    if (!file.empty()) doctor::write_choice(file, state, choice);
  }
  if (!options.json) {
    fmt::print("{}\n", choice.device);
    return kDone;
  }
  nlohmann::ordered_json document = {{"schema", "wavetap-device"},
                                     {"version", 1},
                                     {"device", choice.device},
                                     {"cached", choice.cached},
                                     {"state", state}};
  document["reasons"] = nlohmann::ordered_json::array();
  for (const std::string& reason : choice.reasons)
    document["reasons"].push_back(util::escape_control(reason));
  fmt::print("{}", util::json_text(document));
  return kDone;
}

}  // namespace

void add_device(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<DeviceOptions>();
  Command& command = parent.add_command("device", "the device a program should use: cuda or cpu",
                                        "device [--json] [--no-cache]",
                                        "  python3 train.py --device $(wavetap device)\n"
                                        "  wavetap device --json\n");
  command.add_flag("--json", options->json, "print JSON with the reasons");
  command.add_flag("--no-cache", options->no_cache,
                   "try the GPU again, although nothing about the machine changed");
  command.callback([options, &invocation] { invocation.exit_code = tell_device(*options); });
}

}  // namespace wavetap::cli
