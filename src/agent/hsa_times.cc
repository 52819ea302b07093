#include "agent/hsa_times.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "agent/hsa_table.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

constinit std::atomic<bool> g_in_flight{false};
constinit uint64_t g_ticks_per_second = 1'000'000'000;

amd::Signal* block_of(uint64_t signal) { return reinterpret_cast<amd::Signal*>(signal); }

// The GPU writes these behind the compiler's back.
uint64_t load(const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
int64_t load(const int64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

void clear_stamps(amd::Signal& signal) {
  __atomic_store_n(&signal.start_ts, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&signal.end_ts, 0, __ATOMIC_RELAXED);
}

int64_t to_ns(uint64_t system_ticks) {
  if (g_ticks_per_second == 1'000'000'000) return static_cast<int64_t>(system_ticks);
  return static_cast<int64_t>(static_cast<unsigned __int128>(system_ticks) * 1'000'000'000 /
                              g_ticks_per_second);
}

uint32_t hash(uint64_t signal) {
  return static_cast<uint32_t>((signal >> 6) * 0x9e3779b97f4a7c15 >> 32);
}

}  // namespace

constinit ProgramSignals g_program_signals{};

int64_t boottime_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void note_in_flight() {
  if (g_in_flight.load(std::memory_order_relaxed)) return;
  if (!g_in_flight.exchange(true, std::memory_order_acq_rel)) wake_helper();
}

void keep_in_flight() { g_in_flight.store(true, std::memory_order_release); }

bool take_in_flight() {
  return g_in_flight.load(std::memory_order_relaxed) &&
         g_in_flight.exchange(false, std::memory_order_acq_rel);
}

void open_times() {
  uint64_t frequency = 0;
  if (hsa().hsa_system_get_info(kSystemTimestampFrequency, &frequency) == kHsaSuccess &&
      frequency != 0) {
    g_ticks_per_second = frequency;
  }
}

void write_completion_ns(uint64_t id, format::Kind kind, int64_t start_ns, int64_t end_ns) {
  Stream* out = stream();
  auto* record = out == nullptr ? nullptr : out->reserve<format::CompleteRecord>();
  if (record == nullptr) return count_loss(format::Loss::kUntimed);
  record->id = id;
  record->start_ns = start_ns;
  record->end_ns = end_ns < start_ns ? start_ns : end_ns;
  out->commit(record, format::Kind::kComplete, static_cast<uint8_t>(kind));
}

void write_completion(const Completion& completion) {
  // The end first: the runtime may resynchronise its clocks on the way, and the later time decides.
  uint64_t end = 0;
  uint64_t start = 0;
  if (completion.end == 0 ||
      hsa().hsa_amd_profiling_convert_tick_to_system_domain(completion.agent, completion.end,
                                                            &end) != kHsaSuccess ||
      hsa().hsa_amd_profiling_convert_tick_to_system_domain(completion.agent, completion.start,
                                                            &start) != kHsaSuccess) {
    return count_loss(format::Loss::kUntimed);
  }
  write_completion_ns(completion.id, completion.kind, to_ns(start), to_ns(end));
}

void write_copy(const Copy& copy, uint64_t id) {
  Stream* out = stream();
  auto* record = out == nullptr ? nullptr : out->reserve<format::CopyRecord>();
  if (record == nullptr) return count_loss(format::Loss::kOther);
  record->id = id;
  record->time = copy.time;
  record->destination = copy.destination;
  record->source = copy.source;
  record->bytes = copy.bytes;
  record->owner = copy.owner;
  record->destination_agent = copy.destination_agent;
  record->source_agent = copy.source_agent;
  record->engine = copy.engine;
  record->reserved = 0;
  out->commit(record, format::Kind::kCopy, static_cast<uint8_t>(copy.kind));
}

// ---- the slab ----------------------------------------------------------------------------------

bool SignalSlab::open(uint64_t agent, uint64_t pool, uint32_t count) {
  if (slots_ != nullptr) sys::unmap(slots_, mapped_ * sizeof(Slot));
  slots_ = nullptr;
  void* memory = nullptr;
  if (hsa().hsa_amd_memory_pool_allocate(pool, count * sizeof(amd::Signal), 0, &memory) !=
      kHsaSuccess)
    return false;
  char* slots = nullptr;
  if (hsa().hsa_amd_agents_allow_access(1, &agent, nullptr, memory) != kHsaSuccess ||
      (slots = sys::map(count * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1)) == nullptr) {
    hsa().hsa_amd_memory_pool_free(memory);
    return false;
  }
  agent_ = agent;
  signals_ = static_cast<amd::Signal*>(memory);
  slots_ = reinterpret_cast<Slot*>(slots);
  count_ = mapped_ = count;
  crowded_at_.store(count / 2, std::memory_order_relaxed);
  head_.store(0, std::memory_order_relaxed);
  tail_.store(0, std::memory_order_relaxed);
  return true;
}

void SignalSlab::close() {
  if (signals_ == nullptr) return;
  hsa().hsa_amd_memory_pool_free(signals_);
  abandon();
}

void SignalSlab::abandon() {
  signals_ = nullptr;
  count_ = 0;
}

amd::Signal* SignalSlab::take(const Operation& operation, uint64_t stands_for) {
  constexpr int kTries = 64;
  uint64_t head = head_.load(std::memory_order_relaxed);
  for (int i = 0; i < kTries && count_ != 0; ++i, ++head) {
    Slot& slot = slots_[head & (count_ - 1)];
    // Pairs with the release in harvest(): its reads of the signal are over.
    if (slot.id.load(std::memory_order_acquire) != 0) continue;
    amd::Signal& signal = signals_[head & (count_ - 1)];
    // On the first round, so that a queue of few operations does not touch memory for thousands.
    if (head < count_) std::memset(&signal, 0, sizeof signal);
    signal.kind = kSignalKindUser;
    signal.start_ts = 0;
    signal.end_ts = 0;
    __atomic_store_n(&signal.value, 1, __ATOMIC_RELAXED);
    slot.kind = operation.kind;
    slot.kernel_object.store(operation.kernel_object, std::memory_order_relaxed);
    slot.time.store(operation.time, std::memory_order_relaxed);
    slot.stands_for = stands_for;
    // Pairs with the acquire in harvest(): the signal is 1 before it is looked at.
    slot.id.store(operation.id, std::memory_order_release);
    head_.store(head + 1, std::memory_order_release);
    return &signal;
  }
  head_.store(head, std::memory_order_release);
  return nullptr;
}

uint32_t SignalSlab::harvest() {
  if (count_ == 0) return 0;
  const uint64_t head = head_.load(std::memory_order_acquire);
  uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (head - tail > count_) tail = head - count_;
  uint32_t in_flight = 0;
  uint64_t first_busy = head;
  for (uint64_t i = tail; i != head; ++i) {
    Slot& slot = slots_[i & (count_ - 1)];
    uint64_t id = slot.id.load(std::memory_order_acquire);
    if (id == 0 || id == kCollecting) continue;
    amd::Signal& signal = signals_[i & (count_ - 1)];
    if (load(signal.value) > 0) {
      if (in_flight++ == 0) first_busy = i;
      continue;
    }
    // Ids are not used again, so it is still the operation whose signal was looked at, and nobody
    // else's now.
    if (!slot.id.compare_exchange_strong(id, kCollecting, std::memory_order_acq_rel)) continue;
    const uint64_t start = signal.start_ts;
    const uint64_t end = signal.end_ts;
    const uint64_t stands_for = slot.stands_for;
    const format::Kind kind = slot.kind;
    if (stands_for != 0) g_program_signals.note_substituted(stands_for, start, end);
    slot.id.store(0, std::memory_order_release);
    write_completion({id, kind, agent_, start, end});
  }
  tail_.store(first_busy, std::memory_order_relaxed);
  // Again when half of what is free now is taken.
  crowded_at_.store(head + std::max<uint64_t>((count_ - in_flight) / 2, 64),
                    std::memory_order_relaxed);
  return in_flight;
}

// ---- the program's signals ---------------------------------------------------------------------

ProgramSignals::Shard& ProgramSignals::shard_of(uint64_t signal) {
  return shards_[hash(signal) % kShards];
}

ProgramSignals::Entry* ProgramSignals::find(Shard& shard, uint64_t signal) {
  if (shard.capacity == 0) return nullptr;
  for (uint32_t i = hash(signal) / kShards;; ++i) {
    Entry& entry = shard.entries[i & (shard.capacity - 1)];
    if (entry.signal == signal) return &entry;
    if (entry.signal == 0) return nullptr;
  }
}

bool ProgramSignals::grow(Shard& shard) {
  // At most half full, so that a search ends soon; places that were used once go away on the way.
  const uint32_t capacity = shard.live * 4 < 64 ? 64 : std::bit_ceil(shard.live * 4);
  auto* entries = reinterpret_cast<Entry*>(
      sys::map(capacity * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
  if (entries == nullptr) return false;
  for (uint32_t i = 0; i < shard.capacity; ++i) {
    const Entry& entry = shard.entries[i];
    if (entry.signal <= 1) continue;
    uint32_t at = hash(entry.signal) / kShards;
    while (entries[at & (capacity - 1)].signal != 0) ++at;
    entries[at & (capacity - 1)] = entry;
  }
  if (shard.entries != nullptr) sys::unmap(shard.entries, shard.capacity * sizeof(Entry));
  shard.entries = entries;
  shard.capacity = capacity;
  shard.used = shard.live;
  return true;
}

void ProgramSignals::created(uint64_t signal) {
  if (signal <= 1) return;
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  if (Entry* known = find(shard, signal); known != nullptr) return;
  if (shard.used * 2 >= shard.capacity && !grow(shard)) return;
  uint32_t at = hash(signal) / kShards;
  while (shard.entries[at & (shard.capacity - 1)].signal > 1) ++at;
  Entry& entry = shard.entries[at & (shard.capacity - 1)];
  if (entry.signal == 0) ++shard.used;
  entry = Entry{};
  entry.signal = signal;
  ++shard.live;
}

void ProgramSignals::destroyed(uint64_t signal) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  Entry* entry = find(shard, signal);
  if (entry == nullptr) return;
  settle(shard, *entry);
  entry->signal = 1;
  --shard.live;
}

bool ProgramSignals::collect_copy(Entry& entry, bool value_may_be_new) {
  const int64_t final_value = entry.value - (entry.rows == 0 ? 1 : entry.rows);
  if (!value_may_be_new && load(block_of(entry.signal)->value) > final_value) return false;
  HsaTimes times{};
  if (hsa().hsa_amd_profiling_get_async_copy_time(entry.signal, &times) != kHsaSuccess)
    return false;
  // A copy that has not finished has no stamps, and no stamp converts to a time long before the
  // copy.
  constexpr int64_t kClockError = 1'000'000;
  if (to_ns(times.end) + kClockError < entry.submitted_ns) return false;
  if (entry.rows != 0) write_copy(entry.copy, entry.id);
  write_completion_ns(entry.id, entry.kind,
                      entry.rows == 0 ? to_ns(times.start) : entry.submitted_ns, to_ns(times.end));
  return true;
}

bool ProgramSignals::collect(Shard& shard, Entry& entry, bool value_may_be_new) {
  if (entry.kind == format::Kind::kCopy) {
    if (!collect_copy(entry, value_may_be_new)) return false;
  } else {
    const amd::Signal& block = *block_of(entry.signal);
    const uint64_t end = load(block.end_ts);
    const uint64_t start = load(block.start_ts);
    if (end == 0 || start == 0) return false;
    write_completion({entry.id, entry.kind, entry.agent, start, end});
  }
  entry.id = 0;
  entry.rows = 0;
  shard.add_pending(-1);
  return true;
}

void ProgramSignals::settle(Shard& shard, Entry& entry) {
  if (entry.id == 0) return;
  if (is_hsa_loaded()) {
    if (collect(shard, entry, true)) return;
    if (entry.rows != 0) write_copy(entry.copy, entry.id);
    count_loss(format::Loss::kUntimed);
  }
  entry.rows = 0;
  entry.id = 0;
  shard.add_pending(-1);
}

ProgramSignals::Timing ProgramSignals::submit_packet(uint64_t signal, const Operation& operation,
                                                     uint64_t agent) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  Entry* entry = find(shard, signal);
  if (entry == nullptr) return Timing::kUnknown;
  amd::Signal& block = *block_of(signal);
  if (entry->id != 0 && !collect(shard, *entry, true)) {
    settle(shard, *entry);
    entry->shared = true;
  }
  // HIP gives barriers a count of two when a callback of the host is to have the second.
  if (load(block.value) > 1 && operation.kind == format::Kind::kDispatch) entry->shared = true;
  if (entry->shared) return Timing::kSubstitute;
  clear_stamps(block);
  entry->id = operation.id;
  entry->kind = operation.kind;
  entry->queue = operation.queue;
  entry->kernel_object = operation.kernel_object;
  entry->time = operation.time;
  entry->agent = agent;
  entry->start = entry->end = 0;
  shard.add_pending(1);
  return Timing::kOwn;
}

ProgramSignals::Timing ProgramSignals::submit_copy(uint64_t signal, uint64_t id, const Copy& copy) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  Entry* entry = find(shard, signal);
  if (entry == nullptr) return Timing::kUnknown;
  amd::Signal& block = *block_of(signal);
  const int64_t value = load(block.value);
  // The next row, unless the signal has counted for all of them or was set anew.
  const bool is_row =
      entry->id != 0 && entry->rows != 0 && entry->rows < entry->value && value <= entry->value;
  if (is_row && !collect(shard, *entry, false)) {
    entry->copy.bytes += copy.bytes;
    ++entry->rows;
    return Timing::kGrouped;
  }
  if (entry->id != 0 && !collect(shard, *entry, true)) settle(shard, *entry);
  clear_stamps(block);
  entry->id = id;
  entry->kind = format::Kind::kCopy;
  entry->submitted_ns = boottime_ns();
  entry->value = value;
  entry->start = entry->end = 0;
  shard.add_pending(1);
  if (value <= 1) return Timing::kOwn;
  entry->copy = copy;
  entry->copy.kind = format::CopyKind::kRect;
  entry->rows = 1;
  return Timing::kGrouped;
}

void ProgramSignals::cancel_copy(uint64_t signal, uint64_t id, const Copy& copy) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  Entry* entry = find(shard, signal);
  if (entry == nullptr || entry->id == 0) return;
  if (entry->rows > 1) {
    entry->copy.bytes -= copy.bytes;
    --entry->rows;
  } else if (entry->id == id) {
    entry->id = 0;
    entry->rows = 0;
    shard.add_pending(-1);
  }
}

