#include "cachesim/memory_watch.h"

#include <algorithm>
#include <bit>

#include "cachesim/cache.h"
#include "emu/dispatch.h"
#include "emu/launch.h"
#include "emu/lds_banks.h"
#include "emu/wave.h"
#include "emu/workgroup.h"
#include "model/occupancy.h"

namespace wavetap::cachesim {
namespace {

using emu::MemoryAccess;
using emu::Space;

// Packed streams that may wait for their turn; beyond it, a batch has fewer workgroups.
constexpr size_t kMaxWaitingBytes = size_t{256} << 20;
// Where scratch is in the modelled address space: nothing else is there.
constexpr uint64_t kScratchAddress = uint64_t{1} << 47;
constexpr uint32_t kAnyNumber = 255;  // of WaitLimits

Request request_of(const MemoryAccess& access) {
  switch (access.access) {
    case emu::Access::kLoad: return access.is_scalar ? Request::kScalarLoad : Request::kLoad;
    case emu::Access::kStore: return access.is_scalar ? Request::kScalarStore : Request::kStore;
    case emu::Access::kAtomic:
    case emu::Access::kAtomicReturn: return Request::kAtomic;
  }
  return Request::kLoad;
}

// Per lane, as they are given out.
uint32_t vgprs_of(const emu::Launch& launch) {
  return launch.dispatch->target.is_gfx90a_family() ? launch.rows : launch.registers.vgprs;
}

void add_executions(InstructionCounters& to, const InstructionCounters& each, uint64_t times) {
#define WT_INSTRUCTION_COUNTER(name, help) to.name += each.name * times;
#include "cachesim/instruction_counters.inc"
#undef WT_INSTRUCTION_COUNTER
}

void add_site(SiteCounts& to, const SiteCounts& from) {
  to.executed += from.executed;
  to.accessed += from.accessed;
  to.lines += from.lines;
  to.lanes += from.lanes;
  to.bytes += from.bytes;
  to.lines_ideal += from.lines_ideal;
  to.lds_cycles += from.lds_cycles;
  to.lds_conflict_cycles += from.lds_conflict_cycles;
}

}  // namespace

struct MemoryWatch::Group {
  uint64_t linear = 0;
  std::vector<AccessStream> waves;
  size_t size_bytes() const {
    size_t sum = 0;
    for (const AccessStream& wave : waves) sum += wave.size_bytes();
    return sum;
  }
};

struct MemoryWatch::Recorder {
  // Of one wave: requests of a kind in the order of their answers.
  struct Outstanding {
    uint64_t issued = 0;
    uint64_t covered = 0;  // those up to here were under way when the wave last waited
    uint64_t loads = 0;    // of those that are not covered

    void add(bool is_load) {
      ++issued;
      loads += is_load ? 1 : 0;
    }
    // The wave waits until `limit` are left. Whether that takes as long as memory does: what was
    // asked for together is waited for together.
    bool wait(uint64_t limit) {
      if (issued <= limit || issued - limit <= covered) return false;
      const bool waits = loads != 0;
      covered = issued;
      loads = 0;
      return waits;
    }
  };
  struct WaveWaits {
    Outstanding vmem, lds, smem;
  };
  std::unique_ptr<Group> group;
  std::vector<WaveWaits> waves;
  std::vector<SiteCounts> sites;  // over all workgroups of the dispatch that it recorded
  MemoryCounters counters;
  uint64_t scratch_base = 0;

