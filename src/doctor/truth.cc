#include "doctor/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "doctor/child.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

Layer ask(const std::string& program, const std::string& layer, const char* title) {
  Layer result;
  result.name = title;
  ChildOptions options;
  options.arguments = {program, "truth", layer};
  const Result<ChildResult> child = run_child(options);
  if (!child.ok()) {
    result.error = child.error().message;
    return result;
  }
  if (child->timed_out) {
    result.error = "did not answer within 10 s";
    return result;
  }
  const nlohmann::ordered_json answer = util::read_json(child->output);
  if (!answer.is_object()) {
    result.error = child->signal != 0 ? fmt::format("died of signal {}", child->signal)
                                      : fmt::format("exit status {}", child->exit_status);
    const std::vector<std::string> lines = lines_of(child->errors);
    if (!lines.empty()) result.error += ": " + lines.back();
    return result;
  }
  result.library = answer.value("library", "");
  result.error = answer.value("error", "");
  for (const nlohmann::ordered_json& device :
       answer.value("devices", nlohmann::ordered_json::array())) {
    LayerFigures figures;
    figures.name = device.value("name", "");
    figures.arch = device.value("arch", "");
    figures.multiprocessors = device.value("multiprocessors", uint64_t{0});
    figures.clock_mhz = device.value("clock_mhz", uint64_t{0});
    figures.wave_size = device.value("wave_size", uint64_t{0});
    figures.lds_bytes = device.value("lds_bytes", uint64_t{0});
    figures.vram_bytes = device.value("vram_bytes", uint64_t{0});
    figures.l2_bytes = device.value("l2_bytes", uint64_t{0});
    figures.node = device.value("node", uint64_t{0});
    figures.pci_address = device.value("pci", "");
    result.devices.push_back(std::move(figures));
  }
  return result;
}

// The same GPU in another layer: by PCI address, else by its place when only one is there.
const LayerFigures* find_device(const Layer& layer, const Gpu& gpu, bool only_one) {
  for (const LayerFigures& device : layer.devices) {
    if (device.pci_address == gpu.pci_address) return &device;
  }
  return only_one && layer.devices.size() == 1 ? &layer.devices.front() : nullptr;
}

std::string plain_arch(const std::string& arch) { return arch.substr(0, arch.find(':')); }

void judge_hsa(const Machine& machine, const Gpu& gpu, const Truth& truth, const LayerFigures& hsa,
               Findings& findings) {
  const std::optional<Override> override_ = override_for(machine, gpu);
  const std::string believed =
      override_ && override_->target ? amd::to_string(*override_->target) : gpu.target_name();
  std::vector<std::pair<std::string, std::string>> wrong;
  // When the driver lies, HSA may know better: it is then the driver that the topology check names.
  const bool published =
      gpu.known != nullptr && plain_arch(hsa.arch) == amd::to_string(gpu.known->target);
  if (gpu.target && plain_arch(hsa.arch) != believed && !published)
    wrong.emplace_back("target", fmt::format("{}, the driver says {}", hsa.arch, believed));
  if (hsa.multiprocessors != gpu.compute_units())
    wrong.emplace_back("compute units", fmt::format("{}, the driver says {}", hsa.multiprocessors,
                                                    gpu.compute_units()));
  if (hsa.wave_size != gpu.property("wave_front_size"))
    wrong.emplace_back("wave size", fmt::format("{}, the driver says {}", hsa.wave_size,
                                                gpu.property("wave_front_size")));
  if (wrong.empty()) {
    findings
        .ok("truth.hsa", fmt::format("node {}: HSA agrees with the driver{}", gpu.node,
                                     override_ ? ", override included" : ""))
        .saw(truth.hsa.library, fmt::format("{}, {} CUs", hsa.arch, hsa.multiprocessors));
    return;
  }
  Finding& lie =
      findings.error("truth.hsa", fmt::format("node {}: HSA misreports the GPU", gpu.node));
  for (const auto& [figure, text] : wrong) lie.saw(truth.hsa.library + " " + figure, text);
  lie.because("A library between the program and the driver answers for HSA.")
      .advise("see LD_PRELOAD, HSA_TOOLS_LIB and LD_LIBRARY_PATH in the environment checks");
}

