#include "agent/probe_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "amd/hsa_info.h"

namespace wavetap::agent {
namespace {

using format::kMostRecordWords;

constexpr uint32_t kAgentMaxWavesPerUnit = 0xA00A;  // HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU

// Shared with a GPU: what the other side writes is read as atomics.
uint64_t acquire(const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void store(uint64_t& word, uint64_t value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }

void* allocate(uint64_t agent, size_t bytes) {
  const Hsa& next = hsa();
  void* made = nullptr;
  if (shared_pool() == 0 ||
      next.hsa_amd_memory_pool_allocate(shared_pool(), bytes, 0, &made) != kHsaSuccess)
    return nullptr;
  if (next.hsa_amd_agents_allow_access(1, &agent, nullptr, made) != kHsaSuccess) {
    next.hsa_amd_memory_pool_free(made);
    return nullptr;
  }
  std::memset(made, 0, bytes);
  return made;
}

// What all waves that the GPU holds may reserve between their look at the ring and their addition.
// Twice that: waves of another queue may be put aside in that very moment.
uint64_t margin_bytes(uint64_t agent) {
  uint32_t units = 0, waves = 0;
  hsa().hsa_agent_get_info(agent, amd::kAgentComputeUnits, &units);
  hsa().hsa_agent_get_info(agent, kAgentMaxWavesPerUnit, &waves);
  if (units == 0) units = 512;
  if (waves == 0 || waves > 64) waves = 64;
  return uint64_t{2} * units * waves * kMostRecordWords * sizeof(uint64_t);
}

}  // namespace

ProbeDevice* ProbeDevice::make(uint64_t agent, uint64_t ring_bytes, uint32_t wants) {
  auto* const device = new (std::nothrow) ProbeDevice;
  if (device == nullptr) return nullptr;
  const uint64_t margin = margin_bytes(agent);
  const uint64_t bytes = std::bit_ceil(std::max(ring_bytes, margin + margin / 2));
  device->agent_ = agent;
  device->has_tables_ = (wants & format::kProbeTable) != 0;
  device->ring_ = static_cast<format::ProbeRing*>(allocate(agent, sizeof(format::ProbeRing)));
  device->words_ = static_cast<uint64_t*>(allocate(agent, bytes));
  device->slots_ = static_cast<ProbeSlot*>(allocate(agent, kSlots * sizeof(ProbeSlot)));
  if (device->ring_ == nullptr || device->words_ == nullptr || device->slots_ == nullptr ||
      (device->has_tables_ && !device->tables_.open(agent))) {
    for (void* const given : {static_cast<void*>(device->ring_), static_cast<void*>(device->words_),
                              static_cast<void*>(device->slots_)})
      if (given != nullptr) hsa().hsa_amd_memory_pool_free(given);
    delete device;
    return nullptr;
  }
  device->word_mask_ = bytes / sizeof(uint64_t) - 1;
  device->usable_bytes_ = bytes - margin;
  return device;
}

ProbeSlot* ProbeDevice::take(uint32_t sites) {
  const uint32_t first = next_.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kSlots; ++i) {
    const uint32_t at = (first + i) % kSlots;
    uint32_t free = kFree;
    if (!state_[at].compare_exchange_strong(free, kTaken, std::memory_order_acq_rel)) continue;
    slots_[at].launch = {};
    slots_[at].launch.ring = reinterpret_cast<uint64_t>(ring_);
    slots_[at].launch.words = reinterpret_cast<uint64_t>(words_);
    slots_[at].launch.word_mask = word_mask_;
    slots_[at].launch.usable_bytes = usable_bytes_;
    if (!has_tables_ || tables_.take(sites, &slots_[at].launch)) return &slots_[at];
    state_[at].store(kFree, std::memory_order_release);
    return nullptr;
  }
  return nullptr;
}

void ProbeDevice::start(ProbeSlot& slot, uint64_t lanes) {
  const auto at = static_cast<size_t>(&slot - slots_);
  lanes_[at] = lanes;
  state_[at].store(kRunning, std::memory_order_release);
}

void ProbeDevice::free_slot(uint32_t slot) {
  if (has_tables_) tables_.put_back(slots_[slot].launch);
  state_[slot].store(kFree, std::memory_order_release);
}

bool ProbeDevice::read_counts(const format::ProbeLaunch& launch, bool is_done) {
  counts_.clear();
  return !has_tables_ || tables_.read(launch, !is_done, &counts_);
}

bool ProbeDevice::drain(std::vector<uint64_t>& out, size_t most) {
  for (uint32_t i = 0; i < kSlots; ++i)
    if (state_[i].load(std::memory_order_acquire) == kRunning)
      seen_done_[i] = acquire(slots_[i].launch.lanes_done) >= lanes_[i];
  while (!is_damaged_ && out.size() < most) {
    const uint64_t at = tail_ / sizeof(uint64_t);
    const uint64_t header = acquire(words_[at & word_mask_]);
    if (header == 0) break;
    const uint32_t count = format::unpack(header).words;
    is_damaged_ = count < format::kPointWords || count > kMostRecordWords;
    if (is_damaged_) break;
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t& word = words_[(at + i) & word_mask_];
      out.push_back(__atomic_load_n(&word, __ATOMIC_RELAXED));
      __atomic_store_n(&word, 0, __ATOMIC_RELAXED);
    }
    tail_ += count * sizeof(uint64_t);
  }
  // Who sees the new tail sees the zeros.
  store(ring_->tail, tail_);
  return !is_damaged_;
}

bool ProbeDevice::is_busy() const {
  return std::any_of(std::begin(state_), std::end(state_), [](const std::atomic<uint32_t>& state) {
    return state.load(std::memory_order_acquire) == kRunning;
  });
}

uint64_t ProbeDevice::lost() const { return acquire(ring_->lost); }

}  // namespace wavetap::agent
