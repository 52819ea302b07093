// wavetap gpu list: the models that come with wavetap, one line each.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct GpuListOptions {
  bool json = false;
};

int list_gpus(const GpuListOptions& options) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  util::Table table({{"MODEL"},
                     {"TARGET"},
                     {"GPUs", util::Align::kRight},
                     {"CUs", util::Align::kRight},
                     {"WAVE", util::Align::kRight},
                     {"MEMORY", util::Align::kRight},
                     {"NAME", util::Align::kLeft, /*may_shrink=*/true}});
  const std::vector<std::string> names = model::list_models(models_folder());
  if (names.empty())
    return fail(errorf("%s: holds no GPU models; reinstall wavetap", models_folder().c_str()));
  for (const std::string& name : names) {
    const Result<model::Model> model = find_model(name);
    if (!model.ok()) return fail(model.error());
    table.add(
        {name, amd::to_string(model->target), std::to_string(model->nodes),
         std::to_string(model->compute_units), std::to_string(model->wave_size),
         util::human_bytes(model->vram_bytes),
         model->quirks.empty() ? model->marketing_name : "misbehaves: " + model->marketing_name});
    array.push_back({{"model", name},
                     {"target", amd::to_string(model->target)},
                     {"nodes", model->nodes},
                     {"compute_units", model->compute_units},
                     {"wave_size", model->wave_size},
                     {"vram_bytes", model->vram_bytes},
                     {"name", model->marketing_name},
                     {"misbehaves", !model->quirks.empty()}});
  }
  if (options.json) {
    fmt::print("{}", util::json_text(array));
  } else {
    fmt::print("{}", table.text(util::output_columns(STDOUT_FILENO)));
  }
  return kDone;
}

}  // namespace

void add_gpu_list(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<GpuListOptions>();
  Command& command = parent.add_command("list", "list the virtual GPU models", "gpu list [--json]",
                                        "  wavetap gpu list\n"
                                        "  wavetap gpu list --json | jq -r '.[].model'\n");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = list_gpus(*options); });
}

}  // namespace wavetap::cli
