// Group 7: the driver's figures for each GPU against the published ones. The driver reads them from
// the chip; a figure that disagrees comes from a layer in between (a mediated or translated
// device), a disabled part, or a board we know by mistake.
#include <fmt/format.h>

#include "doctor/finding.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

// Memory the firmware keeps differs between boards; a real difference is a step of a GiB.
constexpr uint64_t kVramSlackBytes = 1ull << 30;

struct Difference {
  std::string figure;
  std::string driver;
  std::string published;
};

std::vector<Difference> differences(const Gpu& gpu) {
  const model::Model& known = *gpu.known;
  std::vector<Difference> found;
  const auto compare = [&](const char* figure, uint64_t driver, uint64_t published) {
    if (driver != published && published != 0)
      found.push_back({figure, std::to_string(driver), std::to_string(published)});
  };
  if (gpu.target && *gpu.target != known.target)
    found.push_back({"target", gpu.target_name(), amd::to_string(known.target)});
  compare("wave size", gpu.property("wave_front_size"), known.wave_size);
  compare("LDS KiB", gpu.property("lds_size_in_kb"), known.lds_kib);
  if (!gpu.same_board) return found;
  compare("compute units", gpu.compute_units(), known.compute_units);
  if (gpu.properties.contains("num_xcc")) compare("XCCs", gpu.property("num_xcc"), known.xccs);
  // Boards are sold with other peak clocks; a third is more than any of them.
  const uint64_t clock = gpu.property("max_engine_clk_fcompute");
  const uint64_t apart = clock > known.engine_clock_mhz ? clock - known.engine_clock_mhz
                                                        : known.engine_clock_mhz - clock;
  if (clock != 0 && apart * 3 > known.engine_clock_mhz)
    compare("peak clock MHz", clock, known.engine_clock_mhz);
  const uint64_t vram = gpu.vram_bytes;
  const uint64_t vram_apart =
      vram > known.vram_bytes ? vram - known.vram_bytes : known.vram_bytes - vram;
  if (vram != 0 && vram_apart > kVramSlackBytes)
    found.push_back({"VRAM", util::human_bytes(vram), util::human_bytes(known.vram_bytes)});
  return found;
}

std::string firmware(const Gpu& gpu) {
  if (gpu.property("fw_version") == 0) return "";
  return fmt::format("; firmware {}, of SDMA {}", gpu.property("fw_version"),
                     gpu.property("sdma_fw_version"));
}

std::string figures_of(const Gpu& gpu) {
  std::string figures = fmt::format("{} CUs", gpu.compute_units());
  if (gpu.is_wgp_machine()) figures += fmt::format(" in {} WGPs", gpu.compute_units() / 2);
  figures += fmt::format(", wave{}, {} MHz, {} KiB LDS, {}", gpu.property("wave_front_size"),
                         gpu.property("max_engine_clk_fcompute"), gpu.property("lds_size_in_kb"),
                         util::human_bytes(gpu.vram_bytes));
  if (gpu.property("num_xcc") > 1) figures += fmt::format(", {} XCCs", gpu.property("num_xcc"));
  return figures;
}

void report_lie(const Gpu& gpu, const std::vector<Difference>& wrong, Findings& findings) {
  std::vector<std::string> words;
  for (const Difference& difference : wrong) words.push_back(difference.figure);
  Finding& lie = findings.error(
      "topology.figures", fmt::format("node {}: the driver layer misreports {} of {}", gpu.node,
                                      util::join(words, ", "), gpu.known->marketing_name));
  for (const Difference& difference : wrong) {
    lie.saw(fmt::format("{} {}", gpu.properties_path, difference.figure),
            fmt::format("{}, published {}", difference.driver, difference.published));
  }
  lie.saw(gpu.pci_folder + "/device", fmt::format("0x{:04x}", gpu.device_id));
  lie.because(
      "The PCI id says which chip this is, and no such chip has these figures. Something between "
      "hardware and runtime answers instead of the driver: a mediated device, a translation layer, "
      "a patched driver. Occupancy, grid sizes and kernel choice computed from them are wrong.");
  lie.advise(
      "compare with the figures of the other layers; correct a single program with wavetap run "
      "--correct-device -- CMD");
}

void check_gpu(const Gpu& gpu, Findings& findings) {
  if (!gpu.target) {
    findings.unknown("topology.target", fmt::format("node {} has no gfx_target_version", gpu.node))
        .saw(gpu.properties_path, figures_of(gpu))
        .because(
            "Drivers before Linux 5.14 do not state it; the real target is then known to the "
            "runtime only.");
  }
  if (gpu.known == nullptr) {
    findings
        .note("topology.unlisted",
              fmt::format("node {}: {} is not in the device database", gpu.node, gpu.title()))
        .saw(gpu.properties_path, figures_of(gpu))
        .because("Its figures cannot be compared with published ones.");
    return;
  }
  const std::vector<Difference> wrong = differences(gpu);
  if (!wrong.empty()) {
    report_lie(gpu, wrong, findings);
    return;
  }
  findings
      .ok("topology.figures",
          fmt::format("node {}: {}: {}", gpu.node, gpu.title(), figures_of(gpu)))
      .saw(gpu.properties_path, "agrees with the database" + firmware(gpu));
}

}  // namespace

void check_topology(const Machine& machine, Findings& findings) {
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes";
  for (const Gpu& gpu : machine.gpus) check_gpu(gpu, findings);
  if (!machine.gpus.empty()) return;
  if (machine.root.exists("/dev/kfd")) {
    findings.error("topology.gpus", "the driver knows no GPU")
        .saw(nodes, util::count_of(machine.root.list(nodes).size(), "node") + ", none with SIMDs")
        .because("HIP will report no device.")
        .as_root("dmesg | grep -i -e amdgpu -e kfd");
  } else {
    findings.unknown("topology.gpus", "no topology to read").saw(nodes, "not there");
  }
}

}  // namespace wavetap::doctor
