#include "profile/workload.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "amd/gfx_target.h"
#include "model/peaks.h"
#include "util/csv.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::profile {
namespace {

using json = nlohmann::ordered_json;

// Counters of blocks that exist many times carry their sum under a name of its own.
bool is_summed(const std::string& name) {
  for (const char* const block : {"TCC_", "TCP_", "TA_", "TD_", "GL1C_", "GL2C_"})
    if (name.starts_with(block)) return true;
  return false;
}

// AMD's names are in capitals; wavetap's are not, and `modelled.` ones have a dot.
bool is_amd_name(const std::string& name) {
  return !name.empty() && name[0] >= 'A' && name[0] <= 'Z' && name.find('.') == std::string::npos;
}

std::string column_name(const std::string& name) {
  const bool is_sum = name.ends_with("_sum") || name.find('[') != std::string::npos;
  return is_summed(name) && !is_sum ? name + "_sum" : name;
}

std::string number_text(double value) {
  if (value == std::trunc(value) && std::abs(value) < 9e15)
    return std::to_string(static_cast<int64_t>(value));
  return fmt::format("{}", value);
}

uint64_t items_in(const uint64_t (&extent)[3]) { return extent[0] * extent[1] * extent[2]; }

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

double gigas(const model::Ceiling* ceiling) {
  return ceiling == nullptr ? 0 : ceiling->known_best().per_second / 1e9;
}

}  // namespace

std::string pmc_perf_csv(const std::vector<Sample>& samples, bool with_registers) {
  std::set<std::string> counters;
  for (const Sample& sample : samples)
    for (const auto& [name, value] : sample.counters)
      if (is_amd_name(name)) counters.insert(name);
  std::vector<std::string> head = {"Dispatch_ID",         "Kernel_Name",    "GPU_ID",
                                   "Grid_Size",           "Workgroup_Size", "LDS_Per_Workgroup",
                                   "Scratch_Per_Workitem"};
  if (with_registers) head.insert(head.end(), {"Arch_VGPR", "Accum_VGPR", "SGPR", "wave_size"});
  for (const std::string& name : counters) head.push_back(column_name(name));
  head.insert(head.end(), {"Start_Timestamp", "End_Timestamp"});
  std::string text = util::csv_line(head);
  for (size_t i = 0; i < samples.size(); ++i) {
    const Sample& s = samples[i];
    std::vector<std::string> row = {std::to_string(i),
                                    s.kernel,
                                    std::to_string(s.gpu),
                                    std::to_string(items_in(s.grid)),
                                    std::to_string(items_in(s.workgroup)),
                                    std::to_string(s.lds_bytes),
                                    std::to_string(s.scratch_bytes)};
    if (with_registers)
      for (const uint32_t value : {s.vgprs, s.agprs, s.sgprs, s.wave_size})
        row.push_back(std::to_string(value));
    for (const std::string& name : counters) row.push_back(number_text(s.count(name.c_str())));
    row.push_back(std::to_string(s.start_ns));
    row.push_back(std::to_string(s.end_ns));
    text += util::csv_line(row);
  }
  return text;
}

std::string roofline_csv(const model::Model& model) {
  using model::Level;
  using model::Pipe;
  using model::Precision;
  using model::Rate;
  const model::Peaks peaks = model::peaks(model);
  // The second name of some columns is spelled as AMD's files spell it.
  struct Column {
    const char* name;
    const char* low;
    const char* high;
    double value;
  };
  const Column columns[] = {{"HBMBw", "HBMBwLow", "hbmBwHigh", gigas(peaks.find(Level::kVram))},
                            {"MALLBw", "MALLBwLow", "MALLBwHigh", gigas(peaks.find(Level::kL3))},
                            {"L2Bw", "L2BwLow", "L2BwHigh", gigas(peaks.find(Level::kL2))},
                            {"L1Bw", "L1BwLow", "L1BwHigh", gigas(peaks.find(Level::kL1))},
                            {"LDSBw", "LDSBwLow", "LDSBwHigh", gigas(peaks.find(Level::kLds))},
                            {"FP32Flops", "FP32FlopsLow", "FP32FlopsHigh",
                             gigas(peaks.find(Rate{Pipe::kVector, Precision::kF32}))},
                            {"FP64Flops", "FP64FlopsLow", "FP64FlopsHigh",
                             gigas(peaks.find(Rate{Pipe::kVector, Precision::kF64}))},
                            {"MFMAF8Flops", "MFMAF8FlopsLow", "MFMAF8FlopsHigh",
                             gigas(peaks.find(Rate{Pipe::kMatrix, Precision::kF8}))},
                            {"MFMABF16Flops", "MFMABF16FlopsLow", "MFMABF16FlopsHigh",
                             gigas(peaks.find(Rate{Pipe::kMatrix, Precision::kBf16}))},
                            {"MFMAF16Flops", "MFMAF16FlopsLow", "MFMAF16FlopsHigh",
                             gigas(peaks.find(Rate{Pipe::kMatrix, Precision::kF16}))},
                            {"MFMAF32Flops", "MFMAF32FlopsLow", "MFMAF32FlopsHigh",
                             gigas(peaks.find(Rate{Pipe::kMatrix, Precision::kF32}))},
                            {"MFMAF64Flops", "MFMAF64FlopsLow", "MFMAF64FlopsHigh",
                             gigas(peaks.find(Rate{Pipe::kMatrix, Precision::kF64}))},
                            {"MFMAI8Ops", "MFMAFI8OpsLow", "MFMAI8OpsHigh",
                             gigas(peaks.find(Rate{Pipe::kMatrix, Precision::kI8}))}};
  std::vector<std::string> head = {"device"}, row = {"0"};
  for (const Column& column : columns) {
    head.insert(head.end(), {column.name, column.low, column.high});
    // One figure is known, not an interval: it is its own low and high.
    row.insert(row.end(), 3, fmt::format("{:.2f}", column.value));
  }
  return util::csv_line(head) + util::csv_line(row);
}

