// From traces and counter files to samples.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "analysis/op_counters.h"
#include "analysis/op_kind.h"
#include "analysis/work_graph.h"
#include "profile/chooser.h"
#include "profile/profile.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/sort_runs.h"

namespace wavetap::profile {
namespace {

using json = nlohmann::ordered_json;
using store::kNoRow;

uint32_t count_of(int64_t value) { return value > 0 ? static_cast<uint32_t>(value) : 0; }
uint64_t size_of(int64_t value) { return value > 0 ? static_cast<uint64_t>(value) : 0; }

std::vector<Place> places_of(const json& dispatch, const char* key) {
  std::vector<Place> places;
  const auto list = dispatch.find(key);
  if (list == dispatch.end() || !list->is_array()) return places;
  for (const json& item : *list) {
    if (!item.is_object()) continue;
    Place place;
    place.instruction = util::text_in(item, "instruction");
    place.source = util::text_in(item, "source");
    if (const auto frames = item.find("frames"); frames != item.end() && frames->is_array())
      for (const json& frame : *frames)
        if (frame.is_object())
          place.frames.push_back(
              {util::text_in(frame, "function"), util::text_in(frame, "source")});
    place.offset = static_cast<uint64_t>(std::max(util::number_in(item, "offset"), 0.0));
    place.executed = util::number_in(item, "executed");
    place.instructions = std::max(util::number_in(item, "instructions"), 1.0);
    place.lanes = util::number_in(item, "lanes");
    place.bytes = util::number_in(item, "bytes");
    place.lines = util::number_in(item, "lines");
    place.lines_ideal = util::number_in(item, "lines_ideal");
    place.l1_misses = util::number_in(item, "l1_misses");
    place.l2_misses = util::number_in(item, "l2_misses");
    place.lds_cycles = util::number_in(item, "lds_cycles");
    place.lds_conflict_cycles = util::number_in(item, "lds_conflict_cycles");
    places.push_back(std::move(place));
  }
  return places;
}

bool has_shape(const json& dispatch, const char* key, const uint64_t (&extent)[3]) {
  const auto found = dispatch.find(key);
  if (found == dispatch.end() || !found->is_array() || found->size() != 3) return false;
  for (size_t i = 0; i < 3; ++i)
    if (!(*found)[i].is_number_unsigned() || (*found)[i].get<uint64_t>() != extent[i]) return false;
  return true;
}

void set_resources(const store::Trace& trace, const store::Dispatch& dispatch,
                   const std::map<int64_t, const store::KernelUse*>& kernels, Sample& sample) {
  const int64_t grid[] = {dispatch.grid_x, dispatch.grid_y, dispatch.grid_z};
  const int64_t group[] = {dispatch.workgroup_x, dispatch.workgroup_y, dispatch.workgroup_z};
  for (int axis = 0; axis < 3; ++axis) {
    sample.grid[axis] = std::max<uint64_t>(size_of(grid[axis]), 1);
    sample.workgroup[axis] = std::max<uint64_t>(size_of(group[axis]), 1);
  }
  sample.lds_bytes = size_of(dispatch.lds_bytes);
  sample.scratch_bytes = size_of(dispatch.scratch_bytes);
  const auto found = kernels.find(dispatch.kernel);
  if (found == kernels.end()) return;
  const store::KernelUse& kernel = *found->second;
  if (!trace.str(kernel.name).empty()) sample.kernel = trace.str(kernel.name);
  sample.vgprs = count_of(kernel.vgprs);
  sample.agprs = count_of(kernel.agprs);
  sample.sgprs = count_of(kernel.sgprs);
  sample.vgpr_spills = count_of(kernel.vgpr_spills);
  sample.wave_size = count_of(kernel.wavefront);
}

// Sums of a trace's counters by kernel and shape: numbers of strings and rows only, because there may be
// millions of dispatches and tens of counters each.
class Grouping {
 public:
  explicit Grouping(const store::Trace& trace)
      : trace_(trace), counters_(trace), dispatch_of_(trace.ops.size(), nullptr) {
    for (const store::KernelUse& kernel : trace.kernels) kernels_[kernel.id] = &kernel;
    for (const store::Dispatch& dispatch : trace.dispatches)
      if (dispatch.op < dispatch_of_.size()) dispatch_of_[dispatch.op] = &dispatch;
    column_of_.assign(trace.strings.size(), kNoColumn);
    for (const store::Counter& counter : trace.counters)
      if (column_of_[counter.name] == kNoColumn) {
        column_of_[counter.name] = static_cast<uint32_t>(names_.size());
        names_.push_back(counter.name);
      }
  }

