// From the engine's callbacks to the events of wavetap/handler.h.
#include <algorithm>
#include <bit>

#include "emu/lds_banks.h"
#include "emu/wave.h"
#include "emu/workgroup.h"
#include "probe/session.h"
#include "probe/session_state.h"

namespace wavetap::probe {
namespace {

constexpr uint32_t kLaneValueBytes = 16;
constexpr uint32_t kScalarValueBytes = 64;

bool accesses_memory(const isa::Inst& inst) {
  switch (inst.family) {
    case isa::Family::kSmem:
    case isa::Family::kDs:
    case isa::Family::kFlat:
    case isa::Family::kMubuf: return true;
    default: return false;
  }
}

uint64_t low_bits(uint32_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// What the registers of an access hold, where they have its bytes as they are.
void put_values(const emu::Wave& wave, const emu::MemoryAccess& access, unsigned char* values,
                wavetap_memory& event) {
  event.values = nullptr;
  event.value_stride = 0;
  if (access.data == nullptr) return;
  event.value_stride = access.is_scalar ? kScalarValueBytes : kLaneValueBytes;
  bool known = access.size_bytes <= event.value_stride;
  for (uint64_t rest = access.mask; rest != 0 && known; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    known = emu::read_registers(
        wave, access, lane,
        reinterpret_cast<std::byte*>(values + static_cast<size_t>(lane) * event.value_stride));
  }
  if (known) event.values = values;
}

void put_lds_cost(const emu::MemoryAccess& access, uint32_t banks, wavetap_lds_cost& to) {
  if (const uint32_t phases = emu::lds_phases_if_free(access, banks); phases != 0) {
    to = {phases, phases, 0, 0, 1, static_cast<uint32_t>(access.address[0] / 4) & (banks - 1), 0};
    return;
  }
  const emu::LdsCost cost = emu::lds_cost(access, banks);
  to = {cost.cycles(), cost.phases,     cost.bank_conflicts, cost.address_conflicts,
        cost.ways,     cost.worst_bank, cost.conflicting};
}

// Calls f(handler, what it keeps for the strand) for each of them.
template <class F>
void tell(const Strand& strand, const std::vector<Listener>& listeners, F&& f) {
  for (const Listener& one : listeners) {
    void* const of_handler = strand.of_handler[one.number];
    if (one.free != nullptr) f(*one.free, of_handler);
    else one.handler->call([&](const wavetap_handler& handler) { f(handler, of_handler); });
  }
}

}  // namespace

emu::Wants Session::wants(const isa::Program& program, int32_t index) noexcept {
  // Lowering asks from the first instruction on.
  const Code* code = index == 0 ? learn(program) : code_of(program);
  if (code == nullptr) code = learn(program);
  const SiteTag& tag = code->tags[static_cast<size_t>(index)];
  emu::Wants wants;
  wants.before = (tag.enters_block && (wants_ & WAVETAP_BLOCKS) != 0) ||
                 (tag.sends_message && (wants_ & WAVETAP_MESSAGES) != 0);
  if (accesses_memory(program.insts()[index])) {
    wants.accessing = !of_accesses_.empty();
    wants.accessed = (wants_ & WAVETAP_VALUES) != 0;
  }
  wants.tag = reinterpret_cast<uintptr_t>(&tag);
  return wants;
}

void Session::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  state = nullptr;
  ActiveDispatch* active = nullptr;
  {
    const std::lock_guard lock(active_mutex_);
    for (const auto& candidate : active_)
      if (candidate->dispatch == group.dispatch) active = candidate.get();
  }
  if (active == nullptr) return;
  Strand* strand = nullptr;
  {
    const std::lock_guard lock(active->mutex);
    if (!active->idle.empty()) {
      strand = active->idle.back();
      active->idle.pop_back();
    } else {
      active->strands.push_back(std::make_unique<Strand>());
      strand = active->strands.back().get();
      strand->active = active;
      for (size_t i = 0; i < handlers_.size(); ++i)
        strand->of_handler[i] = handlers_[i]->call([&](const wavetap_handler& handler) -> void* {
          return handler.strand_begin == nullptr
                     ? active->of_handler[i]
                     : handler.strand_begin(handler.self, active->of_handler[i]);
        });
    }
  }
  strand->waves.assign(group.waves.size(), {});
  for (const emu::Wave& wave : group.waves) {
    wavetap_wave& described = strand->waves[wave.wave_in_group].wave;
    described.dispatch = &active->described;
    std::copy(group.id, group.id + 3, described.workgroup);
    described.number = wave.wave_in_group;
    described.workgroup_number = group.linear_id;
  }
  state = strand;
}

void Session::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  auto* strand = static_cast<Strand*>(state);
  if (strand == nullptr) return;
  state = nullptr;
  const std::lock_guard lock(strand->active->mutex);
  strand->active->idle.push_back(strand);
}

