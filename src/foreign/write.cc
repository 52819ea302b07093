// A recording as a trace: the same tables that a recording of wavetap's fills, in one session.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "foreign/recording.h"
#include "store/trace_writer.h"

namespace wavetap::foreign {
namespace {

namespace rows = store::rows;

class Writer {
 public:
  Writer(const Recording& from, store::TraceWriter& to)
      : from_(from), to_(to), texts_(to, /*session=*/0) {}

  store::ImportResult write() {
    processes();
    gpus();
    calls();
    kernels();
    dispatches();
    copies();
    allocations();
    queues();
    for (const std::string& note : from_.notes)
      to_.put(rows::LossEvent{
          .pid = 0, .time = std::nullopt, .reason = "unreadable", .count = 1, .what = note});
    to_.add_metadata("session_count", "1");
    to_.add_metadata("producer", "wavetap " WAVETAP_VERSION);
    to_.add_metadata("imported_from", "AMD's profiling tools");
    to_.add_metadata("losses", std::to_string(from_.losses));
    texts_.finish();
    result_.processes = from_.processes.size();
    result_.files = from_.files;
    result_.losses = from_.losses;
    result_.notes = from_.notes;
    result_.duration_ns = last_ > first_ ? last_ - first_ : 0;
    return std::move(result_);
  }

 private:
  void see(int64_t start, int64_t end) {
    if (last_ == 0 || start < first_) first_ = start;
    last_ = std::max(last_, end);
  }

  // Ranks on different machines may share a process number; here each has its own.
  void processes() {
    constexpr int64_t kStride = int64_t{1} << 22;  // more than a pid can be
    std::set<int64_t> taken;
    int64_t session = 0;
    for (const auto& [scope, process] : from_.processes) {
      int64_t pid = process.pid > 0 && process.pid < kStride ? process.pid : 1;
      while (!taken.insert(pid).second) pid += kStride;
      pids_[scope] = pid;
      to_.put(rows::ProcessRun{.session = session++,
                               .pid = pid,
                               .parent = 0,
                               .start = 0,
                               .end = 0,
                               .executable = process.command.substr(0, process.command.find(' ')),
                               .command = process.command,
                               .hostname = process.hostname,
                               .agent = "",
                               .emulated = false,
                               .exited = true});
    }
  }
  int64_t pid(const std::string& scope) const {
    const auto found = pids_.find(scope);
    return found == pids_.end() ? 0 : found->second;
  }

  // Only those that did something, or that the files describe.
  void gpus() {
    std::set<std::string> used;
    for (const Dispatch& d : from_.dispatches) used.insert(d.gpu);
    for (const auto& [key, gpu] : from_.gpus) {
      if (gpu.target.empty() && !used.contains(key)) continue;
      const auto id = static_cast<int64_t>(gpus_.size());
      gpus_[key] = id;
      to_.put(rows::DeviceUse{.id = id,
                              .name = gpu.target,
                              .product = gpu.product,
                              .uuid = "",
                              .compute_units = gpu.compute_units,
                              .clock_mhz = 0,
                              .wavefront = gpu.wave_size,
                              .pci = "",
                              .memory_bytes = 0,
                              .peak_bytes = 0,
                              .peak_time = std::nullopt});
    }
  }
  int64_t gpu(const std::string& key) const {
    const auto found = gpus_.find(key);
    return found == gpus_.end() ? 0 : found->second;
  }
  int64_t queue(const std::string& scope, const std::string& gpu_key, const std::string& name,
                const std::string& kind) {
    const auto [found, is_new] =
        queues_.emplace(std::tuple(scope, gpu_key, name), static_cast<int64_t>(queues_.size()));
    if (is_new) queue_rows_.push_back({found->second, pid(scope), gpu(gpu_key), kind});
    return found->second;
  }

  static std::string link_key(const std::string& scope, int64_t correlation) {
    return scope + "\n" + std::to_string(correlation);
  }