std::string sysinfo_csv(const model::Model& model, const std::string& workload,
                        const std::string& command) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  const model::Peaks peaks = model::peaks(model);
  const model::Ceiling* const vram = peaks.find(model::Level::kVram);
  const uint32_t banks = model.target.major == 9 && model.target.minor == 5 ? 64 : 32;
  const uint32_t sqcs =
      (model.compute_units + model.cus_per_scalar_cache - 1) / model.cus_per_scalar_cache;
  const std::pair<const char*, std::string> fields[] = {
      {"workload_name", workload},
      {"command", command},
      {"ip_blocks", "SQ|LDS|SQC|TA|TD|TCP|TCC|roofline"},
      {"timestamp", ""},
      {"version", "2"},
      {"hostname", ""},
      {"cpu_model", ""},
      {"sbios", ""},
      {"linux_distro", ""},
      {"linux_kernel_version", ""},
      {"amd_gpu_kernel_version", ""},
      {"cpu_memory", ""},
      {"gpu_memory", ""},
      {"rocm_version", ""},
      {"vbios", model.vbios},
      {"compute_partition", "NA"},
      {"memory_partition", "NA"},
      {"gpu_model", upper(model.name)},
      {"gpu_arch", amd::to_string(model.target)},
      {"gpu_l1", number(model.l1_vector_kib)},
      {"gpu_l2", number(model.l2_kib)},
      {"cu_per_gpu", number(model.compute_units)},
      {"simd_per_cu", number(model.simds_per_cu)},
      {"se_per_gpu", number(model.shader_engines)},
      {"wave_size", number(model.wave_size)},
      {"workgroup_max_size", "1024"},
      {"max_waves_per_cu", number(uint64_t{model.simds_per_cu} * model.waves_per_simd)},
      {"max_sclk", number(model.engine_clock_mhz)},
      {"max_mclk", number(model.memory_clock_mhz)},
      {"cur_sclk", number(model.engine_clock_mhz)},
      {"cur_mclk", number(model.memory_clock_mhz)},
      {"total_l2_chan", number(uint64_t{model.l2_channels} * model.xccs)},
      {"lds_banks_per_cu", number(banks)},
      {"sqc_per_gpu", number(sqcs)},
      {"pipes_per_gpu", "4"},
      {"hbm_bw", vram == nullptr ? "" : fmt::format("{:.1f}", vram->book.per_second / 1e9)},
      {"num_xcd", number(model.xccs)},
      {"num_memory_channels", number(model.vram_width_bits / 128)}};
  std::vector<std::string> head, row;
  for (const auto& [name, value] : fields) {
    head.emplace_back(name);
    row.push_back(value);
  }
  return util::csv_line(head) + util::csv_line(row);
}

std::vector<Sample> samples_of_lines(const std::string& lines, uint64_t& losses) {
  constexpr int64_t kNsPerTick = 10;
  std::vector<Sample> samples;
  const auto number = [](const json& object, const char* key) -> uint64_t {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  };
  const auto extent = [](const json& object, const char* key, uint64_t(&to)[3]) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array()) return;
    for (size_t i = 0; i < 3 && i < found->size(); ++i)
      if ((*found)[i].is_number_unsigned()) to[i] = (*found)[i].get<uint64_t>();
  };
  for (const std::string& line : util::split(lines, '\n')) {
    if (line.empty()) continue;
    const json object = util::read_json(line);
    if (!object.is_object() || !object.contains("counters")) {
      ++losses;
      continue;
    }
    Sample& sample = samples.emplace_back();
    const auto kernel = object.find("kernel");
    if (kernel != object.end() && kernel->is_string()) sample.kernel = kernel->get<std::string>();
    sample.gpu = static_cast<int32_t>(number(object, "gpu"));
    extent(object, "grid_size", sample.grid);
    extent(object, "workgroup_size", sample.workgroup);
    sample.lds_bytes = number(object, "lds_bytes");
    sample.scratch_bytes = number(object, "scratch_bytes_per_lane");
    sample.start_ns = static_cast<int64_t>(number(object, "begin_ticks")) * kNsPerTick;
    sample.end_ns = static_cast<int64_t>(number(object, "end_ticks")) * kNsPerTick;
    for (const char* const group : {"counters", "amd", "kinds", "amd_modelled"}) {
      const auto found = object.find(group);
      if (found == object.end() || !found->is_object()) continue;
      for (const auto& [name, value] : found->items())
        if (value.is_number()) sample.counters[name] = value.get<double>();
    }
  }
  return samples;
}

}  // namespace wavetap::profile
