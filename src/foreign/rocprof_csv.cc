// CSV files of rocprofv3 and rocprof-compute. Which one it is, the columns say: names of files differ by
// version and option. Columns that are missing leave their figure at 0; a row that is cut off or holds no
// number where one must be is lost, and counted.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "foreign/csv_table.h"
#include "foreign/recording.h"

namespace wavetap::foreign {
namespace {

// "dir/pass_2/1234_kernel_trace.csv" -> "dir/1234": files of one process, and passes over the same program.
std::string scope_of(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path path(name);
  std::string folder;
  for (const fs::path& part : path.parent_path())
    if (!part.string().starts_with("pass_")) folder = (fs::path(folder) / part).string();
  std::string stem = path.stem().string();
  for (const char* const end :
       {"_kernel_trace", "_counter_collection", "_hip_api_trace", "_hsa_api_trace",
        "_hip_runtime_api_trace", "_hip_compiler_api_trace", "_hsa_core_api_trace",
        "_marker_api_trace", "_rccl_api_trace", "_memory_copy_trace", "_memory_allocation_trace",
        "_scratch_memory_trace", "_agent_info"})
    if (stem.ends_with(end)) stem.resize(stem.size() - std::string_view(end).size());
  // Passes over one program are different processes.
  const bool is_pass = name.find("pass_") != std::string::npos;
  const bool is_number = !stem.empty() && stem.find_first_not_of("0123456789") == std::string::npos;
  return is_pass && is_number ? folder : folder + "/" + stem;
}

// "Agent 4" and "4" are the same agent.
std::string agent_key(std::string_view text) {
  const size_t digits = text.find_first_of("0123456789");
  return std::string(digits == std::string_view::npos ? text : text.substr(digits));
}

class RocprofCsvReader {
 public:
  RocprofCsvReader(const std::string& name, std::string_view text, Recording& to)
      : name_(name), table_(text), to_(to), scope_(scope_of(name)) {}

  Status read() {
    if (table_.names().empty()) return errorf("%s: is empty", name_.c_str());
    ++to_.files;
    if (table_.has("Counter_Name") && table_.has("Counter_Value")) rows(&RocprofCsvReader::counter);
    else if (table_.has("Kernel_Name") && (table_.has("Workgroup_Size_X")))
      rows(&RocprofCsvReader::kernel);
    else if (table_.has("Kernel_Name") && table_.has("Grid_Size")) rows(&RocprofCsvReader::wide);
    else if (table_.has("Function") && table_.has("Start_Timestamp")) rows(&RocprofCsvReader::call);
    else if (table_.has("Direction") || table_.has("Source_Agent_Id"))
      rows(&RocprofCsvReader::copy);
    else if (table_.has("Allocation_Size") && table_.has("Address"))
      rows(&RocprofCsvReader::allocation);
    else if (table_.has("Node_Id") && table_.has("Agent_Type")) rows(&RocprofCsvReader::agent);
    else if (table_.has("gpu_arch")) rows(&RocprofCsvReader::sysinfo);
    else --to_.files;  // a file of another kind: statistics, samples, ceilings
    return {};
  }

 private:
  void rows(void (RocprofCsvReader::*take)()) {
    while (table_.next()) {
      if (!table_.is_whole()) {
        lose(fmt::format("{} fields, the header has {}", table_.fields(), table_.names().size()));
        continue;
      }
      (this->*take)();
    }
  }
  void lose(const std::string& what) {
    to_.lose(name_ + ":" + std::to_string(table_.line()), what);
  }
  int64_t number(std::initializer_list<const char*> names) const {
    return table_.integer(table_.column(names)).value_or(0);
  }
  std::string text(std::initializer_list<const char*> names) const {
    return std::string(table_.text(table_.column(names)));
  }
  // False, and the row is lost, when its times are not numbers or run backwards.
  bool times(int64_t& start, int64_t& end) {
    const auto from = table_.integer(table_.column({"Start_Timestamp", "Start"}));
    const auto to = table_.integer(table_.column({"End_Timestamp", "End"}));
    if (!from || !to || *to < *from) {
      lose("its times are not two numbers in order");
      return false;
    }
    start = *from, end = *to;
    return true;
  }
  std::string gpu() {
    const std::string key = agent_key(table_.text(table_.column({"Agent_Id", "GPU_ID"})));
    to_.gpus[key];
    return key;
  }
  Process& process() {
    Process& process = to_.processes[scope_];
    if (const int64_t pid = number({"Process_Id", "PID"}); pid != 0) process.pid = pid;
    return process;
  }

  void common(Dispatch& d) {
    d.gpu = gpu();
    d.queue = text({"Queue_Id", "Queue_ID"});
    d.tid = number({"Thread_Id"});
    d.correlation = number({"Correlation_Id"});
    d.lds_bytes = number({"LDS_Block_Size", "LDS_Per_Workgroup", "Group_Segment_Size"});
    d.scratch_bytes = number({"Scratch_Size", "Scratch_Per_Workitem", "Private_Segment_Size"});
    d.vgprs = number({"VGPR_Count", "Arch_VGPR"});
    d.agprs = number({"Accum_VGPR_Count", "Accum_VGPR"});
    d.sgprs = number({"SGPR_Count", "SGPR"});
    d.wave_size = number({"wave_size"});
    process();
  }
  void shape_of_one_number(Dispatch& d) {
    if (const int64_t grid = number({"Grid_Size"}); grid > 0 && d.grid[0] == 1) d.grid[0] = grid;
    if (const int64_t group = number({"Workgroup_Size"}); group > 0 && d.workgroup[0] == 1)
      d.workgroup[0] = group;
  }

