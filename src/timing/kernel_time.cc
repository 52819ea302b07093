#include "timing/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "timing/costs.h"

namespace wavetap::timing {
namespace {

using model::Level;
using model::Model;

double share(double part, double whole) { return whole > 0 ? std::min(part / whole, 1.0) : 0; }

double rate_of(const model::Ceiling* ceiling) {
  return ceiling == nullptr ? 0 : ceiling->known_best().per_second;
}

// How long a vector load takes on average, by where its lines come from.
double vmem_latency(const Model& model, const KernelWork& work) {
  const double l1 = latency_cycles(model, Level::kL1, 120);
  const double gl1 = latency_cycles(model, Level::kGl1, l1 + 30);
  const double l2 = latency_cycles(model, Level::kL2, 300);
  const double vram = latency_cycles(model, Level::kVram, 700);
  const double l3 = latency_cycles(model, Level::kL3, (l2 + vram) / 2);
  const double miss1 = work.l1_reads > 0 ? share(work.l1_misses, work.l1_reads) : 1;
  const double miss_gl1 = work.gl1_reads > 0 ? share(work.gl1_misses, work.gl1_reads) : 1;
  const double miss2 = share(work.l2_misses, work.l2_hits + work.l2_misses);
  const double miss3 = work.l3_reads > 0 ? share(work.l3_misses, work.l3_reads) : 1;
  const double below2 = model.l3_kib != 0 ? l3 + miss3 * (vram - l3) : vram;
  const double below1 = l2 + miss2 * (below2 - l2);
  const double at1 = model.gl1_kib != 0 ? gl1 + miss_gl1 * (below1 - gl1) : below1;
  return l1 + miss1 * (at1 - l1);
}

double matrix_seconds(const model::Peaks& peaks, const KernelWork& work) {
  double seconds = 0;
  for (size_t i = 0; i < work.matrix_ops.size(); ++i) {
    if (work.matrix_ops[i] == 0) continue;
    const auto precision = static_cast<model::Precision>(i);
    const double rate = rate_of(peaks.find(model::Rate{model::Pipe::kMatrix, precision}));
    if (rate > 0) seconds += work.matrix_ops[i] / rate;
  }
  return seconds;
}

}  // namespace

std::string_view name_of(Resource resource) {
  constexpr std::string_view kNames[kResources] = {
      "vector-alu", "matrix",         "scalar", "lds",     "l1",
      "l2",         "infinity-cache", "memory", "latency", "launch"};
  return kNames[static_cast<size_t>(resource)];
}

std::string_view title_of(Resource resource) {
  constexpr std::string_view kTitles[kResources] = {
      "vector ALU",     "matrix units",  "scalar unit",    "LDS",          "vector L1", "L2",
      "Infinity Cache", "device memory", "memory latency", "kernel launch"};
  return kTitles[static_cast<size_t>(resource)];
}

KernelTime kernel_time(const Model& model, const KernelWork& work,
                       const model::KernelNeeds& needs) {
  KernelTime time;
  const model::Peaks peaks = model::peaks(model);
  time.clock_hz = model.book_clock_mhz() * 1e6;
  model::KernelNeeds full = needs;
  full.workgroups = static_cast<uint64_t>(work.workgroups);
  time.occupancy = model::occupancy(model, full);
  const Costs costs = costs_of(model, work.wave64);
  const double cus = model.compute_units;
  const double simds = model.simd_count();
  // A GPU that has fewer workgroups than units leaves the others idle.
  const double units = time.occupancy.units;
  const double used = std::clamp(work.workgroups / units, 1 / units, 1.0);

  const double plain = std::max(work.valu - work.trans - work.f64, 0.0);
  const double vector_cycles = plain * costs.valu + work.trans * costs.trans + work.f64 * costs.f64;
  const double clock = time.clock_hz;
  const auto set = [&](Resource resource, double seconds) {
    time.busy[static_cast<size_t>(resource)] = seconds;
  };
  set(Resource::kVector, vector_cycles / (simds * used * clock));
  set(Resource::kMatrix, matrix_seconds(peaks, work) / used);
  const double scalar_units = model.target.major == 9 ? cus : simds;
  // Branches and scalar loads issue beside scalar arithmetic.
  const double scalar = std::max({work.salu, work.branch, work.smem});
  set(Resource::kScalar, scalar / (scalar_units * used * clock));
  set(Resource::kLds, work.lds_cycles / (cus * used * clock));
  set(Resource::kL1, work.l1_tags / (cus * used * clock));
  const double l2_rate = rate_of(peaks.find(Level::kL2));
  const double by_bytes = l2_rate > 0 ? work.l2_bytes / l2_rate : 0;
  set(Resource::kL2, std::max(by_bytes, work.l2_busiest / clock));
  const double l3_rate = rate_of(peaks.find(Level::kL3));
  if (model.l3_kib != 0 && l3_rate > 0) set(Resource::kInfinityCache, work.fabric_bytes / l3_rate);
  const double vram_rate = rate_of(peaks.find(Level::kVram));
  if (vram_rate > 0) set(Resource::kMemory, work.dram_bytes / vram_rate);

  // One wave after the other in each slot.
  time.vmem_latency_cycles = vmem_latency(model, work);
  const double waves = std::max(work.waves, 1.0);
  const double vector_steps = plain * costs.step + work.trans * std::max(costs.trans, costs.step) +
                              work.f64 * std::max(costs.f64, costs.step);
  // Latencies are those of chains of loads: the load that is waited for and the wait are in them.
  const auto beside = [](double count, double waits) { return std::max(count - waits, 0.0); };
  const double waits = work.vmem_waits + work.lds_waits + work.smem_waits;
  const double scalar_steps =
      (work.salu + beside(work.smem, work.smem_waits) + work.branch + beside(work.other, waits)) *
      costs.scalar_step;
  const double memory_steps =
      (beside(work.vmem, work.vmem_waits) + beside(work.lds, work.lds_waits)) * costs.valu;
  // A chain's load is looked up once for 16 lanes; further look-ups of a wave come one after the other.
  const double more_lines = beside(work.l1_tags, work.vmem_waits * (work.wave64 ? 4 : 2));
  time.wave_wait_cycles = (work.vmem_waits * time.vmem_latency_cycles + more_lines +
                           work.lds_waits * latency_cycles(model, Level::kLds, 60) +
                           work.smem_waits * latency_cycles(model, Level::kScalarL1, 50)) /
                          waves;
  time.wave_cycles = (vector_steps + scalar_steps + memory_steps) / waves + time.wave_wait_cycles;
  const double resident = double(
      std::max<uint64_t>(uint64_t{time.occupancy.workgroups_per_unit} * time.occupancy.units, 1));
  time.rounds = std::max(std::ceil(work.workgroups / resident), 1.0);
  set(Resource::kLatency, time.rounds * time.wave_cycles / clock);
  set(Resource::kLaunch, launch_seconds(model));

  const auto longest = std::max_element(time.busy.begin(), time.busy.end());
  time.limit = static_cast<Resource>(longest - time.busy.begin());
  const double busiest = *std::max_element(time.busy.begin(), time.busy.end() - 1);
  time.seconds = busiest + time.of(Resource::kLaunch);
  return time;
}

}  // namespace wavetap::timing
