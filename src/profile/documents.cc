#include "profile/documents.h"

#include <algorithm>

#include "amd/gfx_target.h"
#include "util/json_library.h"

namespace wavetap::profile {
namespace {

using Json = nlohmann::ordered_json;

Json extent(const uint64_t (&of)[3]) { return {of[0], of[1], of[2]}; }

Json gpu_json(const Profile& profile) {
  const model::Model& model = profile.model;
  const model::Ceiling* const peak =
      profile.peaks.find(model::Rate{model::Pipe::kVector, model::Precision::kF32});
  return {{"model", model.name},
          {"name", model.marketing_name},
          {"architecture", amd::to_string(model.target)},
          {"wave_size", model.wave_size},
          {"compute_units", model.compute_units},
          {"clock_mhz", model.book_clock_mhz()},
          {"theoretical_peak_flops", peak == nullptr ? 0 : peak->book.per_second}};
}

const char* stability_of(double cv) {
  return cv <= 0.05 ? "stable" : cv <= 0.10 ? "moderate" : "unstable";
}

Json limits_json(const KernelProfile& kernel) {
  Json list = Json::array();
  for (const RankedLimit& limit : kernel.limits)
    list.push_back({{"class", name_of(limit.limit)},
                    {"title", title_of(limit.limit)},
                    {"evidence", limit.evidence},
                    {"expected_gain", limit.gain},
                    {"advice", limit.advice}});
  return list;
}

Json bounds_json(const KernelProfile& kernel) {
  Json bounds;
  for (size_t i = 0; i < timing::kResources; ++i)
    bounds[std::string(timing::name_of(static_cast<timing::Resource>(i)))] = kernel.time.busy[i];
  return bounds;
}

Json mix_json(const KernelProfile& kernel) {
  const timing::KernelWork& k = kernel.work.kernel;
  const double all = std::max(kernel.work.instructions, 1.0);
  const double matrix = kernel.mean.count("SQ_INSTS_MFMA");
  return {{"VALU", k.valu / all},     {"MFMA", matrix / all},  {"SALU", k.salu / all},
          {"SMEM", k.smem / all},     {"VMEM", k.vmem / all},  {"LDS", k.lds / all},
          {"Branch", k.branch / all}, {"Other", k.other / all}};
}

Json roofline_summary(const KernelProfile& kernel) {
  const Roofline& roof = kernel.roofline;
  double dram = 0;
  for (const LevelTraffic& level : roof.levels)
    if (level.level == model::Level::kVram) dram = level.bytes;
  return {{"flops", roof.operations},
          {"bytes", dram},
          {"arithmetic_intensity", dram > 0 ? roof.operations / dram : 0},
          {"achieved_gflops", roof.achieved / 1e9},
          {"achieved_bandwidth_gbps", kernel.seconds > 0 ? dram / kernel.seconds / 1e9 : 0},
          {"attainable_gflops", roof.attainable / 1e9},
          {"bound", roof.is_memory_bound ? "memory" : "compute"}};
}

Json occupancy_json(const KernelProfile& kernel) {
  const model::Occupancy& o = kernel.time.occupancy;
  return {
      {"theoretical", o.share()},
      {"threads_per_block", kernel.work.needs.work_items},
      {"wave_size", kernel.work.kernel.wave64 ? 64 : 32},
      {"waves_per_simd", o.waves_per_simd},
      {"max_waves_per_simd", o.max_waves_per_simd},
      {"workgroups_per_unit", o.workgroups_per_unit},
      {"limit", model::name_of(o.limit)},
      {"by",
       {{"vgprs", o.by_vgprs}, {"sgprs", o.by_sgprs}, {"lds", o.by_lds}, {"slots", o.by_slots}}}};
}

Json places_json(const std::vector<Place>& places) {
  Json list = Json::array();
  for (const Place& place : places) {
    Json frames = Json::array();
    for (const util::NamedPlace& frame : place.frames)
      frames.push_back({{"function", frame.function}, {"source", frame.source}});
    list.push_back({{"instruction", place.instruction},
                    {"source", place.source},
                    {"offset", place.offset},
                    {"executed", place.executed},
                    {"instructions", place.instructions},
                    {"bytes", place.bytes},
                    {"lines", place.lines},
                    {"lines_ideal", place.lines_ideal},
                    {"l1_misses", place.l1_misses},
                    {"l2_misses", place.l2_misses},
                    {"lds_cycles", place.lds_cycles},
                    {"lds_conflict_cycles", place.lds_conflict_cycles}});
    if (!frames.empty()) list.back()["frames"] = std::move(frames);
  }
  return list;
}

// The fields of the program's main kernel that readers of single-kernel profiles expect.
void put_kernel(Json& document, const Profile& profile, const KernelProfile& kernel) {
  const double mean_ms = kernel.seconds * 1e3;
  const double cv =
      kernel.is_measured && kernel.mean_ns > 0 ? kernel.deviation_ns / kernel.mean_ns : 0;
  document["kernel"] = {{"name", kernel.mean.kernel},
                        {"grid", extent(kernel.mean.grid)},
                        {"block", extent(kernel.mean.workgroup)}};
  document["runtime_ms"] = mean_ms;
  document["runtime_source"] = kernel.is_measured ? "measured" : "modelled";
  document["stability"] = {{"runs", kernel.calls},
                           {"mean_ms", mean_ms},
                           {"stddev_ms", cv * mean_ms},
                           {"cv", cv},
                           {"classification", stability_of(cv)}};
  document["resources"] = {
      {"vgpr_per_thread", kernel.mean.vgprs}, {"agpr_per_thread", kernel.mean.agprs},
      {"sgpr_per_wave", kernel.mean.sgprs},   {"vgpr_spills", kernel.mean.vgpr_spills},
      {"lds_bytes", kernel.mean.lds_bytes},   {"scratch_bytes", kernel.mean.scratch_bytes}};
  document["occupancy"] = occupancy_json(kernel);
  document["roofline"] = roofline_summary(kernel);
  document["instruction_mix"] = mix_json(kernel);
  const RankedLimit& first = kernel.limits.front();
  document["bottleneck"] = {
      {"primary", name_of(first.limit)},
      {"secondary",
       kernel.limits.size() > 1 ? Json(name_of(kernel.limits[1].limit)) : Json(nullptr)},
      {"reasoning", {first.evidence}}};
  document["headroom_fraction"] = first.gain > 1 ? 1 - 1 / first.gain : 0;
  document["modelled"] = {{"seconds", kernel.time.seconds},
                          {"bounds_seconds", bounds_json(kernel)},
                          {"wave_cycles", kernel.time.wave_cycles},
                          {"wave_wait_cycles", kernel.time.wave_wait_cycles},
                          {"vector_memory_latency_cycles", kernel.time.vmem_latency_cycles},
                          {"rounds", kernel.time.rounds},
                          {"caches", name_of(kernel.work.caches)}};
  if (kernel.critical_share)
    document["critical_path"] = {
        {"critical_share", *kernel.critical_share},
        {"least_slack_ns", kernel.least_slack_ns.value_or(0)},
        {"fraction",
         profile.total_seconds() > 0 ? kernel.total_seconds() / profile.total_seconds() : 0}};
}

Json head(const Profile& profile, const char* document) {
  return {
      {"document", document},     {"version", kDocumentVersion},     {"schema_version", "1.0"},
      {"source", profile.source}, {"emulated", profile.is_emulated}, {"gpu", gpu_json(profile)}};
}

Json ceiling_json(const model::Figure& figure) {
  if (figure.source == model::Source::kNone) return nullptr;
  return {{"per_second", figure.per_second},
          {"source", model::name_of(figure.source)},
          {"basis", figure.basis}};
}

}  // namespace

Json profile_json(const Profile& profile) {
  Json json = head(profile, "profile");
  put_kernel(json, profile, profile.kernels.front());
  Json kernels = Json::array();
  for (const KernelProfile& kernel : profile.kernels) {
    Json one;
    put_kernel(one, profile, kernel);
    one["calls"] = kernel.calls;
    one["total_ms"] = kernel.total_seconds() * 1e3;
    one["recorded_ns"] = kernel.total_ns;
    one["counters"] = kernel.mean.counters;
    kernels.push_back(std::move(one));
  }
  json["kernels"] = std::move(kernels);
  json["notes"] = profile.notes;
  return json;
}

Json roofline_json(const Profile& profile) {
  Json json = head(profile, "roofline");
  Json compute = Json::array(), memory = Json::array();
  for (const model::ComputePeak& peak : profile.peaks.compute)
    compute.push_back({{"pipe", model::name_of(peak.rate.pipe)},
                       {"precision", model::name_of(peak.rate.precision)},
                       {"book", ceiling_json(peak.ceiling.book)},
                       {"measured", ceiling_json(peak.ceiling.measured)}});
  for (const model::MemoryPeak& peak : profile.peaks.memory)
    memory.push_back({{"level", model::name_of(peak.level)},
                      {"book", ceiling_json(peak.ceiling.book)},
                      {"measured", ceiling_json(peak.ceiling.measured)}});
  json["ceilings"] = {{"compute", compute}, {"memory", memory}};
  Json kernels = Json::array();
  for (const KernelProfile& kernel : profile.kernels) {
    const Roofline& roof = kernel.roofline;
    Json levels = Json::array(), rates = Json::array();
    for (const LevelTraffic& level : roof.levels)
      levels.push_back({{"level", model::name_of(level.level)},
                        {"bytes", level.bytes},
                        {"intensity", level.intensity},
                        {"achieved_bytes_per_second", level.achieved},
                        {"ceiling_bytes_per_second", level.ceiling},
                        {"share", level.ceiling > 0 ? level.achieved / level.ceiling : 0}});
    for (const RatePoint& rate : roof.rates)
      rates.push_back({{"pipe", model::name_of(rate.rate.pipe)},
                       {"precision", model::name_of(rate.rate.precision)},
                       {"operations", rate.operations},
                       {"achieved_per_second", rate.achieved},
                       {"ceiling_per_second", rate.ceiling},
                       {"share", rate.ceiling > 0 ? rate.achieved / rate.ceiling : 0}});
    kernels.push_back({{"kernel", kernel.mean.kernel},
                       {"calls", kernel.calls},
                       {"seconds", kernel.seconds},
                       {"time", kernel.is_measured ? "measured" : "modelled"},
                       {"caches", name_of(kernel.work.caches)},
                       {"operations", roof.operations},
                       {"achieved_per_second", roof.achieved},
                       {"attainable_per_second", roof.attainable},
                       {"bound", roof.is_memory_bound ? "memory" : "compute"},
                       {"levels", levels},
                       {"rates", rates}});
  }
  json["kernels"] = std::move(kernels);
  return json;
}

Json dag_json(const Profile& profile) {
  Json json = head(profile, "dag");
  Json nodes = Json::array(), edges = Json::array();
  for (const DagNode& node : profile.nodes)
    nodes.push_back({{"id", node.id},
                     {"name", node.name},
                     {"kind", node.kind},
                     {"gpu", node.gpu},
                     {"queue", node.queue},
                     {"start_ns", node.start_ns},
                     {"end_ns", node.end_ns},
                     {"duration_ns", node.end_ns - node.start_ns},
                     {"slack_ns", node.slack_ns},
                     {"critical", node.slack_ns == 0}});
  for (const DagEdge& edge : profile.edges)
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"kind", edge.kind},
                     {"inferred", edge.is_inferred}});
  json["span_ns"] = profile.span_ns;
  json["nodes"] = std::move(nodes);
  json["edges"] = std::move(edges);
  return json;
}