  void kernel() {
    int64_t start = 0, end = 0;
    if (!times(start, end)) return;
    Dispatch& d = to_.dispatch(scope_, number({"Dispatch_Id"}), text({"Kernel_Name"}));
    common(d);
    d.start = start, d.end = end;
    d.stream = number({"Stream_Id"});
    const char* const grid[] = {"Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"};
    const char* const group[] = {"Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z"};
    for (int axis = 0; axis < 3; ++axis) {
      d.grid[axis] = std::max<int64_t>(number({grid[axis]}), 1);
      d.workgroup[axis] = std::max<int64_t>(number({group[axis]}), 1);
    }
  }

  // One row per counter.
  void counter() {
    const std::optional<double> value = table_.real(table_.column({"Counter_Value"}));
    if (!value) return lose("Counter_Value is not a number");
    Dispatch& d =
        to_.dispatch(scope_, number({"Dispatch_Id", "Dispatch_ID"}), text({"Kernel_Name"}));
    if (d.end == 0) {
      if (!times(d.start, d.end)) return;
      common(d);
      shape_of_one_number(d);
    }
    d.counters[text({"Counter_Name"})] = *value;
  }

  // pmc_perf.csv: a column per counter. Those of single channels, NAME[3], add up to NAME_sum where that is
  // missing.
  void wide() {
    const int64_t number_of = number({"Dispatch_ID", "Dispatch_Id"});
    Dispatch& d = to_.dispatch(scope_, number_of, text({"Kernel_Name"}));
    if (d.end == 0) {
      if (table_.has("Start_Timestamp") && !times(d.start, d.end)) return;
      common(d);
      shape_of_one_number(d);
    }
    static const std::set<std::string> kNoCounters = {"Dispatch_ID",
                                                      "Dispatch_Id",
                                                      "Kernel_Name",
                                                      "GPU_ID",
                                                      "Grid_Size",
                                                      "Workgroup_Size",
                                                      "LDS_Per_Workgroup",
                                                      "Scratch_Per_Workitem",
                                                      "Arch_VGPR",
                                                      "Accum_VGPR",
                                                      "SGPR",
                                                      "wave_size",
                                                      "obj",
                                                      "Start_Timestamp",
                                                      "End_Timestamp",
                                                      "Correlation_ID",
                                                      "Correlation_Id",
                                                      "Kernel_ID",
                                                      "Queue_ID",
                                                      "Queue_Id",
                                                      "PID",
                                                      "TID",
                                                      "Node",
                                                      "GUID"};
    std::map<std::string, double> sums;
    for (size_t i = 0; i < table_.names().size(); ++i) {
      const std::string& name = table_.names()[i];
      if (kNoCounters.contains(name)) continue;
      const std::optional<double> value = table_.real(static_cast<int>(i));
      if (!value) continue;  // not counted in this pass
      if (const size_t bracket = name.find('['); bracket != std::string::npos)
        sums[name.substr(0, bracket) + "_sum"] += *value;
      else d.counters[name] = *value;
    }
    for (const auto& [name, sum] : sums) d.counters.emplace(name, sum);
  }

  void call() {
    Call c;
    if (!times(c.start, c.end)) return;
    c.scope = scope_;
    c.tid = number({"Thread_Id"});
    c.correlation = number({"Correlation_Id"});
    c.name = text({"Function"});
    const std::string domain = text({"Domain"});
    c.is_marker = domain.starts_with("MARKER");
    c.domain = domain.starts_with("HIP") ? "hip" : domain.starts_with("HSA") ? "hsa" : domain;
    process();
    to_.calls.push_back(std::move(c));
  }

  void copy() {
    Copy c;
    if (!times(c.start, c.end)) return;
    c.scope = scope_;
    c.kind = copy_kind(text({"Direction", "Kind"}));
    // Of the two agents the GPU is the one that this end of the copy names.
    const bool to_host = c.kind == "CopyDeviceToHost";
    c.gpu = agent_key(
        table_.text(table_.column({to_host ? "Source_Agent_Id" : "Destination_Agent_Id"})));
    to_.gpus[c.gpu];
    c.correlation = number({"Correlation_Id"});
    c.stream = number({"Stream_Id"});
    to_.processes[scope_];
    to_.copies.push_back(std::move(c));
  }

  void allocation() {
    Allocation a;
    if (!times(a.start, a.end)) return;
    const std::string operation = text({"Operation"});
    if (operation.find("FREE") != std::string::npos) return;
    a.scope = scope_;
    a.gpu = agent_key(text({"Agent_Id"}));
    a.bytes = number({"Allocation_Size"});
    const std::string address = text({"Address"});
    a.address = std::strtoull(address.c_str(), nullptr, 0);
    a.correlation = number({"Correlation_Id"});
    to_.processes[scope_];
    to_.allocations.push_back(std::move(a));
  }

  void agent() {
    if (text({"Agent_Type"}) != "GPU") return;
    Gpu& gpu = to_.gpus[std::to_string(number({"Node_Id"}))];
    gpu.target = text({"Name"});
    gpu.product = text({"Product_Name"});
    gpu.compute_units = number({"Cu_Count"});
    gpu.wave_size = number({"Wave_Front_Size"});
  }

  void sysinfo() {
    Gpu known;
    known.target = text({"gpu_arch"});
    known.product = text({"gpu_model"});
    known.compute_units = number({"cu_per_gpu"});
    known.wave_size = number({"wave_size"});
    if (to_.gpus.empty()) to_.gpus["0"];
    for (auto& [key, gpu] : to_.gpus)
      if (gpu.target.empty()) gpu = known;
  }

  const std::string& name_;
  CsvTable table_;
  Recording& to_;
  const std::string scope_;
};

}  // namespace

Status read_csv(const std::string& name, std::string_view text, Recording& recording) {
  return RocprofCsvReader(name, text, recording).read();
}

}  // namespace wavetap::foreign