  SiteCounts& site(uintptr_t number) {
    if (number >= sites.size()) sites.resize(number + 1);
    return sites[number];
  }
};

MemoryWatch::MemoryWatch(const model::Model& model, Start start)
    : model_(model), geometry_(geometry_of(model)), system_(geometry_, start) {}
MemoryWatch::~MemoryWatch() = default;

emu::Wants MemoryWatch::wants(const isa::Program& program, int32_t index) noexcept {
  const uint32_t number = sites_.number(program, index);
  if (number == 0) return {};
  const Site site = sites_.at(number);
  emu::Wants wants;
  wants.before =
      site.instructions != 0 || site.waits || site.invalidates_l1 || site.invalidates_gl1;
  wants.accessing = site.accesses;
  wants.tag = number;
  // What before() needs to know fits beside the number.
  wants.tag |= uintptr_t{site.instructions != 0} << 32 | uintptr_t{site.waits} << 33 |
               uintptr_t{site.invalidates_l1} << 34 | uintptr_t{site.invalidates_gl1} << 35 |
               uintptr_t{site.limits.vmem} << 40 | uintptr_t{site.limits.lgkm} << 48;
  return wants;
}

void MemoryWatch::dispatch_began(const emu::Launch& launch) noexcept {
  const emu::Dispatch& dispatch = *launch.dispatch;
  uint32_t work_items = 1;
  for (const uint16_t size : dispatch.workgroup_size) work_items *= std::max<uint16_t>(size, 1);
  const model::Occupancy occupancy = model::occupancy(model_, {.wave64 = launch.wave64,
                                                               .vgprs = vgprs_of(launch),
                                                               .lds_bytes = launch.lds_bytes,
                                                               .work_items = work_items});
  const std::lock_guard simulating(simulating_);
  const std::lock_guard lock(mutex_);
  batch_groups_ = std::max(occupancy.workgroups_per_unit, 1u) * occupancy.units;
  waves_per_group_ = launch.waves_per_group;
  scratch_bytes_ = uint64_t{launch.scratch_bytes_per_lane} * launch.lanes;
  next_ = ready_end_ = 0;
  ready_bytes_ = 0;
  waiting_.clear();
  result_ = {};
  counters_ = {};
  misses_.clear();
  for (const std::unique_ptr<Recorder>& recorder : recorders_) {
    recorder->sites.clear();
    recorder->counters = {};
  }
  system_.begin();
}

void MemoryWatch::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  const std::lock_guard lock(mutex_);
  if (idle_recorders_.empty()) {
    recorders_.push_back(std::make_unique<Recorder>());
    idle_recorders_.push_back(recorders_.back().get());
  }
  Recorder& recorder = *idle_recorders_.back();
  idle_recorders_.pop_back();
  if (idle_groups_.empty()) idle_groups_.push_back(std::make_unique<Group>());
  recorder.group = std::move(idle_groups_.back());
  idle_groups_.pop_back();
  recorder.group->linear = group.linear_id;
  recorder.group->waves.resize(group.waves.size());
  for (AccessStream& wave : recorder.group->waves) wave.clear();
  recorder.waves.assign(group.waves.size(), {});
  recorder.scratch_base =
      kScratchAddress + group.linear_id % batch_groups_ * waves_per_group_ * scratch_bytes_;
  state = &recorder;
}

void MemoryWatch::wave_ended(const emu::Wave& wave, void*& state) noexcept {
  Recorder& recorder = *static_cast<Recorder*>(state);
  recorder.counters.longest_wave = std::max(recorder.counters.longest_wave, wave.executed);
}

void MemoryWatch::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  Recorder& recorder = *static_cast<Recorder*>(state);
  bool is_due = false;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t linear = recorder.group->linear;
    const auto at = waiting_.emplace(linear, std::move(recorder.group)).first;
    idle_recorders_.push_back(&recorder);
    if (linear == ready_end_) note_ready(at);
    is_due = is_batch_ready();
  }
  if (!is_due || !simulating_.try_lock()) return;
  simulate(/*all=*/false);
  simulating_.unlock();
}

