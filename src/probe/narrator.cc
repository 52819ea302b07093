#include "probe/narrator.h"

#include <algorithm>

#include "emu/access.h"
#include "emu/lds_banks.h"
#include "probe/session_state.h"

namespace wavetap::probe {

uint32_t Narrator::wants() const {
  uint32_t wants = 0;
  for (const auto& handler : session_.handlers_)
    if ((handler->calls->wants & WAVETAP_SUMS) == 0) wants |= handler->calls->wants;
  return wants;
}

uint32_t Narrator::wants_sums() const {
  uint32_t wants = 0;
  for (const auto& handler : session_.handlers_)
    if ((handler->calls->wants & WAVETAP_SUMS) != 0) wants |= handler->calls->wants;
  return wants;
}

const Code* Narrator::add_code(std::unique_ptr<Code> code) {
  const std::lock_guard lock(session_.code_mutex_);
  code->described.id = static_cast<uint32_t>(session_.codes_.size());
  session_.codes_.push_back(std::move(code));
  return session_.codes_.back().get();
}

template <class F>
void Narrator::tell(uint32_t wanted, F&& f) {
  for (size_t i = 0; i < session_.handlers_.size(); ++i) {
    SessionHandler& handler = *session_.handlers_[i];
    if ((handler.calls->wants & wanted) != 0 && (handler.calls->wants & WAVETAP_SUMS) == 0)
      handler.call([&](const wavetap_handler& calls) { f(calls, strand_->of_handler[i]); });
  }
}

wavetap_point Narrator::point(const At& at) const {
  return {&strand_->waves[at.wave].wave, &at.code->described, at.site, 0, at.exec};
}

bool Narrator::find_strand(const emu::Dispatch& dispatch) {
  strand_ = nullptr;
  ActiveDispatch* active = nullptr;
  for (const auto& candidate : session_.active_)
    if (candidate->dispatch == &dispatch) active = candidate.get();
  if (active == nullptr) return false;
  if (active->strands.empty()) {
    active->strands.push_back(std::make_unique<Strand>());
    strand_ = active->strands.back().get();
    strand_->active = active;
    for (size_t i = 0; i < session_.handlers_.size(); ++i)
      strand_->of_handler[i] =
          session_.handlers_[i]->call([&](const wavetap_handler& handler) -> void* {
            return handler.strand_begin == nullptr
                       ? active->of_handler[i]
                       : handler.strand_begin(handler.self, active->of_handler[i]);
          });
  }
  strand_ = active->strands.front().get();
  return true;
}

void Narrator::begin_workgroup(const emu::Dispatch& dispatch, const uint32_t (&id)[3],
                               uint64_t number, uint32_t waves, uint64_t lanes) {
  if (!find_strand(dispatch)) return;
  strand_->waves.assign(waves, {});
  for (uint32_t i = 0; i < waves; ++i) {
    wavetap_wave& wave = strand_->waves[i].wave;
    wave.dispatch = &strand_->active->described;
    std::copy(id, id + 3, wave.workgroup);
    wave.number = i;
    wave.workgroup_number = number;
  }
  lanes_ = lanes;
  tell_waves(WAVETAP_WAVE_BEGINS);
}

void Narrator::end_workgroup(bool complete) {
  tell_waves(complete ? WAVETAP_WAVE_ENDS : WAVETAP_WAVE_ABANDONED);
}

void Narrator::tell_waves(uint32_t what) {
  if (strand_ == nullptr) return;
  const uint32_t size = strand_->active->described.wave_size;
  for (uint32_t i = 0; i < strand_->waves.size(); ++i) {
    const uint64_t before = uint64_t{i} * size;
    const uint64_t mine = std::min<uint64_t>(lanes_ > before ? lanes_ - before : 0, size);
    wavetap_wave_event event{};
    event.size = sizeof event;
    event.what = what;
    event.at.wave = &strand_->waves[i].wave;
    event.at.exec = mine >= 64 ? ~uint64_t{0} : (uint64_t{1} << mine) - 1;
    tell(WAVETAP_WAVES,
         [&](const wavetap_handler& calls, void* strand) { calls.wave(strand, &event); });
  }
}

void Narrator::block(const At& at) {
  if (strand_ == nullptr) return;
  Strand::WaveTrack& track = strand_->waves[at.wave];
  const wavetap_block event{sizeof event,     point(at), track.from,
                            track.from_block, 0,         track.from_exec};
  track.from = &at.code->described;
  track.from_block = at.site;
  track.from_exec = at.exec;
  tell(WAVETAP_BLOCKS,
       [&](const wavetap_handler& calls, void* strand) { calls.block(strand, &event); });
}

void Narrator::memory(const At& at, const Access& access) {
  if (strand_ == nullptr) return;
  wavetap_memory event{};
  event.size = sizeof event;
  event.at = point(at);
  event.space = access.space;
  event.access = access.access;
  event.part = access.part;
  event.parts = access.parts;
  event.element_bytes = access.element_bytes;
  event.byte_mask =
      access.element_bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << access.element_bytes) - 1;
  event.lanes = access.lanes;
  event.address = access.address;
  if (access.space == WAVETAP_LDS && access.lanes != 0 && access.element_bytes <= 16 &&
      (session_.wants_ & WAVETAP_LDS_COST) != 0) {
    emu::MemoryAccess described;
    described.space = emu::Space::kLds;
    described.access = static_cast<emu::Access>(access.access);
    described.size_bytes = access.element_bytes;
    described.mask = access.lanes;
    described.address = access.address;
    const emu::LdsCost cost = emu::lds_cost(described, strand_->active->described.lds_banks);
    event.lds = {cost.cycles(), cost.phases,     cost.bank_conflicts, cost.address_conflicts,
                 cost.ways,     cost.worst_bank, cost.conflicting};
  }
  tell(WAVETAP_MEMORY,
       [&](const wavetap_handler& calls, void* strand) { calls.memory(strand, &event); });
}

void Narrator::barrier(const At& at) {
  if (strand_ == nullptr) return;
  wavetap_barrier event{};
  event.size = sizeof event;
  event.at = point(at);
  event.what = WAVETAP_BARRIER_REACHED;
  tell(WAVETAP_BARRIERS,
       [&](const wavetap_handler& calls, void* strand) { calls.barrier(strand, &event); });
}

void Narrator::message(const At& at, uint32_t kind, uint32_t value) {
  if (strand_ == nullptr) return;
  const wavetap_message event{sizeof event, point(at), kind, value};
  tell(WAVETAP_MESSAGES,
       [&](const wavetap_handler& calls, void* strand) { calls.message(strand, &event); });
}

void Narrator::sum(const emu::Dispatch& dispatch, const wavetap_sum& sum, uint32_t kinds) {
  if (!find_strand(dispatch)) return;
  for (size_t i = 0; i < session_.handlers_.size(); ++i) {
    SessionHandler& handler = *session_.handlers_[i];
    if ((handler.calls->wants & WAVETAP_SUMS) != 0 && (handler.calls->wants & kinds) != 0)
      handler.call([&](const wavetap_handler& calls) { calls.sum(strand_->of_handler[i], &sum); });
  }
}

}  // namespace wavetap::probe