void judge_hip(const Machine& machine, const Gpu& gpu, const Truth& truth, const LayerFigures& hip,
               const LayerFigures* hsa, Findings& findings) {
  const uint64_t units = gpu.compute_units();
  if (gpu.is_wgp_machine() && hip.multiprocessors * 2 == units) {
    findings
        .note("truth.wgp", fmt::format("node {}: HIP's multiProcessorCount is {}, the GPU has {} "
                                       "compute units; both are right",
                                       gpu.node, hip.multiprocessors, units))
        .saw(truth.hip.library + " multiProcessorCount", std::to_string(hip.multiprocessors))
        .saw(gpu.properties_path, fmt::format("{} CUs", units))
        .because(
            "From gfx10 on, two compute units form a work-group processor (WGP), a workgroup may "
            "span both, and HIP counts WGPs. Doubling the number in programs makes occupancy and "
            "cooperative launches ask for more than fits.")
        .set("GPU_ENABLE_WGP_MODE", "0")
        .advise(
            "the variable makes HIP count, and use, compute units; needed only where a program "
            "insists on them");
  } else if (hip.multiprocessors != units) {
    findings
        .error("truth.hip",
               fmt::format("node {}: HIP misreports the number of compute units", gpu.node))
        .saw(truth.hip.library + " multiProcessorCount", std::to_string(hip.multiprocessors))
        .saw(gpu.properties_path, fmt::format("{} CUs", units))
        .because(
            "A library answers in place of HIP, or the driver's figure was changed on the way.")
        .advise("see LD_PRELOAD and LD_LIBRARY_PATH in the environment checks");
  }
  if (hsa != nullptr && plain_arch(hip.arch) != plain_arch(hsa->arch)) {
    findings
        .error("truth.hip",
               fmt::format("node {}: HIP says {}, HSA says {}", gpu.node, hip.arch, hsa->arch))
        .saw(truth.hip.library + " gcnArchName", hip.arch)
        .saw(truth.hsa.library + " agent name", hsa->arch)
        .because("Kernels are chosen by HIP's name and loaded by HSA's.")
        .advise("see LD_PRELOAD and LD_LIBRARY_PATH in the environment checks");
  }
  const bool same =
      hip.multiprocessors == units || (gpu.is_wgp_machine() && hip.multiprocessors * 2 == units);
  if (same)
    findings.ok("truth.hip", fmt::format("node {}: HIP agrees with the driver", gpu.node))
        .saw(truth.hip.library,
             fmt::format("{}, {} multiprocessors", hip.arch, hip.multiprocessors));
}

void judge_cuda(const Gpu& gpu, const Truth& truth, const LayerFigures& cuda,
                const LayerFigures* hip, Findings& findings) {
  std::vector<std::pair<std::string, std::string>> wrong;
  const uint64_t expected = hip != nullptr ? hip->multiprocessors : gpu.compute_units();
  const uint64_t clock = gpu.property("max_engine_clk_fcompute");
  if (cuda.multiprocessors != expected && cuda.multiprocessors != gpu.compute_units()) {
    wrong.emplace_back("MULTIPROCESSOR_COUNT",
                       fmt::format("{}, HIP says {}, the GPU has {} CUs", cuda.multiprocessors,
                                   expected, gpu.compute_units()));
  }
  if (clock != 0 && cuda.clock_mhz != clock)
    wrong.emplace_back("CLOCK_RATE",
                       fmt::format("{} MHz, the driver says {} MHz", cuda.clock_mhz, clock));
  if (cuda.wave_size != gpu.property("wave_front_size"))
    wrong.emplace_back("WARP_SIZE", fmt::format("{}, the GPU has {}", cuda.wave_size,
                                                gpu.property("wave_front_size")));
  wrong.emplace_back("COMPUTE_CAPABILITY", fmt::format("{}, an NVIDIA number; the GPU is {}",
                                                       cuda.arch, gpu.target_name()));
  Finding& layer = findings.warning(
      "truth.cuda",
      fmt::format(
          "node {}: CUDA's entry points are answered by a translation layer that misreports {}",
          gpu.node,
          wrong.size() > 1 ? fmt::format("{} figures", wrong.size()) : "the architecture"));
  layer.saw(truth.cuda.library, cuda.name);
  for (const auto& [figure, text] : wrong) layer.saw(truth.cuda.library + " " + figure, text);
  layer.because(
      "The layer (ZLUDA and its kind) makes these up for programs that expect an NVIDIA GPU. Grid "
      "sizes, tile sizes and kernels chosen by them fit a GPU that is not there.");
  layer.run("wavetap run --correct-device -- CMD    # the true figures, for one program");
}

std::string or_dash(uint64_t value) { return value == 0 ? "-" : std::to_string(value); }

}  // namespace

Truth ask_layers(const std::string& program) {
  return {ask(program, "hsa", "HSA"), ask(program, "hip", "HIP"), ask(program, "cuda", "CUDA")};
}