Json analysis_json(const Profile& profile) {
  Json json = head(profile, "analysis");
  const auto put = [&](Json& to, const KernelProfile& kernel) {
    const Roofline& roof = kernel.roofline;
    to["kernel"] = kernel.mean.kernel;
    to["time_ms"] = kernel.seconds * 1e3;
    to["operational_intensity"] = roofline_summary(kernel)["arithmetic_intensity"];
    to["roofline_position"] = roof.is_memory_bound ? "memory_bound" : "compute_bound";
    to["critical_path_score"] =
        kernel.critical_share ? Json(*kernel.critical_share) : Json(nullptr);
    to["bottleneck"] = name_of(kernel.limits.front().limit);
    to["expected_gain"] = kernel.limits.front().gain;
    to["share"] =
        profile.total_seconds() > 0 ? kernel.total_seconds() / profile.total_seconds() : 0;
    to["ranking"] = limits_json(kernel);
    to["accesses"] = places_json(kernel.mean.accesses);
    to["blocks"] = places_json(kernel.mean.blocks);
  };
  put(json, profile.kernels.front());
  Json kernels = Json::array();
  for (const KernelProfile& kernel : profile.kernels) {
    Json one;
    put(one, kernel);
    kernels.push_back(std::move(one));
  }
  json["kernels"] = std::move(kernels);
  return json;
}

}  // namespace wavetap::profile
