// KernelTime: how long a kernel would take on a GPU, from what it does. A model, not a measurement.
//
// Interval analysis: each resource of the GPU is busy for as long as the kernel's exact work takes at
// the resource's own rate; the waves of one wave slot, one after the other, take as long as their
// instructions and the answers of memory they wait for, whose lines come through the L1 one after the
// other. The kernel takes the longest of these, and the start of a kernel on top. Rates and latencies are the model file's, published or from public
// microbenchmarks; nothing is fitted to kernels. docs/timing-model.md has the formulas.
//
// What it leaves out: overlap that is less than perfect, waves waiting at barriers, pages, clocks that
// change, other kernels at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "model/occupancy.h"
#include "model/peaks.h"

namespace wavetap::timing {

// What one dispatch does. Instructions are those of waves. A figure that is not known is 0.
struct KernelWork {
  bool wave64 = true;
  double waves = 0, workgroups = 0;
  double valu = 0, trans = 0,
         f64 = 0;  // vector instructions; transcendental, double ones among them
  double salu = 0, smem = 0, branch = 0, vmem = 0, lds = 0, other = 0;
  double lanes = 0, lane_slots = 0;       // active in vector instructions; possible
  std::array<double, 7> matrix_ops = {};  // by model::Precision

  double l1_tags = 0;                 // look-ups of the vector L1
  double lines = 0, lines_ideal = 0;  // 64-byte lines of vector accesses
  double l1_bytes = 0, scratch_bytes = 0;
  double l1_reads = 0, l1_misses = 0, gl1_reads = 0, gl1_misses = 0;
  double l2_bytes = 0, l2_busiest = 0, l2_hits = 0, l2_misses = 0;
  double fabric_bytes = 0, l3_reads = 0, l3_misses = 0, dram_bytes = 0;
  double dram_again_bytes = 0;  // of dram_bytes: read before by the same dispatch
  double lds_cycles = 0, lds_conflicts = 0;
  double vmem_waits = 0, lds_waits = 0, smem_waits = 0;
};

enum class Resource : uint8_t {
  kVector,
  kMatrix,
  kScalar,
  kLds,
  kL1,
  kL2,
  kInfinityCache,
  kMemory,
  kLatency,
  kLaunch,
};
inline constexpr size_t kResources = 10;
std::string_view name_of(Resource resource);   // "vector-alu"
std::string_view title_of(Resource resource);  // "vector ALU"

struct KernelTime {
  double seconds = 0;                        // modelled
  std::array<double, kResources> busy = {};  // seconds, by Resource
  Resource limit = Resource::kLaunch;        // the longest
  model::Occupancy occupancy;
  double rounds = 1;               // how often all wave slots are filled
  double wave_cycles = 0;          // of one wave, waits included
  double wave_wait_cycles = 0;     // of them waiting for memory
  double vmem_latency_cycles = 0;  // mean of vector loads
  double clock_hz = 0;

  double of(Resource resource) const { return busy[static_cast<size_t>(resource)]; }
};

KernelTime kernel_time(const model::Model& model, const KernelWork& work,
                       const model::KernelNeeds& needs);

}  // namespace wavetap::timing
