#include "itrace/site_timing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "emu/exec.h"
#include "model/peaks.h"
#include "timing/costs.h"

namespace wavetap::itrace {
namespace {

using isa::Family;
using isa::Op;
using isa::WaitClass;
using model::Level;
using std::string_view;

constexpr double kMessageCycles = 40;  // nobody publishes it; no kernel waits for one in a loop

bool has(string_view name, string_view part) { return name.find(part) != string_view::npos; }

uint32_t whole(double cycles) { return static_cast<uint32_t>(std::max(std::lround(cycles), 0l)); }

double share(double part, double all) { return all > 0 ? std::clamp(part / all, 0.0, 1.0) : 0; }

void add_registers(const isa::Operand& operand, std::vector<RegisterRange>& to) {
  const auto count = static_cast<uint16_t>(std::max<uint32_t>(operand.dwords, 1));
  const auto put = [&](uint32_t first) {
    to.push_back({static_cast<uint16_t>(std::min<uint32_t>(first, kRegisters - count)), count});
  };
  switch (operand.kind) {
    case isa::OperandKind::kScalar: put(operand.index); break;
    case isa::OperandKind::kVgpr: put(kFirstVgpr + operand.index); break;
    case isa::OperandKind::kAgpr: put(kFirstAgpr + operand.index); break;
    default: break;
  }
}

void add_implied(uint8_t implied, std::vector<RegisterRange>& to) {
  if ((implied & isa::implied::kScc) != 0) to.push_back({isa::slot::kScc, 1});
  if ((implied & isa::implied::kVcc) != 0) to.push_back({isa::slot::kVccLo, 2});
  if ((implied & isa::implied::kExec) != 0) to.push_back({isa::slot::kExecLo, 2});
  if ((implied & isa::implied::kM0) != 0) to.push_back({isa::slot::kM0, 1});
}

void find_registers(const isa::Inst& inst, SiteTiming& timing) {
  for (const isa::Operand& source : inst.src) add_registers(source, timing.reads);
  for (const isa::Operand* operand : {&inst.vaddr, &inst.saddr, &inst.soffset})
    add_registers(*operand, timing.reads);
  add_registers(inst.dst, timing.writes);
  add_registers(inst.dst2, timing.writes);
  add_implied(inst.implied_reads, timing.reads);
  add_implied(inst.implied_writes, timing.writes);
}

// How the format of the factors is written, behind the shape: v_mfma_f32_32x32x8f16.
model::Precision matrix_precision(string_view name) {
  const size_t shape = name.find('x');
  const string_view rest = shape == string_view::npos ? name : name.substr(shape);
  if (has(rest, "xf32")) return model::Precision::kXf32;
  if (has(rest, "bf16")) return model::Precision::kBf16;
  if (has(rest, "f64")) return model::Precision::kF64;
  if (has(rest, "f32")) return model::Precision::kF32;
  if (has(rest, "f16")) return model::Precision::kF16;
  if (has(rest, "fp8") || has(rest, "bf8")) return model::Precision::kF8;
  return model::Precision::kI8;
}

bool is_transcendental(string_view name) {
  for (const string_view part :
       {"v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"})
    if (name.starts_with(part)) return true;
  return false;
}

// What all instructions of a kernel have in common.
class Timer {
 public:
  Timer(const model::Model& model, bool wave64, const cachesim::MemoryResult& memory)
      : model_(model),
        wave64_(wave64),
        costs_(timing::costs_of(model, wave64)),
        peaks_(model::peaks(model)) {
    for (const cachesim::SiteCounts& site : memory.accesses) accesses_[site.pc.value] = &site;
    const cachesim::MemoryCounters& c = memory.memory;
    const double l1 = timing::latency_cycles(model, Level::kL1, 120);
    const double l2 = timing::latency_cycles(model, Level::kL2, 300);
    const double vram = timing::latency_cycles(model, Level::kVram, 700);
    const double l3 = timing::latency_cycles(model, Level::kL3, (l2 + vram) / 2);
    const double gl1 = timing::latency_cycles(model, Level::kGl1, l1 + 30);
    const double miss3 = c.l3_reads > 0 ? share(double(c.l3_read_misses), double(c.l3_reads)) : 1;
    l1_ = l1, l2_ = l2, gl1_ = gl1;
    below_l2_ = model.l3_kib != 0 ? l3 + miss3 * (vram - l3) : vram;
    gl1_miss_ = model.gl1_kib != 0 ? share(double(c.gl1_read_misses), double(c.gl1_reads)) : 1;
    const double scalar = timing::latency_cycles(model, Level::kScalarL1, 50);
    scalar_ = scalar + share(double(c.scalar_read_misses), double(c.scalar_reads)) * (l2 - scalar);
    lds_ = timing::latency_cycles(model, Level::kLds, 60);
    const double units = model.compute_units / (model.target.major == 9 ? 1.0 : 2.0);
    const double clock = double(model.book_clock_mhz()) * 1e6;
    l2_bytes_ = bytes_per_cycle(Level::kL2, units * clock);
    vram_bytes_ = bytes_per_cycle(Level::kVram, units * clock);
  }

