#include "profile/work_of.h"

#include <algorithm>
#include <cmath>

namespace wavetap::profile {
namespace {

using model::Precision;

constexpr double kMopsUnit = 512;

double product(const uint64_t (&extent)[3]) {
  return double(extent[0]) * double(extent[1]) * double(extent[2]);
}

double groups_of(const Sample& sample) {
  double groups = 1;
  for (int axis = 0; axis < 3; ++axis)
    groups *= std::ceil(double(sample.grid[axis]) /
                        double(std::max<uint64_t>(sample.workgroup[axis], 1)));
  return groups;
}

double sum(const Sample& s, std::initializer_list<const char*> names) {
  double total = 0;
  for (const char* const name : names) total += s.count(name);
  return total;
}

// AMD's names come with and without their sum over instances.
double either(const Sample& s, const std::string& name) {
  const double plain = s.count(name.c_str());
  return plain != 0 ? plain : s.count((name + "_sum").c_str());
}

void set_operations(const Sample& s, double wave_size, Work& work) {
  Operations& ops = work.operations;
  if (s.has("instructions")) {  // our engine's, exact by lanes
    ops.vector[0] = s.count("flops_f16");
    ops.vector[1] = s.count("flops_f32");
    ops.vector[2] = s.count("flops_f64");
  } else {
    const char* const types[] = {"F16", "F32", "F64"};
    for (int i = 0; i < 3; ++i) {
      const std::string at = std::string("SQ_INSTS_VALU_");
      ops.vector[i] =
          wave_size * (either(s, at + "ADD_" + types[i]) + either(s, at + "MUL_" + types[i]) +
                       either(s, at + "TRANS_" + types[i]) + 2 * either(s, at + "FMA_" + types[i]));
    }
  }
  constexpr std::pair<const char*, Precision> kMops[] = {
      {"F64", Precision::kF64}, {"F32", Precision::kF32},   {"XF32", Precision::kXf32},
      {"F16", Precision::kF16}, {"BF16", Precision::kBf16}, {"F8", Precision::kF8},
      {"I8", Precision::kI8}};
  double split = 0;
  for (const auto& [type, precision] : kMops) {
    const double value = kMopsUnit * either(s, std::string("SQ_INSTS_VALU_MFMA_MOPS_") + type);
    ops.matrix[static_cast<size_t>(precision)] = value;
    split += value;
  }
  // Counted without the kinds: nobody knows which, so the most usual.
  if (split == 0) ops.matrix[static_cast<size_t>(Precision::kF16)] = s.count("flops_matrix");
}

void set_instructions(const Sample& s, timing::KernelWork& work) {
  work.valu = either(s, "SQ_INSTS_VALU") - either(s, "SQ_INSTS_MFMA");
  work.salu = either(s, "SQ_INSTS_SALU");
  work.smem = either(s, "SQ_INSTS_SMEM");
  work.branch = either(s, "SQ_INSTS_BRANCH");
  work.vmem = either(s, "SQ_INSTS_VMEM");
  if (work.vmem == 0) work.vmem = either(s, "SQ_INSTS_VMEM_RD") + either(s, "SQ_INSTS_VMEM_WR");
  work.lds = either(s, "SQ_INSTS_LDS");
  work.other = std::max(either(s, "SQ_INSTS") - work.valu - either(s, "SQ_INSTS_MFMA") - work.salu -
                            work.smem - work.branch - work.vmem - work.lds,
                        0.0);
  for (const char* const type : {"F16", "F32", "F64"})
    work.trans += either(s, std::string("SQ_INSTS_VALU_TRANS_") + type);
  for (const char* const kind : {"ADD", "MUL", "FMA"})
    work.f64 += either(s, std::string("SQ_INSTS_VALU_") + kind + "_F64");
  work.lanes = s.count("valu_lanes");
  work.lane_slots = s.count("valu_lane_slots");
}

// What the model of caches counted.
void set_modelled(const Sample& s, Work& work) {
  timing::KernelWork& k = work.kernel;
  const auto of = [&](const char* name) {
    return s.count((std::string("modelled.") + name).c_str());
  };
  work.caches = Caches::kModelled;
  k.l1_tags = of("l1_tag_accesses");
  k.l1_bytes = of("l1_bytes");
  k.scratch_bytes = of("scratch_bytes");
  k.l1_reads = of("l1_reads");
  k.l1_misses = of("l1_read_misses");
  k.gl1_reads = of("gl1_reads");
  k.gl1_misses = of("gl1_read_misses");
  k.l2_bytes = of("l2_bytes");
  k.l2_busiest = of("l2_busiest_channel");
  k.l2_hits = of("l2_hits");
  k.l2_misses = of("l2_misses");
  k.fabric_bytes = of("fabric_read_bytes") + of("fabric_write_bytes");
  k.l3_reads = of("l3_reads");
  k.l3_misses = of("l3_read_misses");
  k.dram_bytes = of("dram_read_bytes") + of("dram_write_bytes");
  k.dram_again_bytes = of("dram_again_bytes");
  k.lds_cycles = of("lds_cycles");
  k.lds_conflicts = of("lds_conflict_cycles") + of("lds_address_conflict_cycles");
  k.vmem_waits = of("vmem_waits");
  k.lds_waits = of("lds_waits");
  k.smem_waits = of("smem_waits");
  work.l1_to_l2_bytes = of("l1_to_l2_bytes");
}

// What hardware counted, by AMD's formulas (rocprof-compute).
void set_measured(const model::Model& model, const Sample& s, Work& work) {
  timing::KernelWork& k = work.kernel;
  work.caches = Caches::kMeasured;
  const bool is_gfx94 = model.target.major == 9 && model.target.minor == 4;
  const std::string ea = is_gfx94 ? "TCC_EA0_" : "TCC_EA_";
  k.l1_tags = either(s, "TCP_TOTAL_CACHE_ACCESSES");
  const double reads = either(s, "TCP_TCC_READ_REQ"), writes = either(s, "TCP_TCC_WRITE_REQ");
  const double atomics = either(s, "TCP_TCC_ATOMIC_WITH_RET_REQ") +
                         either(s, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ") +
                         either(s, "TCP_TCC_ATOMIC_REQ");
  k.l1_reads = k.l1_tags;
  k.l1_misses = reads;
  k.l1_bytes = k.l1_tags * 64;
  work.l1_to_l2_bytes = reads * (is_gfx94 ? 128 : 64) + 64 * (writes + atomics);
  k.l2_hits = either(s, "TCC_HIT");
  k.l2_misses = either(s, "TCC_MISS");
  k.l2_bytes = either(s, "TCC_REQ") * 128;
  const double bubbles = is_gfx94 ? either(s, "TCC_BUBBLE") : 0;
  const double rd = either(s, ea + "RDREQ"), rd32 = either(s, ea + "RDREQ_32B");
  const double wr = either(s, ea + "WRREQ"), wr64 = either(s, ea + "WRREQ_64B");
  k.fabric_bytes =
      128 * bubbles + 64 * (rd - bubbles - rd32) + 32 * rd32 + 64 * wr64 + 32 * (wr - wr64);
  k.dram_bytes = k.fabric_bytes;
  k.lds_cycles = sum(s, {"SQ_LDS_IDX_ACTIVE", "SQC_LDS_IDX_ACTIVE"});
  k.lds_conflicts = sum(s, {"SQ_LDS_BANK_CONFLICT", "SQC_LDS_BANK_CONFLICT"});
  k.vmem_waits = k.vmem;
  k.smem_waits = k.smem;
  k.lds_waits = k.lds;
}

// Nothing but what the engine counts without caches: each line comes from memory once.
void set_unknown(const Sample& s, Work& work) {
  timing::KernelWork& k = work.kernel;
  const double bytes = k.lines * 64;
  k.l1_tags = k.lines;
  k.l1_bytes =
      sum(s, {"bytes_global_load", "bytes_global_store", "bytes_global_atomic", "bytes_scratch"});
  k.scratch_bytes = s.count("bytes_scratch");
  k.l1_reads = k.l1_misses = k.l2_misses = k.lines;
  work.l1_to_l2_bytes = k.l2_bytes = k.fabric_bytes = k.dram_bytes = bytes;
  k.lds_conflicts = s.count("lds_bank_conflicts");
  k.lds_cycles = s.count("bytes_lds") / 128 + k.lds_conflicts;
  k.vmem_waits = k.vmem;
  k.smem_waits = k.smem;
  k.lds_waits = k.lds;
}

}  // namespace

const char* name_of(Caches caches) {
  switch (caches) {
    case Caches::kNone: return "unknown";
    case Caches::kModelled: return "modelled";
    case Caches::kMeasured: return "measured";
  }
  return "unknown";
}

double Operations::flops() const {
  double total = vector[0] + vector[1] + vector[2];
  for (size_t i = 0; i < matrix.size(); ++i)
    if (i != static_cast<size_t>(Precision::kI8)) total += matrix[i];
  return total;
}

Work work_of(const model::Model& model, const Sample& sample) {
  Work work;
  timing::KernelWork& k = work.kernel;
  const uint32_t wave_size = sample.wave_size != 0 ? sample.wave_size : model.wave_size;
  k.wave64 = wave_size == 64;
  k.workgroups = groups_of(sample);
  const double items = std::max(product(sample.workgroup), 1.0);
  k.waves = either(sample, "SQ_WAVES");
  if (k.waves == 0) k.waves = k.workgroups * std::ceil(items / wave_size);
  set_instructions(sample, k);
  set_operations(sample, wave_size, work);
  work.instructions = either(sample, "SQ_INSTS");
  for (size_t i = 0; i < k.matrix_ops.size(); ++i) k.matrix_ops[i] = work.operations.matrix[i];
  k.lines = sample.count("cache_lines");
  k.lines_ideal = sample.count("cache_lines_ideal");
  work.lds_bytes = sample.count("bytes_lds");
  const bool is_modelled =
      sample.has("modelled.instruction_reads") || sample.has("modelled.l2_reads");
  if (is_modelled) set_modelled(sample, work);
  else if (either(sample, "TCC_REQ") != 0 || either(sample, "TCP_TOTAL_CACHE_ACCESSES") != 0)
    set_measured(model, sample, work);
  else set_unknown(sample, work);
  work.needs = {.wave64 = k.wave64,
                .vgprs = sample.vgprs,
                .sgprs = sample.sgprs,
                .lds_bytes = static_cast<uint32_t>(sample.lds_bytes),
                .work_items = static_cast<uint32_t>(items),
                .workgroups = static_cast<uint64_t>(k.workgroups)};
  return work;
}

}  // namespace wavetap::profile
