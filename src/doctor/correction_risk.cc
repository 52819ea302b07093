#include "doctor/correction_risk.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/text.h"

namespace wavetap::doctor {
namespace {

// HIP counts work-group processors, of two compute units each, where the chip has them.
void count_as_hip(bool has_wgps, uint32_t compute_units, const std::string* wgp_mode,
                  TrueFigures& figures) {
  figures.counts_wgps = has_wgps && (wgp_mode == nullptr || *wgp_mode != "0");
  figures.multiprocessors = figures.counts_wgps ? compute_units / 2 : compute_units;
}

}  // namespace

TrueFigures true_figures(const model::Model& device, const std::string* wgp_mode) {
  TrueFigures figures;
  count_as_hip(device.target.major >= 10, device.compute_units, wgp_mode, figures);
  figures.clock_mhz = device.engine_clock_mhz;
  figures.wave_size = device.wave_size;
  figures.lds_bytes = device.lds_kib << 10;
  figures.arch = amd::to_string(device.target);
  return figures;
}

TrueFigures true_figures(const Gpu& gpu, const std::string* wgp_mode) {
  TrueFigures figures;
  count_as_hip(gpu.is_wgp_machine(), gpu.compute_units(), wgp_mode, figures);
  figures.clock_mhz = static_cast<uint32_t>(gpu.property("max_engine_clk_fcompute"));
  figures.wave_size = static_cast<uint32_t>(gpu.property("wave_front_size"));
  figures.lds_bytes = static_cast<uint32_t>(gpu.property("lds_size_in_kb") << 10);
  if (gpu.target) figures.arch = gpu.target_name();
  return figures;
}

std::string correction_risk(const TrueFigures& truth, const std::string& field,
                            const std::string& value) {
  std::string name = field;
  std::replace(name.begin(), name.end(), '_', '-');
  const uint64_t number = util::parse_unsigned(value).value_or(0);
  if (name == "multiprocessors" && truth.multiprocessors != 0 && number > truth.multiprocessors) {
    return fmt::format(
        "{} multiprocessors are more than the {} {} HIP schedules by; occupancy and cooperative "
        "launches computed from it ask for more workgroups than fit, and a cooperative launch of "
        "them fails or never ends",
        number, truth.multiprocessors, truth.counts_wgps ? "WGPs" : "compute units");
  }
  if (name == "wave-size" && truth.wave_size != 0 && number != truth.wave_size) {
    return fmt::format(
        "a wave size of {} where waves have {} lanes: occupancy, ballots and shuffles computed "
        "from it are wrong",
        number, truth.wave_size);
  }
  if (name == "lds-bytes" && truth.lds_bytes != 0 && number > truth.lds_bytes) {
    return fmt::format("{} bytes of LDS where a workgroup has {}: launches that use them fail",
                       number, truth.lds_bytes);
  }
  const std::string arch = value.substr(0, value.find(':'));
  if (name == "arch" && !truth.arch.empty() && arch != truth.arch) {
    return fmt::format(
        "arch {} where the GPU is {}: code chosen by it is not the code that is loaded", arch,
        truth.arch);
  }
  return "";
}

}  // namespace wavetap::doctor
