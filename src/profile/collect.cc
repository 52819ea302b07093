// From traces and counter files to samples.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "analysis/op_kind.h"
#include "analysis/work_graph.h"
#include "profile/profile.h"

namespace wavetap::profile {
namespace {

using nlohmann::json;
using store::kNoRow;

uint32_t count_of(int64_t value) { return value > 0 ? static_cast<uint32_t>(value) : 0; }
uint64_t size_of(int64_t value) { return value > 0 ? static_cast<uint64_t>(value) : 0; }

double number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<Place> places_of(const json& dispatch, const char* key) {
  std::vector<Place> places;
  const auto list = dispatch.find(key);
  if (list == dispatch.end() || !list->is_array()) return places;
  for (const json& item : *list) {
    if (!item.is_object()) continue;
    Place place;
    place.instruction = text(item, "instruction");
    place.source = text(item, "source");
    if (const auto frames = item.find("frames"); frames != item.end() && frames->is_array())
      for (const json& frame : *frames)
        if (frame.is_object())
          place.frames.push_back({text(frame, "function"), text(frame, "source")});
    place.offset = static_cast<uint64_t>(std::max(number(item, "offset"), 0.0));
    place.executed = number(item, "executed");
    place.instructions = std::max(number(item, "instructions"), 1.0);
    place.lanes = number(item, "lanes");
    place.bytes = number(item, "bytes");
    place.lines = number(item, "lines");
    place.lines_ideal = number(item, "lines_ideal");
    place.l1_misses = number(item, "l1_misses");
    place.l2_misses = number(item, "l2_misses");
    place.lds_cycles = number(item, "lds_cycles");
    place.lds_conflict_cycles = number(item, "lds_conflict_cycles");
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

void add_places(std::vector<Sample>& samples, const std::string& counters_json) {
  const json document = json::parse(counters_json, nullptr, /*allow_exceptions=*/false);
  const auto list = document.is_object() ? document.find("dispatches") : document.end();
  if (!document.is_object() || list == document.end() || !list->is_array()) return;
  std::vector<bool> has(samples.size());
  for (const json& dispatch : *list) {
    if (!dispatch.is_object()) continue;
    const std::string kernel = text(dispatch, "kernel");
    for (size_t i = 0; i < samples.size(); ++i) {
      Sample& sample = samples[i];
      if (has[i] || sample.kernel != kernel || !has_shape(dispatch, "grid_size", sample.grid) ||
          !has_shape(dispatch, "workgroup_size", sample.workgroup))
        continue;
      sample.accesses = places_of(dispatch, "accesses");
      sample.blocks = places_of(dispatch, "blocks");
      has[i] = true;
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
  std::map<std::string_view, Sums> by_name;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const analysis::WorkNode& node = graph.nodes[i];
    DagNode out;
    out.id = static_cast<int64_t>(i);
    out.start_ns = node.start - begin;
    out.end_ns = node.end - begin;
    out.slack_ns = slack[i];
    if (node.is_op) {
      const std::string_view name = trace.str(trace.ops.name(node.row));
      out.name = name;
      out.kind = analysis::op_kind_name(kinds[node.row]);
      out.gpu = trace.ops.gpu[node.row];
      out.queue = trace.ops.queue[node.row];
      Sums& sums = by_name[name];
      sums.calls += 1;
      sums.critical += slack[i] == 0 ? 1 : 0;
      sums.least = std::min(sums.least, slack[i]);
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
    const auto found = by_name.find(kernel.mean.kernel);
    if (found == by_name.end() || found->second.calls == 0) continue;
    kernel.critical_share = found->second.critical / found->second.calls;
    kernel.least_slack_ns = found->second.least;
  }
}

}  // namespace wavetap::profile