  // In the order in which they began; markers behind all calls.
  void calls() {
    std::vector<const Call*> sorted;
    for (const Call& call : from_.calls) sorted.push_back(&call);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Call* a, const Call* b) {
      return std::pair(a->is_marker, a->start) < std::pair(b->is_marker, b->start);
    });
    int64_t next_call = 1, next_marker = store::kFirstMarkerId;
    for (const Call* const call : sorted) {
      const int64_t id = call->is_marker ? next_marker++ : next_call++;
      if (!call->is_marker && call->correlation != 0)
        call_of_.emplace(link_key(call->scope, call->correlation), id);
      to_.put(rows::Call{.id = id,
                         .pid = pid(call->scope),
                         .tid = call->tid,
                         .start = call->start,
                         .end = call->end,
                         .name = texts_.string(call->is_marker ? store::kMarkerName
                                                               : std::string_view(call->name)),
                         .category = texts_.no_string(),
                         .domain = texts_.string(call->is_marker ? store::kMarkerName
                                                                 : std::string_view(call->domain)),
                         .args = call->is_marker      ? texts_.text(call->name)
                                 : call->args.empty() ? texts_.no_text()
                                                      : texts_.text(call->args)});
      see(call->start, call->end);
      ++(call->is_marker ? result_.events.markers : result_.events.calls);
    }
  }

  using KernelKey = std::tuple<std::string, int64_t, int64_t, int64_t, int64_t>;
  static KernelKey kernel_key(const Dispatch& d) {
    return {d.kernel, d.vgprs, d.agprs, d.sgprs, d.wave_size};
  }
  void kernels() {
    const auto known = [](int64_t value) {
      return value > 0 ? std::optional<int64_t>(value) : std::nullopt;
    };
    for (const Dispatch& d : from_.dispatches) {
      const auto [found, is_new] =
          kernels_.emplace(kernel_key(d), static_cast<int64_t>(kernels_.size()) + 1);
      if (!is_new) continue;
      to_.put(rows::KernelUse{.id = found->second,
                              .pid = pid(d.scope),
                              .code_object = std::nullopt,
                              .name = d.kernel,
                              .mangled = "",
                              .internal = false,
                              .vgprs = known(d.vgprs),
                              .agprs = d.vgprs > 0 ? std::optional<int64_t>(d.agprs) : std::nullopt,
                              .sgprs = known(d.sgprs),
                              .vgpr_spills = std::nullopt,
                              .sgpr_spills = std::nullopt,
                              .lds_bytes = 0,
                              .scratch_bytes = d.scratch_bytes,
                              .kernarg_bytes = 0,
                              .wavefront = known(d.wave_size)});
    }
  }

  void op(int64_t start, int64_t end, int64_t gpu_id, int64_t queue_id,
          std::string_view description, std::string_view type, const std::string& scope,
          int64_t correlation) {
    to_.put(rows::Op{.id = ++ops_,
                     .gpu = gpu_id,
                     .queue = queue_id,
                     .sequence = 0,
                     .start = start,
                     .end = end,
                     .description = texts_.string(description),
                     .type = texts_.string(type)});
    see(start, end);
    const auto call =
        correlation == 0 ? call_of_.end() : call_of_.find(link_key(scope, correlation));
    call_ = call == call_of_.end() ? 0 : call->second;
    if (call_ != 0) links_.emplace_back(call_, ops_);
  }

  void dispatches() {
    std::set<int64_t> launched;
    for (const Dispatch& d : from_.dispatches) {
      op(d.start, d.end, gpu(d.gpu), queue(d.scope, d.gpu, d.queue, "compute"), d.kernel,
         "KernelExecution", d.scope, d.correlation);
      ++result_.events.dispatches;
      to_.put(rows::Dispatch{.op = ops_,
                             .kernel = kernels_[kernel_key(d)],
                             .submitted = d.start,
                             .grid_x = d.grid[0],
                             .grid_y = d.grid[1],
                             .grid_z = d.grid[2],
                             .workgroup_x = d.workgroup[0],
                             .workgroup_y = d.workgroup[1],
                             .workgroup_z = d.workgroup[2],
                             .lds_bytes = d.lds_bytes,
                             .dynamic_lds_bytes = 0,
                             .scratch_bytes = d.scratch_bytes,
                             .kernarg_address = 0,
                             .kernarg = std::nullopt,
                             .node = 0,
                             .barrier = false,
                             .timed = true,
                             .by_order = false});
      for (const auto& [name, value] : d.counters)
        to_.put(rows::Counter{.value = value, .op = ops_, .name = texts_.string(name)});
      if (call_ == 0 || !launched.insert(call_).second) continue;
      const auto groups = [&](int axis) {
        const int64_t size = std::max<int64_t>(d.workgroup[axis], 1);
        return d.grid[axis] / size + (d.grid[axis] % size != 0 ? 1 : 0);
      };
      to_.put(rows::LaunchCall{.call = call_,
                               .stream = static_cast<uint64_t>(d.stream),
                               .grid_x = groups(0),
                               .grid_y = groups(1),
                               .grid_z = groups(2),
                               .workgroup_x = d.workgroup[0],
                               .workgroup_y = d.workgroup[1],
                               .workgroup_z = d.workgroup[2],
                               .group_bytes = d.lds_bytes,
                               .private_bytes = d.scratch_bytes,
                               .kernel = texts_.string(d.kernel)});
    }
  }

