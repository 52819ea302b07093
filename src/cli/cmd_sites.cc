// wavetap sites: what wavetap-hipcc has put beside the kernels of a program, and what the twins need.
#include "cli/cmd_sites.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "cli/install_tree.h"
#include "format/probe_ring.h"
#include "inspect/pass_sites.h"
#include "model/occupancy.h"
#include "replay/device_file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct SitesOptions {
  std::string binary;
  std::string gpu;
  bool json = false;
};

// A kernel and its twin.
struct Pair {
  const codeobj::CodeObject* object;
  const codeobj::Kernel* original;
  const codeobj::Kernel* twin;
  format::SiteKernel sites;
  std::optional<model::Model> model;  // by which waves are counted
};

std::optional<uint32_t> waves_of(const Pair& pair, const codeobj::Kernel& kernel) {
  if (!pair.model) return std::nullopt;
  const uint32_t items =
      kernel.max_workgroup_size == 0 ? 256 : std::min(kernel.max_workgroup_size, 256u);
  return model::occupancy(*pair.model, {.wave64 = kernel.wave64(pair.object->target()),
                                        .vgprs = kernel.vgpr_count,
                                        .sgprs = kernel.sgpr_count,
                                        .lds_bytes = static_cast<uint32_t>(kernel.lds_bytes),
                                        .work_items = items})
      .waves_per_simd;
}

std::string change(uint64_t before, uint64_t after) {
  return before == after ? std::to_string(before) : fmt::format("{} -> {}", before, after);
}

std::string waves_text(const Pair& pair) {
  const auto before = waves_of(pair, *pair.original), after = waves_of(pair, *pair.twin);
  return before && after ? change(*before, *after) : "-";
}

void print_table(const std::vector<Pair>& pairs) {
  util::Table table({{"KERNEL", util::Align::kLeft, /*may_shrink=*/true},
                     {"TARGET"},
                     {"WAVE", util::Align::kRight},
                     {"SITES", util::Align::kRight},
                     {"VGPRs", util::Align::kRight},
                     {"SGPRs", util::Align::kRight},
                     {"SCRATCH", util::Align::kRight},
                     {"WAVES/SIMD", util::Align::kRight}});
  for (const Pair& pair : pairs)
    table.add({util::escape_control(codeobj::demangle(pair.original->name)),
               pair.object->target_id(), std::to_string(pair.sites.wave_size),
               std::to_string(pair.sites.sites.size()),
               change(pair.original->vgpr_count, pair.twin->vgpr_count),
               change(pair.original->sgpr_count, pair.twin->sgpr_count),
               change(pair.original->scratch_bytes, pair.twin->scratch_bytes), waves_text(pair)});
  fmt::print("{}", table.text(util::output_columns(STDOUT_FILENO)));
  for (const Pair& pair : pairs)
    for (const std::string& unseen : pair.sites.unseen)
      fmt::print("{} ({}): not seen: {}\n",
                 util::escape_control(codeobj::demangle(pair.original->name)),
                 pair.object->target_id(), util::escape_control(unseen));
}

nlohmann::ordered_json needs_json(const Pair& pair, const codeobj::Kernel& kernel) {
  nlohmann::ordered_json needs = {{"vgprs", kernel.vgpr_count},
                                  {"sgprs", kernel.sgpr_count},
                                  {"lds_bytes", kernel.lds_bytes},
                                  {"scratch_bytes", kernel.scratch_bytes}};
  if (const auto waves = waves_of(pair, kernel)) needs["waves_per_simd"] = *waves;
  return needs;
}

void print_json(const std::vector<Pair>& pairs) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Pair& pair : pairs) {
    nlohmann::ordered_json sites = nlohmann::ordered_json::array();
    for (const format::Site& site : pair.sites.sites) {
      nlohmann::ordered_json row = {
          {"kind", static_cast<int>(site.kind)}, {"bytes", site.bytes}, {"type", site.type}};
      if (!site.frames.empty())
        row["source"] = fmt::format("{}:{}", site.frames[0].file, site.frames[0].line);
      sites.push_back(std::move(row));
    }
    rows.push_back({{"kernel", codeobj::demangle(pair.original->name)},
                    {"symbol", pair.original->name},
                    {"target", pair.object->target_id()},
                    {"wave_size", pair.sites.wave_size},
                    {"original", needs_json(pair, *pair.original)},
                    {"twin", needs_json(pair, *pair.twin)},
                    {"unseen", pair.sites.unseen},
                    {"sites", std::move(sites)}});
  }
  const nlohmann::ordered_json document = {{"version", 1}, {"kernels", std::move(rows)}};
  fmt::print("{}", util::json_text(document));
}

std::optional<model::Model> model_for(const SitesOptions& options, amd::GfxTarget target) {
  if (!options.gpu.empty()) {
    const Result<model::Model> named = find_model(options.gpu);
    return named.ok() ? std::optional(*named) : std::nullopt;
  }
  for (const model::Model& known : model::sound_models(models_folder()))
    if (known.target == target) return known;
  return std::nullopt;
}

int sites(const SitesOptions& options) {
  if (!options.gpu.empty())
    if (const Result<model::Model> named = find_model(options.gpu); !named.ok())
      return fail(named.error());
  const auto file = replay::open_device_file(options.binary);
  if (!file.ok()) return fail(file.error());
  std::vector<Pair> pairs;
  for (const codeobj::CodeObject& object : (*file)->objects) {
    if (object.elf().section(format::kSiteSection) == nullptr) continue;
    const auto tables = inspect::read_sites(object.elf().file());
    if (!tables.ok())
      return fail(errorf("%s: %s: %s", options.binary.c_str(), object.target_id().c_str(),
                         tables.error().message.c_str()));
    for (const auto& [name, kernel] : *tables) {
      const codeobj::Kernel* const original = object.find_kernel(name);
      const codeobj::Kernel* const twin = object.find_kernel(name + format::kTwinSuffix);
      if (original != nullptr && twin != nullptr)
        pairs.push_back({&object, original, twin, kernel, model_for(options, object.target())});
    }
  }
  if (pairs.empty())
    return fail(errorf("%s: has no instrumented kernels; compile it with wavetap-hipcc",
                       options.binary.c_str()),
                kIncomplete);
  if (options.json) print_json(pairs);
  else print_table(pairs);
  return kDone;
}

}  // namespace

void add_sites(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<SitesOptions>();
  Command& command = parent.add_command(
      "sites",
      "instrumented kernels of a program: registers and waves of each beside those of its twin; exit status 2 if "
      "there are none",
      "sites BINARY [--gpu MODEL] [--json]",
      "  wavetap-hipcc -O2 saxpy.hip -o saxpy && wavetap sites saxpy\n");
  command.add_option("BINARY", options->binary, "a HIP program, a library or a code object")
      ->required();
  command
      .add_option("--gpu", options->gpu,
                  "count waves for this GPU (the first model that runs the code)")
      ->type_name("MODEL");
  command.add_flag("--json", options->json, "print JSON, with every site");
  command.callback([options, &invocation] { invocation.exit_code = sites(*options); });
}

}  // namespace wavetap::cli
