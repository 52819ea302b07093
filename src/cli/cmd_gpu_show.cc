// wavetap gpu show: the figures of one model, as the virtual GPU reports them to ROCm.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <variant>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct Options {
  std::string model;
  bool json = false;
};

// One figure: its key in JSON and model files, a label, the value and its unit. Printed and
// exported from the same list.
struct Figure {
  const char* key;
  const char* label;
  std::variant<uint64_t, std::string, bool> value;
  const char* unit = "";
};

struct Section {
  const char* title;
  std::vector<Figure> figures;
};

std::vector<Section> sections_of(const vgpu::Model& m) {
  return {
      {"Device",
       {{"name", "name", m.marketing_name},
        {"target", "instruction set", amd::to_string(m.target)},
        {"market", "market", m.market},
        {"nodes", "GPUs on the board", uint64_t{m.nodes}},
        {"device_id", "PCI device",
         fmt::format("0x{:04x} revision 0x{:02x}", m.device_id, m.revision)},
        {"pcie", "PCI Express", fmt::format("{}.0 x{}", m.pcie_generation, m.pcie_lanes)}}},
      {"Shader core",
       {{"compute_units", "compute units", uint64_t{m.compute_units}},
        {"simds_per_cu", "SIMDs per CU", uint64_t{m.simds_per_cu}},
        {"waves_per_simd", "waves per SIMD", uint64_t{m.waves_per_simd}},
        {"wave_size", "preferred wave", uint64_t{m.wave_size}, "lanes"},
        {"shader_engines", "shader engines", uint64_t{m.shader_engines}},
        {"shader_arrays_per_engine", "arrays per engine", uint64_t{m.shader_arrays_per_engine}},
        {"xccs", "XCCs", uint64_t{m.xccs}},
        {"engine_clock_mhz", "peak clock", uint64_t{m.engine_clock_mhz}, "MHz"},
        {"lds_kib", "LDS per CU", uint64_t{m.lds_kib}, "KiB"}}},
      {"Caches",
       {{"l1_vector_kib", "vector L1 per CU", uint64_t{m.l1_vector_kib}, "KiB"},
        {"l1_scalar_kib", "scalar L1", uint64_t{m.l1_scalar_kib}, "KiB"},
        {"l1_instruction_kib", "instruction L1", uint64_t{m.l1_instruction_kib}, "KiB"},
        {"gl1_kib", "GL1 per array", uint64_t{m.gl1_kib}, "KiB"},
        {"l2_kib", "L2 per XCC", uint64_t{m.l2_kib}, "KiB"},
        {"l3_kib", "Infinity Cache", uint64_t{m.l3_kib}, "KiB"},
        {"cache_line_bytes", "cache line", uint64_t{m.cache_line_bytes}, "bytes"}}},
      {"Memory",
       {{"vram_bytes", "VRAM", m.vram_bytes, "bytes"},
        {"vram_width_bits", "bus", uint64_t{m.vram_width_bits}, "bits"},
        {"memory_clock_mhz", "memory clock", uint64_t{m.memory_clock_mhz}, "MHz"},
        {"sram_ecc", "SRAM ECC", m.sram_ecc},
        {"xgmi", "xGMI", m.xgmi}}},
      {"Engines",
       {{"compute_queues", "compute queues", uint64_t{m.compute_queues}},
        {"sdma_engines", "SDMA engines", uint64_t{m.sdma_engines}},
        {"sdma_xgmi_engines", "xGMI SDMA engines", uint64_t{m.sdma_xgmi_engines}}}},
  };
}

std::string value_text(const Figure& figure) {
  if (const auto* text = std::get_if<std::string>(&figure.value))
    return util::escape_control(*text);
  if (const auto* flag = std::get_if<bool>(&figure.value)) return *flag ? "yes" : "no";
  const uint64_t number = std::get<uint64_t>(figure.value);
  const std::string_view unit = figure.unit;
  if (unit == "KiB") return number == 0 ? "none" : util::human_bytes(number * 1024);
  if (unit == "bytes" && number >= 1024) return util::human_bytes(number);
  return fmt::format("{}{}{}", number, *figure.unit == '\0' ? "" : " ", figure.unit);
}

int show_gpu(const Options& options) {
  const Result<vgpu::Model> model = find_model(options.model);
  if (!model.ok()) return fail(model.error());
  const std::vector<Section> sections = sections_of(*model);

  if (options.json) {
    nlohmann::json object = {{"model", model->name}};
    for (const Section& section : sections) {
      for (const Figure& figure : section.figures) {
        std::visit([&](const auto& value) { object[figure.key] = value; }, figure.value);
      }
    }
    object["quirks"] = model->quirks;
    fmt::print("{}\n", object.dump(2));
    return kDone;
  }

  const bool colour = util::wants_colour(STDOUT_FILENO);
  fmt::print("{}\n", util::styled(model->name, util::Style::kBold, colour));
  for (const Section& section : sections) {
    fmt::print("\n{}\n", util::styled(section.title, util::Style::kBold, colour));
    for (const Figure& figure : section.figures)
      fmt::print("  {:<20}{}\n", figure.label, value_text(figure));
  }
  if (!model->quirks.empty()) {
    fmt::print("\n{}\n", util::styled("Quirks: this model misreports or misbehaves on purpose",
                                      util::Style::kBold, colour));
    for (const auto& [key, value] : model->quirks)
      fmt::print("  {:<20}{}\n", key, util::escape_control(value));
  }
  return kDone;
}

}  // namespace

void add_gpu_show(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App& command = add_command(parent, "show", "print the figures of a virtual GPU model",
                                  "gpu show MODEL [--json]",
                                  "  wavetap gpu show rx6800xt\n"
                                  "  wavetap gpu show ./my_own.gpu --json\n");
  command.add_option("MODEL", options->model, "a model's name, or the path of a model file")
      ->required();
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = show_gpu(*options); });
}

}  // namespace wavetap::cli