  std::vector<SampleGroup> run(Chooser& chooser, uint64_t& counted) {
    std::vector<uint32_t> ops;
    for (uint32_t op = 0; counters_.any() && op < trace_.ops.size(); ++op)
      if (!counters_.of(op).empty()) ops.push_back(op);
    counted = ops.size();
    const auto earlier = [&](uint32_t a, uint32_t b) {
      return trace_.ops.start[a] < trace_.ops.start[b];
    };
    util::sort_runs(ops, earlier);
    for (const uint32_t op : ops)
      if (chooser.wants(trace_.str(name_of(op)))) add(op);
    std::vector<SampleGroup> groups;
    for (Sums& sums : sums_) groups.push_back(finish(sums));
    return groups;
  }

 private:
  static constexpr uint32_t kNoColumn = 0xffffffff;
  struct Sums {
    uint32_t first = 0;  // op
    uint64_t calls = 0;
    double total_ns = 0, squares_ns = 0;
    std::vector<double> values;  // by column
    std::vector<bool> has;
  };
  using Key = std::array<int64_t, 7>;  // kernel, grid, workgroup

  const store::KernelUse* kernel_of(uint32_t op) const {
    if (dispatch_of_[op] == nullptr) return nullptr;
    const auto found = kernels_.find(dispatch_of_[op]->kernel);
    return found == kernels_.end() ? nullptr : found->second;
  }
  store::Str name_of(uint32_t op) const {
    const store::KernelUse* const kernel = kernel_of(op);
    return kernel != nullptr && !trace_.str(kernel->name).empty() ? kernel->name
                                                                  : trace_.ops.name(op);
  }
  void add(uint32_t op) {
    Key key = {name_of(op), 0, 0, 0, 0, 0, 0};
    if (const store::Dispatch* const d = dispatch_of_[op])
      key = {key[0],         d->grid_x,      d->grid_y,     d->grid_z,
             d->workgroup_x, d->workgroup_y, d->workgroup_z};
    const auto [found, is_new] = group_of_.emplace(key, sums_.size());
    if (is_new) {
      sums_.emplace_back();
      sums_.back().first = op;
      sums_.back().values.resize(names_.size());
      sums_.back().has.resize(names_.size());
    }
    Sums& sums = sums_[found->second];
    const auto ns = static_cast<double>(trace_.ops.end[op] - trace_.ops.start[op]);
    ++sums.calls;
    sums.total_ns += ns;
    sums.squares_ns += ns * ns;
    for (const store::Counter& counter : counters_.of(op)) {
      sums.values[column_of_[counter.name]] += counter.value;
      sums.has[column_of_[counter.name]] = true;
    }
  }
  SampleGroup finish(const Sums& sums) const {
    SampleGroup group;
    group.calls = sums.calls;
    group.total_ns = sums.total_ns;
    group.squares_ns = sums.squares_ns;
    Sample& mean = group.mean;
    const uint32_t op = sums.first;
    mean.kernel = trace_.str(trace_.ops.name(op));
    mean.op = trace_.ops.id[op];
    mean.gpu = trace_.ops.gpu[op];
    mean.start_ns = trace_.ops.start[op];
    mean.end_ns = trace_.ops.end[op];
    if (dispatch_of_[op] != nullptr) set_resources(trace_, *dispatch_of_[op], kernels_, mean);
    for (size_t i = 0; i < names_.size(); ++i)
      if (sums.has[i])
        mean.counters[std::string(trace_.str(names_[i]))] =
            sums.values[i] / static_cast<double>(sums.calls);
    return group;
  }

  const store::Trace& trace_;
  const analysis::OpCounters counters_;
  std::vector<const store::Dispatch*> dispatch_of_;  // by op
  std::map<int64_t, const store::KernelUse*> kernels_;
  std::vector<uint32_t> column_of_;  // by name
  std::vector<store::Str> names_;    // of columns
  std::map<Key, size_t> group_of_;
  std::vector<Sums> sums_;
};

}  // namespace

std::vector<Sample> samples_of(const store::Trace& trace) {
  std::map<int64_t, const store::KernelUse*> kernels;
  for (const store::KernelUse& kernel : trace.kernels) kernels[kernel.id] = &kernel;
  std::map<uint32_t, const store::Dispatch*> dispatches;
  for (const store::Dispatch& dispatch : trace.dispatches) dispatches[dispatch.op] = &dispatch;
  std::vector<Sample> samples;
  uint32_t last = kNoRow;
  for (const store::Counter& counter : trace.counters) {  // by op
    if (counter.op == kNoRow || counter.op >= trace.ops.size()) continue;
    if (counter.op != last) {
      last = counter.op;
      Sample& sample = samples.emplace_back();
      sample.kernel = trace.str(trace.ops.name(last));
      sample.op = trace.ops.id[last];
      sample.gpu = trace.ops.gpu[last];
      sample.start_ns = trace.ops.start[last];
      sample.end_ns = trace.ops.end[last];
      const auto dispatch = dispatches.find(last);
      if (dispatch != dispatches.end()) set_resources(trace, *dispatch->second, kernels, sample);
    }
    samples.back().counters[std::string(trace.str(counter.name))] = counter.value;
  }
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.start_ns < b.start_ns; });
  return samples;
}