void MemoryWatch::before(const emu::WatchPoint& at) noexcept {
  Recorder& recorder = *static_cast<Recorder*>(at.state);
  const auto number = static_cast<uint32_t>(at.tag);
  if ((at.tag >> 32 & 1) != 0) ++recorder.site(number).executed;
  if ((at.tag >> 33 & 7) == 0) return;
  const uint32_t index = at.wave.wave_in_group;
  if ((at.tag >> 33 & 1) != 0) {
    Recorder::WaveWaits& waits = recorder.waves[index];
    const auto vmem = static_cast<uint32_t>(at.tag >> 40 & 0xff);
    const auto lgkm = static_cast<uint32_t>(at.tag >> 48 & 0xff);
    if (vmem != kAnyNumber && waits.vmem.wait(vmem)) ++recorder.counters.vmem_waits;
    if (lgkm != kAnyNumber) {
      // One count for both; scalar loads answer in any order, so that only 0 is waited for.
      if (waits.smem.wait(0)) ++recorder.counters.smem_waits;
      if (waits.lds.wait(lgkm)) ++recorder.counters.lds_waits;
    }
  }
  if ((at.tag >> 34 & 3) != 0)
    recorder.group->waves[index].add(
        (at.tag >> 35 & 1) != 0 ? Request::kInvalidateGl1 : Request::kInvalidateL1, false, false,
        number, {});
}

void MemoryWatch::record_vector(Recorder& recorder, const emu::WatchPoint& at,
                                const MemoryAccess& access, const uint64_t* address,
                                uint32_t size_bytes) {
  const auto number = static_cast<uint32_t>(at.tag);
  SectorRun runs[kMaxRuns];
  size_t count = 1;
  TagWork work;
  if (address == access.address && access.relation != emu::Relation::kNone && access.is_whole()) {
    const auto lanes = static_cast<uint32_t>(std::popcount(access.mask));
    const bool is_row = access.relation == emu::Relation::kConsecutive;
    runs[0] = whole_run(address[0], size_bytes, lanes, is_row);
    work = whole_tag_work(address[0], size_bytes, lanes, is_row);
  } else {
    count = find_runs(address, access.mask, size_bytes, runs);
    work = tag_work(address, access.mask, size_bytes, at.wave.lanes);
  }
  MemoryCounters& counters = recorder.counters;
  counters.l1_accesses += work.accesses;
  counters.l1_tag_accesses += work.tags;
  uint64_t lines = 0;
  for (size_t i = 0; i < count; ++i) lines += runs[i].count;
  const uint64_t bytes = static_cast<uint64_t>(std::popcount(access.mask)) * size_bytes;
  counters.l1_bytes += bytes;
  SiteCounts& site = recorder.site(number);
  site.lines += lines;
  site.lines_ideal += (bytes + kSectorBytes - 1) / kSectorBytes;
  const bool is_gfx94 = geometry_.target.major == 9 && geometry_.target.minor == 4;
  const bool bypass_l1 = is_gfx94 ? at.inst.dlc : at.inst.glc;
  recorder.group->waves[at.wave.wave_in_group].add(request_of(access), bypass_l1, at.inst.dlc,
                                                   number, {runs, count});
}

// A lane's bytes lie in every wave-size-th dword of its wave's scratch.
void MemoryWatch::record_scratch(Recorder& recorder, const emu::WatchPoint& at,
                                 const MemoryAccess& access) {
  const uint64_t lanes = at.wave.lanes;
  const uint64_t base = recorder.scratch_base + at.wave.wave_in_group * scratch_bytes_;
  uint64_t address[64];
  for (uint32_t byte = 0; byte < access.size_bytes; byte += 4) {
    emu::for_each_lane(access.mask, [&](int lane) {
      const uint64_t offset = access.address[lane] + byte;
      address[lane] = base + offset / 4 * 4 * lanes + static_cast<uint64_t>(lane) * 4;
    });
    record_vector(recorder, at, access, address, std::min(access.size_bytes, 4u));
  }
  recorder.counters.scratch_bytes += access.bytes();
}

