#include "sanitize/race_clock.h"

#include <algorithm>

namespace wavetap::sanitize {
namespace {

bool is_before(const KnownClock& a, uint32_t wave) { return a.wave < wave; }

bool raise_to(KnownClock& clock, const KnownClock& other) {
  const bool is_news = other.inside > clock.inside || other.outside > clock.outside;
  clock.inside = std::max(clock.inside, other.inside);
  clock.outside = std::max(clock.outside, other.outside);
  return is_news;
}

}  // namespace

bool KnownClocks::raise(const KnownClock& clock) {
  if (everything_) return false;
  const auto found = std::lower_bound(clocks_.begin(), clocks_.end(), clock.wave, is_before);
  if (found != clocks_.end() && found->wave == clock.wave) return raise_to(*found, clock);
  clocks_.insert(found, clock);
  if (clocks_.size() > kMost) know_everything();
  return true;
}

bool KnownClocks::join(const KnownClocks& other) {
  if (everything_ || other.empty()) return false;
  if (other.everything_) {
    know_everything();
    return true;
  }
  bool is_news = false;
  if (other.clocks_.size() < 8) {
    for (const KnownClock& clock : other.clocks_) is_news |= raise(clock);
    return is_news;
  }
  std::vector<KnownClock> both;
  both.reserve(clocks_.size() + other.clocks_.size());
  auto mine = clocks_.begin();
  for (const KnownClock& clock : other.clocks_) {
    while (mine != clocks_.end() && mine->wave < clock.wave) both.push_back(*mine++);
    if (mine != clocks_.end() && mine->wave == clock.wave) {
      both.push_back(*mine++);
      is_news |= raise_to(both.back(), clock);
    } else {
      both.push_back(clock);
      is_news = true;
    }
  }
  both.insert(both.end(), mine, clocks_.end());
  clocks_ = std::move(both);
  if (clocks_.size() > kMost) know_everything();
  return is_news;
}

uint16_t KnownClocks::of(uint32_t wave) const {
  if (everything_) return 0xffff;
  const auto found = std::lower_bound(clocks_.begin(), clocks_.end(), wave, is_before);
  return found == clocks_.end() || found->wave != wave ? 0 : found->outside;
}

void KnownClocks::raise_inside(uint32_t group, uint16_t* inside) const {
  auto found = std::lower_bound(clocks_.begin(), clocks_.end(), group << 5, is_before);
  for (; found != clocks_.end() && found->group() == group; ++found)
    inside[found->wave & 31] = std::max(inside[found->wave & 31], found->inside);
}

}  // namespace wavetap::sanitize