void judge_truth(const Machine& machine, const Truth& truth, Findings& findings) {
  findings.enter_group(kTruthGroup);
  for (const Layer* layer : {&truth.hsa, &truth.hip}) {
    if (layer->error.empty()) continue;
    // A library that is not installed is no lie; a runtime that does not start is a problem when
    // there is a GPU.
    if (layer->library.empty()) {
      findings.unknown("truth." + layer->name, layer->name + " was not asked")
          .saw(layer->name, layer->error);
    } else {
      // A list of visible devices that hides every GPU has been reported, with what to do.
      const bool hidden = findings.has(Verdict::kError, "environment.hidden");
      findings
          .add(hidden ? Verdict::kNote : Verdict::kError, "truth." + layer->name,
               layer->name +
                   (hidden ? " sees no GPU, as environment.hidden says" : " does not start"))
          .saw(layer->library, layer->error)
          .because("Programs that use it see no GPU.")
          .advise(hidden ? "unset the variable that environment.hidden names"
                         : "WT_LOG=vgpu:debug and AMD_LOG_LEVEL=3 show more");
    }
  }
  const bool only_one = machine.gpus.size() == 1;
  for (const Gpu& gpu : machine.gpus) {
    const LayerFigures* hsa = find_device(truth.hsa, gpu, only_one);
    const LayerFigures* hip = find_device(truth.hip, gpu, only_one);
    const LayerFigures* cuda = find_device(truth.cuda, gpu, only_one);
    if (hsa != nullptr) judge_hsa(machine, gpu, truth, *hsa, findings);
    if (hip != nullptr) judge_hip(machine, gpu, truth, *hip, hsa, findings);
    if (cuda != nullptr) judge_cuda(gpu, truth, *cuda, hip, findings);
  }
}

std::vector<FigureRow> figure_rows(const Machine& machine, const Truth& truth, const Gpu& gpu) {
  const bool only_one = machine.gpus.size() == 1;
  const LayerFigures* hsa = find_device(truth.hsa, gpu, only_one);
  const LayerFigures* hip = find_device(truth.hip, gpu, only_one);
  const LayerFigures* cuda = find_device(truth.cuda, gpu, only_one);
  const model::Model* known = gpu.same_board ? gpu.known : nullptr;
  std::vector<FigureRow> rows;
  const auto row = [&](const char* figure, const std::string& published, const std::string& driver,
                       auto get) {
    const auto of = [&](const LayerFigures* layer) {
      const std::string text = layer == nullptr ? "" : get(*layer);
      return text.empty() ? std::string("-") : text;
    };
    rows.push_back(
        {figure, known != nullptr ? published : "-", driver, of(hsa), of(hip), of(cuda)});
  };
  const model::Model none;
  const model::Model& book = known != nullptr ? *known : none;
  const auto bytes = [](uint64_t value) {
    return value == 0 ? std::string("-") : util::human_bytes(value);
  };
  row("target", amd::to_string(book.target), gpu.target ? gpu.target_name() : "-",
      [](const LayerFigures& f) { return plain_arch(f.arch); });
  row("compute units", std::to_string(book.compute_units), std::to_string(gpu.compute_units()),
      [&](const LayerFigures& f) {
        return gpu.is_wgp_machine() && &f == hip && f.multiprocessors * 2 == gpu.compute_units()
                   ? fmt::format("{} WGPs", f.multiprocessors)
                   : or_dash(f.multiprocessors);
      });
  row("peak clock MHz", std::to_string(book.engine_clock_mhz),
      or_dash(gpu.property("max_engine_clk_fcompute")),
      [](const LayerFigures& f) { return or_dash(f.clock_mhz); });
  row("wave size", std::to_string(book.wave_size), or_dash(gpu.property("wave_front_size")),
      [](const LayerFigures& f) { return or_dash(f.wave_size); });
  row("LDS", bytes(uint64_t{book.lds_kib} << 10), bytes(gpu.property("lds_size_in_kb") << 10),
      [&](const LayerFigures& f) { return bytes(f.lds_bytes); });
  row("VRAM", bytes(book.vram_bytes), bytes(gpu.vram_bytes),
      [&](const LayerFigures& f) { return bytes(f.vram_bytes); });
  row("L2", bytes(uint64_t{book.l2_kib} << 10), bytes(uint64_t{gpu.l2_kib} << 10),
      [&](const LayerFigures& f) { return bytes(f.l2_bytes); });
  row("XCCs", std::to_string(book.xccs), or_dash(gpu.property("num_xcc")),
      [](const LayerFigures&) { return std::string("-"); });
  return rows;
}

std::string truth_table(const Machine& machine, const Truth& truth, size_t columns) {
  std::string out;
  for (const Gpu& gpu : machine.gpus) {
    const bool has_cuda = find_device(truth.cuda, gpu, machine.gpus.size() == 1) != nullptr;
    std::vector<util::Column> titles = {
        {fmt::format("NODE {}", gpu.node)}, {"PUBLISHED"}, {"DRIVER"}, {"HSA"}, {"HIP"}};
    if (has_cuda) titles.push_back({"CUDA"});
    util::Table table(titles);
    for (const FigureRow& row : figure_rows(machine, truth, gpu)) {
      std::vector<std::string> cells = {row.figure, row.published, row.driver, row.hsa, row.hip};
      if (has_cuda) cells.push_back(row.cuda);
      for (std::string& cell : cells) cell = util::escape_control(cell);
      table.add(std::move(cells));
    }
    if (!out.empty()) out += '\n';
    out += table.text(columns);
  }
  return out;
}

}  // namespace wavetap::doctor