Result<std::vector<SampleGroup>> groups_of(const store::Trace& trace, const Selection& selection,
                                           uint64_t& counted) {
  Result<Chooser> chooser = Chooser::make(selection);
  if (!chooser.ok()) return chooser.error();
  return Grouping(trace).run(*chooser, counted);
}

void add_places(std::vector<SampleGroup>& groups, const std::string& counters_json) {
  const json document = util::read_json(counters_json);
  const auto list = document.is_object() ? document.find("dispatches") : document.end();
  if (!document.is_object() || list == document.end() || !list->is_array()) return;
  std::map<std::string, std::vector<SampleGroup*>> by_kernel;
  for (SampleGroup& group : groups) by_kernel[group.mean.kernel].push_back(&group);
  for (const json& dispatch : *list) {
    if (!dispatch.is_object()) continue;
    const auto found = by_kernel.find(util::text_in(dispatch, "kernel"));
    if (found == by_kernel.end()) continue;
    for (size_t i = 0; i < found->second.size(); ++i) {
      Sample& sample = found->second[i]->mean;
      if (!has_shape(dispatch, "grid_size", sample.grid) ||
          !has_shape(dispatch, "workgroup_size", sample.workgroup))
        continue;
      sample.accesses = places_of(dispatch, "accesses");
      sample.blocks = places_of(dispatch, "blocks");
      found->second.erase(found->second.begin() + static_cast<ptrdiff_t>(i));
      break;
    }
  }
}

void add_graph(Profile& profile, const store::Trace& trace) {
  const analysis::WorkGraph graph = analysis::build_work_graph(trace);
  const std::vector<int64_t> slack = analysis::slacks(graph);
  const analysis::OpKinds kinds(trace);
  const int64_t begin = trace.span().begin;
  struct Sums {
    double calls = 0, critical = 0;
    int64_t least = INT64_MAX;
  };
  std::map<store::Str, Sums> by_name;
  constexpr size_t kMostNodes = 250'000;  // a document of some 50 MB
  const bool is_written = graph.nodes.size() <= kMostNodes;
  if (!is_written)
    profile.notes.push_back(
        "the graph of work has " + std::to_string(graph.nodes.size()) +
        " nodes and is not written to dag.json; cut the trace with wavetap trim");
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const analysis::WorkNode& node = graph.nodes[i];
    if (node.is_op) {
      Sums& sums = by_name[trace.ops.name(node.row)];
      sums.calls += 1;
      sums.critical += slack[i] == 0 ? 1 : 0;
      sums.least = std::min(sums.least, slack[i]);
    }
    if (!is_written) continue;
    DagNode out;
    out.id = static_cast<int64_t>(i);
    out.start_ns = node.start - begin;
    out.end_ns = node.end - begin;
    out.slack_ns = slack[i];
    if (node.is_op) {
      out.name = trace.str(trace.ops.name(node.row));
      out.kind = analysis::op_kind_name(kinds[node.row]);
      out.gpu = trace.ops.gpu[node.row];
      out.queue = trace.ops.queue[node.row];
    } else {
      out.name = trace.str(trace.apis.name[node.row]);
      out.kind = node.is_sync ? "sync" : "call";
    }
    profile.nodes.push_back(std::move(out));
    const auto to = static_cast<int64_t>(i);
    if (node.before != kNoRow)
      profile.edges.push_back({node.before, to, node.is_op ? "queue" : "thread", false});
    if (node.stream != kNoRow) profile.edges.push_back({node.stream, to, "stream", false});
    if (node.cause != kNoRow)
      profile.edges.push_back({node.cause, to, node.is_op ? "launch" : "sync", !node.is_op});
  }
  profile.span_ns = trace.span().length();
  for (KernelProfile& kernel : profile.kernels) {
    const auto found = by_name.find(trace.strings.find(kernel.mean.kernel));
    if (found == by_name.end() || found->second.calls == 0) continue;
    kernel.critical_share = found->second.critical / found->second.calls;
    kernel.least_slack_ns = found->second.least;
  }
}

}  // namespace wavetap::profile