  SiteTiming time(const Site& site) const {
    SiteTiming timing;
    const isa::Inst& inst = site.inst;
    const string_view name = isa::op_name(inst.op);
    timing.pc = site.pc;
    timing.next_pc = site.pc + inst.size_bytes;
    timing.category = category_of(inst);
    timing.effect = isa::wait_effect_of(inst, static_cast<uint8_t>(model_.target.major));
    find_registers(inst, timing);
    if (inst.vopd_first) find_registers(site.second, timing);
    timing.is_barrier = inst.op == Op::s_barrier;
    timing.is_end = name.starts_with("s_endpgm");
    timing.is_branch = timing.category == Category::kNext;
    if (inst.op == Op::s_sleep) timing.sleep_cycles = 64u * (uint32_t(inst.imm16) & 0x7f);
    if (inst.op == Op::s_nop) timing.sleep_cycles = (uint32_t(inst.imm16) & 0xf) * quantum();
    switch (timing.category) {
      case Category::kValu: time_vector(inst, name, timing); break;
      case Category::kSalu:
        timing.result_cycles = whole(costs_.scalar_step);
        timing.pipe_cycles = quantum();
        break;
      case Category::kSmem:
        timing.pipe_cycles = quantum();
        timing.answer_cycles = whole(scalar_);
        break;
      case Category::kLds:
      case Category::kVmem:
      case Category::kFlat:
      case Category::kBvh: time_memory(site, timing); break;
      case Category::kNext:
        timing.pipe = Pipe::kBranch;
        timing.pipe_cycles = quantum();
        break;
      default:
        timing.pipe = Pipe::kNone;
        timing.answer_cycles = whole(kMessageCycles);
        break;
    }
    return timing;
  }

 private:
  // Cycles from one chance to issue to the next.
  uint32_t quantum() const { return model_.target.major == 9 ? 4 : 1; }

  double bytes_per_cycle(Level level, double unit_cycles) const {
    const model::Ceiling* ceiling = peaks_.find(level);
    return ceiling == nullptr ? 0 : ceiling->known_best().per_second / unit_cycles;
  }

  void time_vector(const isa::Inst& inst, string_view name, SiteTiming& timing) const {
    timing.pipe = Pipe::kVector;
    double cycles = costs_.valu;
    if (inst.family == Family::kMatrix) cycles = matrix_cycles(inst, name);
    else if (has(name, "_f64") || has(name, "_i64") || has(name, "_u64")) cycles = costs_.f64;
    else if (is_transcendental(name)) cycles = costs_.trans;
    timing.pipe_cycles = std::max(whole(cycles), quantum());
    timing.result_cycles = whole(std::max(cycles, costs_.step));
  }

  double matrix_cycles(const isa::Inst& inst, string_view name) const {
    const double flops = emu::matrix_flops(inst, {model_.target, wave64_});
    const model::Ceiling* ceiling =
        peaks_.find(model::Rate{model::Pipe::kMatrix, matrix_precision(name)});
    const double rate = ceiling == nullptr ? 0 : ceiling->known_best().per_second;
    if (rate <= 0 || flops == 0) return costs_.valu;  // moves between register files
    const double simd_cycles = double(model_.simd_count()) * model_.book_clock_mhz() * 1e6;
    return std::max(flops / (rate / simd_cycles), costs_.valu);
  }