void MemoryWatch::record(Recorder& recorder, const emu::WatchPoint& at,
                         const MemoryAccess& access) {
  const auto number = static_cast<uint32_t>(at.tag);
  Recorder::WaveWaits& waits = recorder.waves[at.wave.wave_in_group];
  if (access.mask == 0) return;
  SiteCounts& site = recorder.site(number);
  site.lanes += static_cast<uint64_t>(std::popcount(access.mask));
  site.bytes += access.bytes();
  if (access.is_scalar) {
    waits.smem.add(access.reads());
    if (access.space != Space::kGlobal) return;
    const uint64_t first = access.address[0] / kSectorBytes;
    const uint64_t last = (access.address[0] + access.size_bytes - 1) / kSectorBytes;
    const SectorRun run{first, static_cast<uint32_t>(last + 1 - first), access.size_bytes};
    recorder.counters.scalar_reads += run.count;
    recorder.group->waves[at.wave.wave_in_group].add(request_of(access), false, false, number,
                                                     {&run, 1});
    return;
  }
  switch (access.space) {
    case Space::kLds: {
      waits.lds.add(access.reads());
      const uint32_t banks = emu::lds_bank_count(geometry_.target);
      if (const uint32_t phases = emu::lds_phases_if_free(access, banks); phases != 0) {
        recorder.counters.lds_cycles += phases;
        site.lds_cycles += phases;
        return;
      }
      const emu::LdsCost cost = emu::lds_cost(access, banks);
      recorder.counters.lds_cycles += cost.cycles();
      recorder.counters.lds_conflict_cycles += cost.bank_conflicts;
      recorder.counters.lds_address_conflict_cycles += cost.address_conflicts;
      site.lds_cycles += cost.cycles();
      site.lds_conflict_cycles += cost.bank_conflicts + cost.address_conflicts;
      return;
    }
    case Space::kScratch: record_scratch(recorder, at, access); break;
    case Space::kGlobal:
      record_vector(recorder, at, access, access.address, access.size_bytes);
      break;
  }
  // gfx10 and later count stores apart.
  if (!access.reads() && geometry_.target.major >= 10) return;
  waits.vmem.add(access.reads());
}

void MemoryWatch::accessing(const emu::WatchPoint& at,
                            std::span<const MemoryAccess> accesses) noexcept {
  Recorder& recorder = *static_cast<Recorder*>(at.state);
  ++recorder.site(static_cast<uint32_t>(at.tag)).accessed;
  for (const MemoryAccess& access : accesses) record(recorder, at, access);
}

void MemoryWatch::run_batch(std::vector<std::unique_ptr<Group>>& batch) {
  struct Active {
    AccessStream* stream;
    uint32_t cu;
  };
  std::vector<Active> active;
  const uint32_t xccs = geometry_.xccs;
  for (const std::unique_ptr<Group>& group : batch) {
    const auto xcc = static_cast<uint32_t>(group->linear % xccs);
    const auto in_xcc = static_cast<uint32_t>(group->linear / xccs % geometry_.cus_per_xcc);
    for (AccessStream& wave : group->waves)
      if (wave.size_bytes() != 0) active.push_back({&wave, xcc * geometry_.cus_per_xcc + in_xcc});
  }
  const uint32_t known = sites_.size();
  if (misses_.size() < known) misses_.resize(known);
  AccessStream::Item item;
  while (!active.empty()) {
    size_t kept = 0;
    for (const Active& wave : active) {
      if (!wave.stream->next(item)) continue;
      system_.access(wave.cu, item, counters_, misses_[item.site]);
      active[kept++] = wave;
    }
    active.resize(kept);
  }
}

// From the workgroup at `at` on, those that follow each other can go with the next batches.
void MemoryWatch::note_ready(Waiting::const_iterator at) {
  for (; at != waiting_.end() && at->first == ready_end_; ++at) {
    ++ready_end_;
    ready_bytes_ += at->second->size_bytes();
  }
}

bool MemoryWatch::is_batch_ready() const {
  return ready_end_ - next_ >= batch_groups_ || ready_bytes_ > kMaxWaitingBytes;
}

std::vector<std::unique_ptr<MemoryWatch::Group>> MemoryWatch::take_batch(bool all) {
  std::vector<std::unique_ptr<Group>> batch;
  if (!all && !is_batch_ready()) return batch;
  size_t bytes = 0;
  auto at = waiting_.begin();
  for (; at != waiting_.end() && batch.size() < batch_groups_ && bytes <= kMaxWaitingBytes; ++at) {
    bytes += at->second->size_bytes();
    next_ = at->first + 1;
    batch.push_back(std::move(at->second));
  }
  waiting_.erase(waiting_.begin(), at);
  ready_bytes_ -= std::min(bytes, ready_bytes_);
  return batch;
}