void ProgramSignals::submit_other(uint64_t signal) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  Entry* entry = find(shard, signal);
  if (entry != nullptr) settle(shard, *entry);
}

void ProgramSignals::share(uint64_t signal) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  Entry* entry = find(shard, signal);
  if (entry == nullptr) return;
  if (entry->id != 0 && !collect(shard, *entry, true)) settle(shard, *entry);
  entry->shared = true;
}

bool ProgramSignals::is_shared(uint64_t signal) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  const Entry* entry = find(shard, signal);
  return entry != nullptr && entry->shared;
}

bool ProgramSignals::substituted(uint64_t signal, uint64_t* start, uint64_t* end) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  const Entry* entry = find(shard, signal);
  if (entry == nullptr || entry->end == 0) return false;
  *start = entry->start;
  *end = entry->end;
  return true;
}

void ProgramSignals::note_substituted(uint64_t signal, uint64_t start, uint64_t end) {
  Shard& shard = shard_of(signal);
  const InShard in(*this, shard);
  Entry* entry = find(shard, signal);
  if (entry == nullptr || end < entry->end) return;
  entry->start = start;
  entry->end = end;
}

uint32_t ProgramSignals::harvest() {
  uint32_t in_flight = 0;
  for (Shard& shard : shards_) {
    if (shard.in_flight() == 0) continue;
    const InShard in(*this, shard);
    for (uint32_t i = 0; i < shard.capacity && shard.in_flight() != 0; ++i) {
      Entry& entry = shard.entries[i];
      if (entry.signal > 1 && entry.id != 0) collect(shard, entry, false);
    }
    in_flight += shard.in_flight();
  }
  return in_flight;
}

void ProgramSignals::unlock_after_fork() {
  for (Shard& shard : shards_) new (&shard.lock) LockWord;
}

void ProgramSignals::clear() { life_.fetch_add(1, std::memory_order_release); }

ProgramSignals::InShard::InShard(ProgramSignals& signals, Shard& shard) : locked_(shard.lock) {
  const uint32_t life = signals.life_.load(std::memory_order_acquire);
  if (shard.life == life) return;
  if (shard.entries != nullptr)
    std::memset(static_cast<void*>(shard.entries), 0, shard.capacity * sizeof(Entry));
  shard.used = shard.live = 0;
  shard.pending.store(0, std::memory_order_relaxed);
  shard.life = life;
}

}  // namespace wavetap::agent
