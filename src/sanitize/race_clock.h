// What one wave knows to be over in others: for each wave it has heard of, up to which clock.
//
// A wave's clock moves on at barriers and where it lets go of what it did (a wait for its stores, an
// atomic). Two numbers are kept for each: what the waves of its own workgroup may rely on, and what
// other workgroups may, which is only what had been waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavetap::sanitize {

struct KnownClock {
  uint32_t wave = 0;     // workgroup << 5 | wave, as Record has them
  uint16_t inside = 0;   // in its own workgroup
  uint16_t outside = 0;  // everywhere else

  uint32_t group() const { return wave >> 5; }
};

// One thread.
class KnownClocks {
 public:
  // A wave that has heard of more than this counts as knowing everything: no race is made up, some
  // may be missed.
  static constexpr size_t kMost = 1 << 15;

  // True: something is known that was not.
  bool raise(const KnownClock& clock);
  bool join(const KnownClocks& other);
  void know_everything() { clocks_.clear(), everything_ = true; }
  // What may be relied on outside the wave's workgroup: 0 when nothing is known, the highest when
  // everything is.
  uint16_t of(uint32_t wave) const;
  bool empty() const { return clocks_.empty() && !everything_; }
  bool knows_everything() const { return everything_; }
  size_t size() const { return clocks_.size(); }
  void clear() { clocks_.clear(), everything_ = false; }
  // Raises, in `inside`, what may be relied on among the waves of one workgroup.
  void raise_inside(uint32_t group, uint16_t* inside) const;

 private:
  std::vector<KnownClock> clocks_;  // by wave
  bool everything_ = false;
};

}  // namespace wavetap::sanitize