void MemoryWatch::simulate(bool all) {
  for (;;) {
    std::vector<std::unique_ptr<Group>> batch;
    {
      const std::lock_guard lock(mutex_);
      batch = take_batch(all);
    }
    if (batch.empty()) return;
    run_batch(batch);
    const std::lock_guard lock(mutex_);
    for (std::unique_ptr<Group>& group : batch) idle_groups_.push_back(std::move(group));
  }
}

// From how often each straight run was executed: kinds of arithmetic, instruction fetch.
void MemoryWatch::count_instructions(const emu::Launch& launch) {
  uint64_t footprint = 0;
  for (const SiteCounts& block : result_.blocks) {
    const uint64_t first = block.pc.value / kSectorBytes;
    const uint64_t last = (block.pc.value + block.bytes - 1) / kSectorBytes;
    counters_.instruction_reads += block.executed * (last + 1 - first);
    footprint += last + 1 - first;
  }
  const uint64_t groups = launch.group_count;
  const uint64_t per_cache = geometry_.cus_per_scalar_cache;
  const uint64_t caches = std::min<uint64_t>(groups, (geometry_.cus() + per_cache - 1) / per_cache);
  const uint64_t xccs = std::min<uint64_t>(groups, geometry_.xccs);
  // Code that does not fit is fetched again and again; how often depends on its loops.
  system_.fetch_instructions(footprint, caches, xccs, counters_);
  const uint64_t room = geometry_.instruction_bytes / kSectorBytes;
  if (footprint > room) {
    const uint64_t again = counters_.instruction_reads * (footprint - room) / footprint;
    counters_.instruction_read_misses = std::max(counters_.instruction_read_misses, again);
  }
  counters_.instruction_read_misses =
      std::min(counters_.instruction_read_misses, counters_.instruction_reads);
}

void MemoryWatch::dispatch_ended(const emu::Launch& launch, const emu::DispatchResult&) noexcept {
  const std::lock_guard simulating(simulating_);
  simulate(/*all=*/true);
  std::vector<SiteCounts> sums(sites_.size());
  misses_.resize(sums.size());
  for (const std::unique_ptr<Recorder>& recorder : recorders_) {
    const uint64_t longest = std::max(counters_.longest_wave, recorder->counters.longest_wave);
    counters_.add(recorder->counters);
    counters_.longest_wave = longest;
    for (size_t i = 0; i < recorder->sites.size() && i < sums.size(); ++i)
      add_site(sums[i], recorder->sites[i]);
  }
  for (uint32_t i = 1; i < sums.size(); ++i) {
    const Site site = sites_.at(i);
    SiteCounts counts = sums[i];
    counts.pc = site.pc;
    if (site.instructions != 0 && counts.executed != 0) {
      result_.blocks.push_back({.pc = site.pc,
                                .instructions = site.instructions,
                                .executed = counts.executed,
                                .bytes = site.code_bytes});
      result_.block_instructions += counts.executed * site.instructions;
      add_executions(result_.instructions, site.kinds, counts.executed);
    }
    if (counts.accessed == 0) continue;
    counts.executed = counts.accessed;
    counts.l1_misses = misses_[i].l1_misses;
    counts.l2_misses = misses_[i].l2_misses;
    result_.accesses.push_back(counts);
  }
  const auto by_pc = [](const SiteCounts& a, const SiteCounts& b) {
    return a.pc.value < b.pc.value;
  };
  std::sort(result_.blocks.begin(), result_.blocks.end(), by_pc);
  std::sort(result_.accesses.begin(), result_.accesses.end(), by_pc);
  count_instructions(launch);
  system_.finish(counters_);
  result_.memory = counters_;
}

}  // namespace wavetap::cachesim
