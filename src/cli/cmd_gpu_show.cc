// wavetap gpu show: the figures of one model, as the virtual GPU reports them to ROCm, and the peaks
// that follow from them.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <variant>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "model/peaks.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct GpuShowOptions {
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

std::vector<Section> sections_of(const model::Model& m) {
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
        {"book_clock_mhz", "clock of the peaks", uint64_t{m.book_clock_mhz()}, "MHz"},
        {"lds_kib", "LDS per CU", uint64_t{m.lds_kib}, "KiB"}}},
      {"Caches",
       {{"l1_vector_kib", "vector L1 per CU", uint64_t{m.l1_vector_kib}, "KiB"},
        {"l1_scalar_kib", "scalar L1", uint64_t{m.l1_scalar_kib}, "KiB"},
        {"l1_instruction_kib", "instruction L1", uint64_t{m.l1_instruction_kib}, "KiB"},
        {"gl1_kib", "GL1 per array", uint64_t{m.gl1_kib}, "KiB"},
        {"l2_kib", "L2 per XCC", uint64_t{m.l2_kib}, "KiB"},
        {"l3_kib", "Infinity Cache", uint64_t{m.l3_kib}, "KiB"},
        {"cache_line_bytes", "cache line", uint64_t{m.cache_line_bytes}, "bytes"},
        {"l1_line_bytes", "vector L1 line", uint64_t{m.vector_line_bytes()}, "bytes"},
        {"l2_channels", "L2 channels", uint64_t{m.l2_channels}, "known"},
        {"l2_ways", "L2 ways", uint64_t{m.l2_ways}, "known"}}},
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
  if (unit == "known") return number == 0 ? "not published" : std::to_string(number);
  if (unit == "KiB") return number == 0 ? "none" : util::human_bytes(number * 1024);
  if (unit == "bytes" && number >= 1024) return util::human_bytes(number);
  return fmt::format("{}{}{}", number, *figure.unit == '\0' ? "" : " ", figure.unit);
}

// "20.9 TFLOP/s"; "-" when nobody says.
std::string rate_text(const model::Figure& figure, const char* unit) {
  if (figure.source == model::Source::kNone) return "-";
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  double value = figure.per_second;
  size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1000;
  return fmt::format("{:.{}f} {}{}/s", value,
                     value < 10    ? 2
                     : value < 100 ? 1
                                   : 0,
                     kPrefixes[prefix], unit);
}

const char* title_of(model::Level level) {
  switch (level) {
    case model::Level::kLds: return "LDS";
    case model::Level::kScalarL1: return "scalar L1";
    case model::Level::kL1: return "vector L1";
    case model::Level::kGl1: return "GL1";
    case model::Level::kL2: return "L2";
    case model::Level::kL3: return "Infinity Cache";
    case model::Level::kVram: return "VRAM";
  }
  return "";
}

std::string title_of(model::Rate rate) {
  return fmt::format("{} {}", model::name_of(rate.pipe), model::name_of(rate.precision));
}

void print_peak(const std::string& title, const model::Ceiling& ceiling, const char* unit) {
  fmt::print("  {:<18}{:<14}{:<14}{}\n", title, rate_text(ceiling.book, unit),
             rate_text(ceiling.measured, unit), ceiling.book.basis);
}

void print_peaks(const model::Model& m, const model::Peaks& peaks, bool colour) {
  const std::string title = m.nodes > 1 ? "Peaks of one GPU of the board" : "Peaks";
  fmt::print("\n{}\n", util::styled(title, util::Style::kBold, colour));
  fmt::print("  {:<18}{:<14}{:<14}{}\n", "", "BOOK", "MEASURED", "THE BOOK VALUE IS");
  for (const model::ComputePeak& peak : peaks.compute)
    print_peak(title_of(peak.rate), peak.ceiling,
               peak.rate.precision == model::Precision::kI8 ? "op" : "FLOP");
  for (const model::MemoryPeak& peak : peaks.memory)
    print_peak(title_of(peak.level), peak.ceiling, "B");
  if (!m.measured_source.empty())
    fmt::print("  measured: {}\n", util::escape_control(m.measured_source));
  if (peaks.latency.empty()) return;
  fmt::print("\n{}\n", util::styled("Latency", util::Style::kBold, colour));
  for (const model::Latency& latency : peaks.latency) {
    const auto [least, most] = latency.cycles;
    const std::string cycles =
        least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
    fmt::print("  {:<20}{} cycles of {} MHz\n", title_of(latency.level), cycles, latency.clock_mhz);
  }
  fmt::print("  measured: {}\n", util::escape_control(m.latency_source));
}

