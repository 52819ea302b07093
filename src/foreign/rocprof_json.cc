// rocprofv3's JSON (--output-format json): one object per process under "rocprofiler-sdk-tool".
#include <map>
#include <set>

#include "foreign/recording.h"
#include "util/json.h"
#include "util/json_library.h"

namespace wavetap::foreign {
namespace {

using json = nlohmann::ordered_json;

const json& part(const json& object, const char* key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

int64_t number(const json& value) {
  if (value.is_number_unsigned()) return static_cast<int64_t>(value.get<uint64_t>());
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) {
    const double real = value.get<double>();
    return real >= -9.2e18 && real <= 9.2e18 ? static_cast<int64_t>(real) : 0;
  }
  return 0;
}
int64_t number(const json& object, const char* key) { return number(part(object, key)); }
// Handles are {"handle": n}.
int64_t handle(const json& object, const char* key) {
  const json& value = part(object, key);
  return value.is_object() ? number(value, "handle") : number(value);
}
std::string text(const json& object, const char* key) {
  const json& value = part(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

class RocprofJsonReader {
 public:
  RocprofJsonReader(const std::string& name, const json& tool, size_t index, Recording& to)
      : where_(name + ": process " + std::to_string(index)),
        scope_(name + "#" + std::to_string(index)),
        tool_(tool),
        to_(to) {}

  void read() {
    Process& process = to_.processes[scope_];
    const json& metadata = part(tool_, "metadata");
    process.pid = number(metadata, "pid");
    for (const json& word : part(metadata, "command"))
      if (word.is_string())
        process.command += (process.command.empty() ? "" : " ") + word.get<std::string>();
    agents();
    for (const json& symbol : part(tool_, "kernel_symbols"))
      kernels_[number(symbol, "kernel_id")] = &symbol;
    for (const json& counter : part(tool_, "counters"))
      counters_[handle(counter, "id")] = text(counter, "name");
    const json& records = part(tool_, "buffer_records");
    each(part(records, "kernel_dispatch"), &RocprofJsonReader::kernel);
    each(part(part(tool_, "callback_records"), "counter_collection"), &RocprofJsonReader::counted);
    each(part(records, "counter_collection"), &RocprofJsonReader::counted);
    each(part(records, "memory_copy"), &RocprofJsonReader::copy);
    for (const char* const kind : {"hip_api", "hsa_api", "marker_api", "rccl_api"})
      for (const json& record : part(records, kind)) call(record, kind);
  }

 private:
  void each(const json& list, void (RocprofJsonReader::*take)(const json&)) {
    for (const json& record : list)
      if (record.is_object()) (this->*take)(record);
  }

  void agents() {
    for (const json& agent : part(tool_, "agents")) {
      constexpr int64_t kGpu = 2;
      const int64_t id = handle(agent, "id");
      const std::string key = "agent " + std::to_string(id);
      if (number(agent, "type") != kGpu) continue;
      gpu_ids_.insert(id);
      Gpu& gpu = to_.gpus[key];
      gpu.target = text(agent, "name");
      gpu.product = text(agent, "product_name");
      gpu.compute_units = number(agent, "cu_count");
      gpu.wave_size = number(agent, "wave_front_size");
    }
  }
  std::string gpu(int64_t id) {
    const std::string key = "agent " + std::to_string(id);
    to_.gpus[key];
    return key;
  }
  static bool times(const json& record, int64_t& start, int64_t& end) {
    start = number(record, "start_timestamp"), end = number(record, "end_timestamp");
    return end >= start;
  }

  Dispatch* dispatch(const json& record) {
    const json& info = part(record, "dispatch_info");
    const int64_t kernel = number(info, "kernel_id");
    const auto symbol = kernels_.find(kernel);
    std::string name = "kernel " + std::to_string(kernel);
    if (symbol != kernels_.end()) {
      for (const char* const key :
           {"formatted_kernel_name", "demangled_kernel_name", "kernel_name"})
        if (const std::string known = text(*symbol->second, key); !known.empty()) {
          name = known;
          break;
        }
    }
    int64_t start = 0, end = 0;
    if (!times(record, start, end)) {
      to_.lose(where_, "a dispatch of " + name + " ends before it begins");
      return nullptr;
    }
    Dispatch& d = to_.dispatch(scope_, number(info, "dispatch_id"), name);
    d.start = start, d.end = end;
    d.correlation = number(part(record, "correlation_id"), "internal");
    d.gpu = gpu(handle(info, "agent_id"));
    d.queue = std::to_string(handle(info, "queue_id"));
    d.stream = handle(record, "stream_id");
    d.lds_bytes = number(info, "group_segment_size");
    d.scratch_bytes = number(info, "private_segment_size");
    const char* const axes[] = {"x", "y", "z"};
    for (int i = 0; i < 3; ++i) {
      d.grid[i] = std::max<int64_t>(number(part(info, "grid_size"), axes[i]), 1);
      d.workgroup[i] = std::max<int64_t>(number(part(info, "workgroup_size"), axes[i]), 1);
    }
    if (symbol != kernels_.end()) {
      d.vgprs = number(*symbol->second, "arch_vgpr_count");
      d.agprs = number(*symbol->second, "accum_vgpr_count");
      d.sgprs = number(*symbol->second, "sgpr_count");
    }
    return &d;
  }
  void kernel(const json& record) {
    if (Dispatch* const d = dispatch(record)) d->tid = number(record, "thread_id");
  }
  void counted(const json& record) {
    const json& data = part(record, "dispatch_data");
    Dispatch* const d = dispatch(data.is_object() ? data : record);
    if (d == nullptr) return;
    if (const int64_t tid = number(record, "thread_id"); tid != 0) d->tid = tid;
    // A counter has a record for each instance.
    std::map<std::string, double> values;
    for (const json& one : part(record, "records")) {
      const json& value =
          part(one, "value").is_number() ? part(one, "value") : part(one, "counter_value");
      const auto name = counters_.find(handle(one, "counter_id"));
      if (!value.is_number() || name == counters_.end()) {
        to_.lose(where_, "a counter without value or name");
        continue;
      }
      values[name->second] += value.get<double>();
    }
    for (const auto& [name, value] : values) d->counters[name] = value;
  }

  void copy(const json& record) {
    Copy c;
    if (!times(record, c.start, c.end)) return to_.lose(where_, "a copy ends before it begins");
    c.scope = scope_;
    const int64_t to = handle(record, "dst_agent_id"), from = handle(record, "src_agent_id");
    const bool to_gpu = gpu_ids_.contains(to), from_gpu = gpu_ids_.contains(from);
    c.kind = to_gpu && from_gpu ? "CopyDeviceToDevice"
             : to_gpu           ? "CopyHostToDevice"
             : from_gpu         ? "CopyDeviceToHost"
                                : "CopyHostToHost";
    c.gpu = to_gpu ? gpu(to) : from_gpu ? gpu(from) : "";
    c.bytes = number(record, "bytes");
    c.correlation = number(part(record, "correlation_id"), "internal");
    c.stream = handle(record, "stream_id");
    to_.copies.push_back(std::move(c));
  }

  void call(const json& record, std::string_view kind) {
    if (!record.is_object()) return;
    Call c;
    if (!times(record, c.start, c.end)) return to_.lose(where_, "a call ends before it begins");
    c.scope = scope_;
    c.tid = number(record, "thread_id");
    c.correlation = number(part(record, "correlation_id"), "internal");
    c.is_marker = kind == "marker_api";
    c.domain = kind.substr(0, kind.find('_'));
    const json& kinds = part(part(tool_, "strings"), "buffer_records");
    const auto of = static_cast<size_t>(number(record, "kind"));
    const auto operation = static_cast<size_t>(number(record, "operation"));
    const json& names =
        kinds.is_array() && of < kinds.size() ? part(kinds[of], "operations") : json();
    c.name = names.is_array() && operation < names.size() && names[operation].is_string()
                 ? names[operation].get<std::string>()
                 : std::string(kind);
    if (c.is_marker) c.name = marker_text(c.correlation, c.name);
    to_.calls.push_back(std::move(c));
  }
  std::string marker_text(int64_t correlation, const std::string& otherwise) {
    if (markers_.empty())
      for (const json& entry : part(part(tool_, "strings"), "marker_api"))
        markers_[number(entry, "key")] = text(entry, "value");
    const auto found = markers_.find(correlation);
    return found == markers_.end() ? otherwise : found->second;
  }

  const std::string where_, scope_;
  const json& tool_;
  Recording& to_;
  std::map<int64_t, const json*> kernels_;
  std::map<int64_t, std::string> counters_, markers_;
  std::set<int64_t> gpu_ids_;
};

}  // namespace

Status read_json(const std::string& name, std::string_view text, Recording& recording) {
  const Result<json> document = util::parse_json(text);
  if (!document.ok()) return errorf("%s: %s", name.c_str(), document.error().message.c_str());
  const json& tools = part(*document, "rocprofiler-sdk-tool");
  if (!tools.is_array() && !tools.is_object())
    return errorf("%s: has no rocprofiler-sdk-tool; it is not rocprofv3's", name.c_str());
  ++recording.files;
  size_t index = 0;
  if (tools.is_object()) RocprofJsonReader(name, tools, index, recording).read();
  else
    for (const json& tool : tools) RocprofJsonReader(name, tool, index++, recording).read();
  return {};
}

}  // namespace wavetap::foreign