  void time_memory(const Site& site, SiteTiming& timing) const {
    const auto found = accesses_.find(site.pc);
    const cachesim::SiteCounts none{};
    const cachesim::SiteCounts& counts = found == accesses_.end() ? none : *found->second;
    const double times = double(std::max<uint64_t>(counts.accessed, 1));
    const bool is_lds = timing.category == Category::kLds;
    timing.pipe = is_lds ? Pipe::kLds : Pipe::kMemory;
    const double lds = double(counts.lds_cycles) / times;
    if (is_lds || (counts.lines == 0 && lds > 0)) {
      timing.pipe_cycles = std::max(whole(lds), quantum());
      timing.answer_cycles = whole(lds_ + std::max(lds - 1, 0.0));
      return;
    }
    const double lines = double(counts.lines) / times;
    const double miss1 = share(double(counts.l1_misses), double(counts.lines));
    const double miss2 = share(double(counts.l2_misses), double(counts.l1_misses));
    const bool is_store = timing.writes.empty();
    // A load of nothing (no lane active) answers at once; a store ends at the L2.
    const double below1 = l2_ + miss2 * (below_l2_ - l2_);
    const double at1 = model_.gl1_kib != 0 ? gl1_ + gl1_miss_ * (below1 - gl1_) : below1;
    timing.answer_cycles = whole(is_store ? l2_ : l1_ + miss1 * (at1 - l1_));
    timing.pipe_cycles = std::max(whole(lines), quantum());
    const double below_l1 = double(is_store ? counts.lines : counts.l1_misses) / times * 64;
    const double below_l2 = double(counts.l2_misses) / times * model_.cache_line_bytes;
    double service = lines;
    if (l2_bytes_ > 0) service = std::max(service, below_l1 / l2_bytes_);
    if (vram_bytes_ > 0) service = std::max(service, below_l2 / vram_bytes_);
    timing.memory_cycles = whole(service);
  }

  const model::Model& model_;
  const bool wave64_;
  const timing::Costs costs_;
  const model::Peaks peaks_;
  std::map<uint64_t, const cachesim::SiteCounts*> accesses_;
  double l1_ = 0, gl1_ = 0, l2_ = 0, below_l2_ = 0, scalar_ = 0, lds_ = 0;
  double gl1_miss_ = 1;
  double l2_bytes_ = 0, vram_bytes_ = 0;  // of a unit, per cycle
};

}  // namespace

// As AMD's decoder has them, which must find in a raw trace the kind it expects of each instruction.
Category category_of(const isa::Inst& inst) {
  const string_view name = isa::op_name(inst.op);
  if (name.starts_with("s_set_gpr_idx") || name == "s_memtime") return Category::kSalu;
  if (name.starts_with("s_dcache_inv")) return Category::kImmed;
  switch (inst.family) {
    case Family::kSmem: return Category::kSmem;
    case Family::kDs: return Category::kLds;
    case Family::kMubuf: return Category::kVmem;
    case Family::kImage: return has(name, "bvh") ? Category::kBvh : Category::kVmem;
    case Family::kFlat: return name.starts_with("flat_") ? Category::kFlat : Category::kVmem;
    case Family::kVop:
    case Family::kVopc:
    case Family::kVopd:
    case Family::kMatrix: return Category::kValu;
    case Family::kSopp:
      if (isa::is_relative_jump(inst.op) || name.starts_with("s_cbranch")) return Category::kNext;
      return Category::kImmed;  // s_sendmsg as well
    default: break;
  }
  if (name.starts_with("s_sendmsg")) return Category::kMessage;
  return name.starts_with("s_waitcnt") ? Category::kImmed : Category::kSalu;
}

std::vector<SiteTiming> time_sites(const std::vector<Site>& sites, const model::Model& model,
                                   bool wave64, const cachesim::MemoryResult& memory) {
  const Timer timer(model, wave64, memory);
  std::vector<SiteTiming> timings;
  timings.reserve(sites.size());
  for (const Site& site : sites) timings.push_back(timer.time(site));
  return timings;
}

}  // namespace wavetap::itrace
