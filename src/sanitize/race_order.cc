#include "sanitize/race_order.h"

#include <algorithm>

namespace wavetap::sanitize {

void GroupTime::pass_barrier() {
  KnownClocks seen;
  KnownClocks acquired;
  sealed_for_all = Record::kMaxClock;
  for (uint32_t i = 0; i < wave_count; ++i) {
    WaveTime& wave = waves[i];
    sealed[i] = wave.clock;
    sealed_for_all = std::min(sealed_for_all, sealed[i]);
    if (wave.clock < Record::kMaxClock) ++wave.clock;
    wave.has_news = wave.has_stores = false;
    seen.join(wave.seen);
    acquired.join(wave.acquired);
  }
  for (uint32_t i = 0; i < wave_count; ++i) {
    waves[i].inside = sealed;
    if (!seen.empty()) waves[i].seen = seen;
    if (!acquired.empty()) waves[i].acquired = acquired;
  }
  if (!watches_waits) return;
  // Readers of a word share a clock (race_record.h), so those of one time should have one.
  uint16_t latest = 0;
  for (const WaveTime& wave : waves) latest = std::max(latest, wave.clock);
  for (WaveTime& wave : waves) wave.clock = latest;
  has_late = false;
  for (size_t of = 0; of < kOpenClasses; ++of) {
    for (uint32_t i = 0; i < wave_count; ++i) {
      late[of][i] = waves[i].open.first(static_cast<OpenClass>(of));
      has_late |= late[of][i] != 0;
    }
  }
}

void GroupTime::leave_out_late(OpenClass of, WaveClocks& clocks) const {
  const WaveClocks& from = late[static_cast<size_t>(of)];
  for (uint32_t i = 0; i < wave_count; ++i) {
    if (from[i] == 0 || (clocks[i] > sealed[i] && waves[i].open.first(of) == 0)) continue;
    clocks[i] = std::min(clocks[i], static_cast<uint16_t>(from[i] - 1));
  }
}

void RaceOrder::clear() {
  groups_.clear();
  atomics_.clear();
  learned_ = 0;
}

RaceOrder::GroupHistory& RaceOrder::history_of(const GroupTime& group) {
  GroupHistory& history = groups_[group.number];
  if (history.waves.size() < group.wave_count) history.waves.resize(group.wave_count);
  return history;
}

void RaceOrder::complete(const GroupTime& group, uint32_t wave) {
  const std::lock_guard lock(mutex_);
  std::vector<uint16_t>& completed = history_of(group).waves[wave].completed;
  const uint16_t clock = group.waves[wave].completed;
  if (completed.empty() || completed.back() < clock) completed.push_back(clock);
}

void RaceOrder::pass_barrier(const GroupTime& group) {
  const std::lock_guard lock(mutex_);
  GroupHistory& history = history_of(group);
  history.barriers.push_back(group.sealed);
  for (uint32_t i = 0; i < group.wave_count; ++i) {
    const WaveTime& wave = group.waves[i];
    WaveHistory& of_wave = history.waves[i];
    // Everybody has learned what one of them had.
    if (wave.seen.empty() || learned_ > kMostLearned) continue;
    if (!of_wave.learned.empty() && of_wave.learned.back().second.size() == wave.seen.size() &&
        !KnownClocks(of_wave.learned.back().second).join(wave.seen))
      continue;
    of_wave.learned.emplace_back(wave.clock, wave.seen);
    learned_ += wave.seen.size();
  }
}

void RaceOrder::release(const GroupTime& group, uint32_t wave, uint64_t address) {
  const std::lock_guard lock(mutex_);
  KnownClocks& clocks = atomics_[address];
  const WaveTime& time = group.waves[wave];
  clocks.join(time.seen);
  for (uint32_t i = 0; i < group.wave_count; ++i) {
    const bool is_own = i == wave;
    const uint16_t inside = is_own ? time.done() : time.inside[i];
    const uint16_t outside = is_own ? std::max(time.completed, group.sealed[i]) : group.sealed[i];
    if (inside != 0) clocks.raise({group.number << 5 | i, inside, outside});
  }
}

void RaceOrder::learn(GroupTime& group, uint32_t wave, const KnownClocks& news) {
  WaveTime& time = group.waves[wave];
  news.raise_inside(group.number, time.inside.data());
  if (!time.seen.join(news)) return;
  time.invalidated = 0;
  if (learned_ > kMostLearned) return;
  WaveHistory& history = history_of(group).waves[wave];
  if (!history.learned.empty() && history.learned.back().first == time.clock) {
    learned_ -= history.learned.back().second.size();
    history.learned.pop_back();
  }
  history.learned.emplace_back(time.clock, time.seen);
  learned_ += time.seen.size();
}

void RaceOrder::acquire(GroupTime& group, uint32_t wave, uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = atomics_.find(address);
  if (found != atomics_.end()) learn(group, wave, found->second);
}

void RaceOrder::acquire_store(GroupTime& group, uint32_t wave, Record store) {
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(store.group());
  const uint32_t clock = store.clock();
  KnownClocks news;
  KnownClock own{store.group() << 5 | store.wave(), static_cast<uint16_t>(clock), 0};
  if (found != groups_.end() && store.wave() < found->second.waves.size()) {
    const GroupHistory& history = found->second;
    const WaveHistory& of_wave = history.waves[store.wave()];
    const auto completed =
        std::lower_bound(of_wave.completed.begin(), of_wave.completed.end(), clock);
    if (completed != of_wave.completed.begin()) own.outside = completed[-1];
    // The last barrier it had passed.
    const auto barrier = std::lower_bound(
        history.barriers.begin(), history.barriers.end(), clock,
        [&](const WaveClocks& sealed, uint32_t c) { return sealed[store.wave()] < c; });
    if (barrier != history.barriers.begin()) {
      const WaveClocks& sealed = barrier[-1];
      own.outside = std::max(own.outside, sealed[store.wave()]);
      for (uint32_t i = 0; i < history.waves.size(); ++i)
        if (i != store.wave() && sealed[i] != 0)
          news.raise({store.group() << 5 | i, sealed[i], sealed[i]});
    }
    auto learned = of_wave.learned.rbegin();
    while (learned != of_wave.learned.rend() && learned->first > clock) ++learned;
    if (learned != of_wave.learned.rend()) news.join(learned->second);
  }
  news.raise(own);
  if (learned_ > kMostLearned) news.know_everything();
  learn(group, wave, news);
}

}  // namespace wavetap::sanitize
