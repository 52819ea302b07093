// Record: one access as racecheck remembers it, in 64 bits. A word of shadow memory is one of them
// as long as all bytes of the word have the same history; race_shadow.h has the other case.
//
//   bits   0..1   what it did; 0: no record
//          2..3   form
//          4..7   which bytes of the word
//          8..19  site: number of the instruction in the dispatch
//         20..25  lane                         kGroup: the second wave
//         26..40  the wave's clock             kAll: bits 20..37 are the second workgroup
//         41..45  wave in its workgroup
//         46..63  workgroup, modulo 2^18
//
// Forms. Several readers of one word, and several atomics, are no race with each other, but each of
// them is one with a later store. Two are enough to remember: whoever stores is not both of them.
// kGroup has two waves of one workgroup with the lower of their clocks, kAll two workgroups (and then no
// clock, since nothing orders workgroups in the dispatches where it is used).
//
// Workgroups 2^18 apart look like one. That can hide a race between them and makes none up.
#pragma once

#include <cstdint>

namespace wavetap::sanitize {

enum class Deed : uint8_t { kNone, kRead, kWrite, kAtomic };

class Record {
 public:
  enum Form : uint8_t { kOne, kGroup, kAll, kWide };

  static constexpr uint32_t kSites = 1 << 12;
  static constexpr uint32_t kNoSite = kSites - 1;  // there were more
  static constexpr uint32_t kMaxClock = (1 << 15) - 1;
  static constexpr uint32_t kGroups = 1 << 18;
  static constexpr uint32_t kAllBytes = 0xf;
  static constexpr uint32_t kLaneShift = 20;

  constexpr Record() = default;
  constexpr explicit Record(uint64_t bits) : bits_(bits) {}
  static Record make(Deed deed, uint32_t site, uint32_t group, uint32_t wave, uint32_t clock) {
    return Record(static_cast<uint64_t>(deed) | uint64_t{site} << 8 | uint64_t{clock} << 26 |
                  uint64_t{wave} << 41 | uint64_t{group} << 46);
  }
  // Not an access: where the bytes of this word have records of their own.
  static Record wide(uint32_t index) {
    return Record(uint64_t{kWide} << 2 | uint64_t{index} << 32 |
                  static_cast<uint64_t>(Deed::kRead));
  }

  uint64_t bits() const { return bits_; }
  bool empty() const { return bits_ == 0; }
  bool operator==(const Record&) const = default;

  Deed deed() const { return static_cast<Deed>(bits_ & 3); }
  Form form() const { return static_cast<Form>(bits_ >> 2 & 3); }
  uint32_t bytes() const { return static_cast<uint32_t>(bits_ >> 4 & 0xf); }
  uint32_t site() const { return static_cast<uint32_t>(bits_ >> 8 & (kSites - 1)); }
  uint32_t lane() const { return static_cast<uint32_t>(bits_ >> 20 & 0x3f); }
  uint32_t clock() const { return static_cast<uint32_t>(bits_ >> 26 & kMaxClock); }
  uint32_t wave() const { return static_cast<uint32_t>(bits_ >> 41 & 0x1f); }
  uint32_t group() const { return static_cast<uint32_t>(bits_ >> 46); }
  uint32_t second_wave() const { return lane() & 0x1f; }
  uint32_t second_group() const { return static_cast<uint32_t>(bits_ >> 20 & (kGroups - 1)); }
  uint32_t wide_index() const { return static_cast<uint32_t>(bits_ >> 32); }

  // Same workgroup, wave and clock.
  bool same_time(Record other) const { return (bits_ ^ other.bits_) >> 26 == 0; }
  bool same_wave(Record other) const { return (bits_ ^ other.bits_) >> 41 == 0; }
  bool same_group_and_clock(Record other) const {
    return ((bits_ ^ other.bits_) & ~(uint64_t{0x1f} << 41)) >> 26 == 0;
  }
  // Nothing has to be added to it for `mine`, of whole words and no store, nor can it be a conflict with it.
  bool stands_for(Record mine) const {
    if (bytes() != kAllBytes) return false;
    if (form() == kOne) return same_time(mine) && (deed() == mine.deed() || deed() == Deed::kWrite);
    return deed() == mine.deed() &&
           (form() == kAll || (form() == kGroup && same_group_and_clock(mine)));
  }
  // stands_for(), quicker and of ordinary cases alone: this wave at this time, or two of its workgroup, have done the same.
  bool is_repeated_by(Record mine) const {
    constexpr uint64_t kWave = uint64_t{0x1f} << 41;
    constexpr uint64_t kLower = uint64_t{0x3ffffff} & ~uint64_t{0xff};  // site, lane or second wave
    const uint64_t differs = (bits_ ^ mine.bits_) & ~kLower;
    return differs == 0 || (differs & ~kWave) == uint64_t{kGroup} << 2;
  }
  // The bits in which words that have the same history are alike: all but the site and the lane.
  uint64_t history_bits() const {
    constexpr uint64_t kLow = 0xff;  // deed, form, bytes
    switch (form()) {
      case kOne: return kLow | ~uint64_t{0} << 26;
      case kGroup: return kLow | ~uint64_t{0} << 20;
      default: return kLow;
    }
  }
  // All but the lane and the bytes.
  bool same_but_lane(Record other) const {
    const uint64_t differs = bits_ ^ other.bits_;
    const uint64_t lane_bits = form() == kOne ? uint64_t{0x3f} << 20 : 0;
    return (differs & ~(lane_bits | 0xf0)) == 0;
  }

  Record with_bytes(uint32_t bytes) const { return Record((bits_ & ~uint64_t{0xf0}) | bytes << 4); }
  Record at(uint32_t bytes, uint32_t lane) const {  // of a record without either
    return Record(bits_ | bytes << 4 | uint64_t{lane} << 20);
  }
  // Of one that has a lane: the same of one that comes so many later.
  Record lanes_on(uint32_t lanes) const { return Record(bits_ + (uint64_t{lanes} << kLaneShift)); }
  Record with_clock(uint32_t clock) const {
    return Record((bits_ & ~(uint64_t{kMaxClock} << 26)) | uint64_t{clock} << 26);
  }
  Record and_wave(uint32_t second) const {
    return Record((bits_ & ~(uint64_t{0x3f} << 20)) | uint64_t{kGroup} << 2 |
                  uint64_t{second} << 20);
  }
  Record and_group(uint32_t second) const {
    return Record((bits_ & ~(uint64_t{0x1fffff} << 20 | uint64_t{3} << 2)) | uint64_t{kAll} << 2 |
                  uint64_t{second} << 20);
  }

 private:
  uint64_t bits_ = 0;
};
static_assert(sizeof(Record) == 8);

}  // namespace wavetap::sanitize