  void copies() {
    std::set<int64_t> copied;
    for (const Copy& c : from_.copies) {
      op(c.start, c.end, gpu(c.gpu), queue(c.scope, c.gpu, c.kind, c.kind), "", c.kind, c.scope,
         c.correlation);
      ++result_.events.copies;
      if (call_ == 0 || !copied.insert(call_).second) continue;
      const bool to_gpu = c.kind.ends_with("ToDevice"), from_gpu = c.kind.starts_with("CopyDevice");
      to_.put(rows::CopyCall{.call = call_,
                             .stream = static_cast<uint64_t>(c.stream),
                             .size = c.bytes,
                             .width = 0,
                             .height = 0,
                             .kind = to_gpu ? (from_gpu ? 3 : 1) : (from_gpu ? 2 : 0),
                             .dst = 0,
                             .src = 0,
                             .dst_device = to_gpu ? gpu(c.gpu) : -1,
                             .src_device = from_gpu ? gpu(c.gpu) : -1,
                             .sync = false,
                             .pinned = false});
    }
    for (const auto& [call, op_id] : links_) to_.put(rows::Link{.call = call, .op = op_id});
  }

  void allocations() {
    for (const Allocation& a : from_.allocations) {
      const auto call =
          a.correlation == 0 ? call_of_.end() : call_of_.find(link_key(a.scope, a.correlation));
      to_.put(rows::AllocationEvent{
          .pid = pid(a.scope),
          .api = call == call_of_.end() ? std::nullopt : std::optional<int64_t>(call->second),
          .gpu = gpus_.contains(a.gpu) ? gpu(a.gpu) : -1,
          .kind = gpus_.contains(a.gpu) ? "device" : "host",
          .address = a.address,
          .bytes = a.bytes,
          .start = a.start,
          .end = std::nullopt,
          .asked = a.bytes});
    }
  }

  struct QueueRow {
    int64_t id, pid, gpu;
    std::string kind;
  };
  void queues() {
    for (const QueueRow& row : queue_rows_)
      to_.put(rows::QueueUse{.id = row.id,
                             .pid = row.pid,
                             .gpu = row.gpu,
                             .kind = row.kind,
                             .address = std::nullopt,
                             .size = std::nullopt,
                             .created = std::nullopt,
                             .destroyed = std::nullopt});
  }

  const Recording& from_;
  store::TraceWriter& to_;
  store::SessionTexts texts_;
  store::ImportResult result_;
  std::map<std::string, int64_t> pids_, gpus_;
  std::map<std::tuple<std::string, std::string, std::string>, int64_t> queues_;
  std::vector<QueueRow> queue_rows_;
  std::map<KernelKey, int64_t> kernels_;
  std::unordered_map<std::string, int64_t> call_of_;  // by scope and correlation
  std::vector<std::pair<int64_t, int64_t>> links_;
  int64_t ops_ = 0, call_ = 0, first_ = 0, last_ = 0;
};

}  // namespace

Result<store::ImportResult> write_trace(const Recording& recording, const std::string& output,
                                        bool overwrite) {
  store::ImportResult result;
  const Status made = store::make_whole(output, overwrite, [&](const std::string& path) -> Status {
    Result<store::TraceWriter> writer = store::TraceWriter::create(path);
    if (!writer.ok()) return writer.error();
    result = Writer(recording, *writer).write();
    result.rows = writer->rows();
    return writer->finish();
  });
  if (!made.ok()) return made.error();
  return result;
}

}  // namespace wavetap::foreign