void Session::put_site(const emu::Wave& wave, wavetap_point* at) {
  if (wave.program == nullptr || wave.pc <= 0) return;
  const Code* code = code_of(*wave.program);
  const auto site = static_cast<uint32_t>(wave.pc - 1);
  // A wave may have run off the end of its code.
  if (code == nullptr || site >= code->described.site_count) return;
  at->code = &code->described;
  at->site = site;
}

void Session::tell_wave(const emu::Wave& wave, void* state, uint32_t what) {
  auto* strand = static_cast<Strand*>(state);
  if (strand == nullptr || (wants_ & WAVETAP_WAVES) == 0) return;
  wavetap_wave_event event{};
  event.size = sizeof event;
  event.what = what;
  event.at.wave = &strand->waves[wave.wave_in_group].wave;
  event.at.exec = wave.exec();
  if (what != WAVETAP_WAVE_BEGINS) put_site(wave, &event.at);
  for (size_t i = 0; i < handlers_.size(); ++i)
    if ((handlers_[i]->calls->wants & WAVETAP_WAVES) != 0)
      handlers_[i]->call(
          [&](const wavetap_handler& handler) { handler.wave(strand->of_handler[i], &event); });
}

void Session::wave_began(const emu::Wave& wave, void*& state) noexcept {
  tell_wave(wave, state, WAVETAP_WAVE_BEGINS);
}

void Session::wave_ended(const emu::Wave& wave, void*& state) noexcept {
  tell_wave(wave, state,
            wave.state == emu::WaveState::kFinished  ? WAVETAP_WAVE_ENDS
            : wave.state == emu::WaveState::kFaulted ? WAVETAP_WAVE_FAULTS
                                                     : WAVETAP_WAVE_ABANDONED);
}

void Session::tell_barrier(const wavetap_point& at, const Strand& strand, uint32_t what) {
  wavetap_barrier event{};
  event.size = sizeof event;
  event.at = at;
  event.what = what;
  for (size_t i = 0; i < handlers_.size(); ++i)
    if ((handlers_[i]->calls->wants & WAVETAP_BARRIERS) != 0)
      handlers_[i]->call(
          [&](const wavetap_handler& handler) { handler.barrier(strand.of_handler[i], &event); });
}

void Session::barrier_reached(const emu::Wave& wave, GpuAddr, void*& state) noexcept {
  const auto* strand = static_cast<const Strand*>(state);
  if (strand == nullptr || (wants_ & WAVETAP_BARRIERS) == 0) return;
  wavetap_point at{};
  at.wave = &strand->waves[wave.wave_in_group].wave;
  at.exec = wave.exec();
  put_site(wave, &at);
  tell_barrier(at, *strand, WAVETAP_BARRIER_REACHED);
}

void Session::barrier_passed(const emu::Workgroup&, void*& state) noexcept {
  const auto* strand = static_cast<const Strand*>(state);
  if (strand == nullptr || strand->waves.empty() || (wants_ & WAVETAP_BARRIERS) == 0) return;
  wavetap_point at{};
  at.wave = &strand->waves[0].wave;
  tell_barrier(at, *strand, WAVETAP_BARRIER_PASSED);
}

[[gnu::noinline]] void Session::tell_block_to_all(const Strand& strand,
                                                  const wavetap_block& event) {
  tell(strand, of_blocks_, [&](const wavetap_handler& handler, void* of_handler) {
    handler.block(of_handler, &event);
  });
}