nlohmann::ordered_json json_of(const model::Figure& figure) {
  if (figure.source == model::Source::kNone) return nullptr;
  return {{"per_second", figure.per_second},
          {"source", model::name_of(figure.source)},
          {"basis", figure.basis}};
}

nlohmann::ordered_json json_of(const model::Peaks& peaks) {
  nlohmann::ordered_json object = {{"compute", nlohmann::ordered_json::array()},
                                   {"memory", nlohmann::ordered_json::array()},
                                   {"latency", nlohmann::ordered_json::array()}};
  for (const model::ComputePeak& peak : peaks.compute)
    object["compute"].push_back({{"pipe", model::name_of(peak.rate.pipe)},
                                 {"precision", model::name_of(peak.rate.precision)},
                                 {"book", json_of(peak.ceiling.book)},
                                 {"measured", json_of(peak.ceiling.measured)}});
  for (const model::MemoryPeak& peak : peaks.memory)
    object["memory"].push_back({{"level", model::name_of(peak.level)},
                                {"book", json_of(peak.ceiling.book)},
                                {"measured", json_of(peak.ceiling.measured)}});
  for (const model::Latency& latency : peaks.latency)
    object["latency"].push_back({{"level", model::name_of(latency.level)},
                                 {"cycles_least", latency.cycles.least},
                                 {"cycles_most", latency.cycles.most},
                                 {"clock_mhz", latency.clock_mhz},
                                 {"source", latency.source}});
  return object;
}

int show_gpu(const GpuShowOptions& options) {
  const Result<model::Model> model = find_model(options.model);
  if (!model.ok()) return fail(model.error());
  const std::vector<Section> sections = sections_of(*model);
  const model::Peaks peaks = model::peaks(*model);

  if (options.json) {
    nlohmann::ordered_json object = {{"model", model->name}};
    for (const Section& section : sections) {
      for (const Figure& figure : section.figures) {
        std::visit([&](const auto& value) { object[figure.key] = value; }, figure.value);
      }
    }
    object["peaks"] = json_of(peaks);
    object["quirks"] = model->quirks;
    fmt::print("{}", util::json_text(object));
    return kDone;
  }

  const bool colour = util::wants_colour(STDOUT_FILENO);
  fmt::print("{}\n", util::styled(model->name, util::Style::kBold, colour));
  for (const Section& section : sections) {
    fmt::print("\n{}\n", util::styled(section.title, util::Style::kBold, colour));
    for (const Figure& figure : section.figures)
      fmt::print("  {:<20}{}\n", figure.label, value_text(figure));
  }
  print_peaks(*model, peaks, colour);
  if (!model->quirks.empty()) {
    fmt::print("\n{}\n", util::styled("Quirks: this model misreports or misbehaves on purpose",
                                      util::Style::kBold, colour));
    for (const auto& [key, value] : model->quirks)
      fmt::print("  {:<20}{}\n", key, util::escape_control(value));
  }
  return kDone;
}

}  // namespace

void add_gpu_show(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<GpuShowOptions>();
  Command& command = parent.add_command("show", "print the figures of a virtual GPU model",
                                        "gpu show MODEL [--json]",
                                        "  wavetap gpu show rx6800xt\n"
                                        "  wavetap gpu show ./my_own.gpu --json\n");
  command.add_option("MODEL", options->model, "a model's name, or the path of a model file")
      ->required();
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = show_gpu(*options); });
}

}  // namespace wavetap::cli