// Kernels are mostly small blocks: as few calls as there can be.
[[gnu::always_inline]] inline void Session::tell_block(const emu::WatchPoint& at, Strand& strand,
                                                       const SiteTag& tag) {
  Strand::WaveTrack& track = strand.waves[at.wave.wave_in_group];
  const uint64_t exec = at.wave.exec();
  const wavetap_block event{sizeof event,
                            {&track.wave, &tag.code->described, tag.site, 0, exec},
                            track.from,
                            track.from_block,
                            0,
                            track.from_exec};
  track.from = &tag.code->described;
  track.from_block = tag.site;
  track.from_exec = exec;
  // A handler alone is worth a way of its own.
  if (sole_block_ != nullptr) return sole_block_(strand.of_handler[sole_number_], &event);
  tell_block_to_all(strand, event);
}

void Session::before(const emu::WatchPoint& at) noexcept {
  auto* strand = static_cast<Strand*>(at.state);
  if (strand == nullptr) return;
  const SiteTag& tag = *reinterpret_cast<const SiteTag*>(at.tag);
  if (tag.sends_message) return before_message(at, *strand, tag);
  tell_block(at, *strand, tag);
}

[[gnu::noinline]] void Session::before_message(const emu::WatchPoint& at, Strand& strand,
                                               const SiteTag& tag) {
  if (tag.enters_block && (wants_ & WAVETAP_BLOCKS) != 0) tell_block(at, strand, tag);
  if ((wants_ & WAVETAP_MESSAGES) != 0) tell_message(at, strand, tag);
}

void Session::tell_message(const emu::WatchPoint& at, const Strand& strand, const SiteTag& tag) {
  const wavetap_message event{sizeof event,
                              {&strand.waves[at.wave.wave_in_group].wave, &tag.code->described,
                               tag.site, 0, at.wave.exec()},
                              static_cast<uint32_t>(at.inst.imm16),
                              at.wave.s[isa::slot::kM0]};
  for (size_t i = 0; i < handlers_.size(); ++i)
    if ((handlers_[i]->calls->wants & WAVETAP_MESSAGES) != 0)
      handlers_[i]->call(
          [&](const wavetap_handler& handler) { handler.message(strand.of_handler[i], &event); });
}

template <class Handle>
void Session::for_each_access(const emu::WatchPoint& at,
                              std::span<const emu::MemoryAccess> accesses, Handle&& handle) {
  const auto* strand = static_cast<const Strand*>(at.state);
  if (strand == nullptr) return;
  const SiteTag& tag = *reinterpret_cast<const SiteTag*>(at.tag);
  wavetap_memory event{};
  event.size = sizeof event;
  event.at = {&strand->waves[at.wave.wave_in_group].wave, &tag.code->described, tag.site, 0,
              at.wave.exec()};
  event.parts = static_cast<uint8_t>(accesses.size());
  for (const emu::MemoryAccess& access : accesses) {
    event.space = static_cast<uint8_t>(access.space);
    event.access = static_cast<uint8_t>(access.access);
    event.flags = static_cast<uint8_t>((access.is_scalar ? WAVETAP_SCALAR : 0) |
                                       (access.is_dma ? WAVETAP_DMA : 0));
    event.element_bytes = access.size_bytes;
    event.byte_mask = low_bits(access.size_bytes);
    event.lanes = access.mask;
    event.outside = access.outside;
    event.address = access.address;
    if (access.space == emu::Space::kLds && (wants_ & WAVETAP_LDS_COST) != 0 && access.mask != 0)
      put_lds_cost(access, strand->active->described.lds_banks, event.lds);
    else event.lds = {};
    handle(*strand, access, event);
    ++event.part;
  }
}

void Session::accessing(const emu::WatchPoint& at,
                        std::span<const emu::MemoryAccess> accesses) noexcept {
  for_each_access(
      at, accesses, [&](const Strand& strand, const emu::MemoryAccess&, wavetap_memory& event) {
        tell(strand, of_accesses_, [&](const wavetap_handler& handler, void* of_handler) {
          handler.memory(of_handler, &event);
        });
      });
}

void Session::accessed(const emu::WatchPoint& at,
                       std::span<const emu::MemoryAccess> accesses) noexcept {
  unsigned char values[64 * kLaneValueBytes];
  for_each_access(
      at, accesses,
      [&](const Strand& strand, const emu::MemoryAccess& access, wavetap_memory& event) {
        put_values(at.wave, access, values, event);
        tell(strand, of_values_, [&](const wavetap_handler& handler, void* of_handler) {
          handler.memory(of_handler, &event);
        });
      });
}

}  // namespace wavetap::probe
