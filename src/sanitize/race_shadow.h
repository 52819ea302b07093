// Shadow memory of racecheck: for each word that somebody touched, who did.
//
// Memory is cut into lines of 16 words. A line whose words have one history, as rows of lanes leave them, is
// one Record: an eighth of a byte of shadow for each byte of memory. Else each of its words is one: 2 bytes for each
// byte. A word that has more to tell (its bytes differ, or it was written and then, after a barrier, read)
// moves to an entry of its own, and back when it can. Global memory is shadowed in pages of 4 KiB; what
// nobody touched has none.
//
// What is kept is enough to find a race, not all races: a store stands for everything before it in
// its wave, two readers for all readers (race_record.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/lock_word.h"
#include "sanitize/race_clock.h"
#include "sanitize/race_record.h"

namespace wavetap::sanitize {

// Who accesses, and which of the accesses of others are over for it.
struct Accessor {
  Record record;  // without lane and bytes
  const uint16_t* sealed =
      nullptr;  // clocks that the last barrier closed, by wave of its workgroup
  const uint16_t* inside = nullptr;  // clocks that are over for it, likewise
  // The same for reads, and for writes and atomics, where a barrier did not wait for some of them; null: `inside`.
  const uint16_t* inside_reads = nullptr;
  const uint16_t* inside_writes = nullptr;
  const KnownClocks* outside = nullptr;  // those of waves of other workgroups
  // Those that its caches cannot be older than; null: all of them.
  const KnownClocks* acquired = nullptr;
  // LDS: what a barrier closed for all waves of the workgroup is over for good. The highest such
  // clock; 0 for global memory, which other workgroups reach.
  uint32_t dead_clock = 0;
  // An atomic load: no conflict with any store, which may have been an atomic one.
  bool reads_flag = false;
  bool groups_synchronise = false;  // in this dispatch: clocks of other workgroups mean something
  bool trusts_groups = false;       // cannot tell workgroups apart: others are always over

  bool is_over(Deed deed, uint32_t group, uint32_t wave, uint32_t clock) const;
  // Of an access that is not over: a barrier is between them.
  bool is_late(Record other) const;
  // Of what another workgroup stored, and what is over: the caches may have what was there before.
  bool may_be_stale(Record stored) const;
};

// What the last barrier of a workgroup closed.
struct ClosedClocks {
  uint32_t for_all = 0;  // the highest that is closed in all its waves
  const uint16_t* by_wave = nullptr;
};

// The other side of a race, as far as it is known.
struct Partner {
  Deed deed;
  uint32_t site;
  uint32_t group;
  int wave;               // -1: not known
  int lane;               // likewise
  uint32_t bytes = 0;     // of the word; more than one access has: of several lanes
  bool is_stale = false;  // in order, but a cache may have what was there before
  bool is_late = false;   // a barrier is between them that did not wait for it
  bool is_first = false;  // the first store to LDS that holds nothing before it, and a flag's load
};

// The races of one instruction, folded by the instruction on the other side.
class Conflicts {
 public:
  struct Pair {
    Partner with;    // of the first lane
    uint64_t lanes;  // of this side
    int first_lane;
  };
  static constexpr size_t kMost = 8;

  void add(const Partner& with, uint32_t lane);
  const Pair* begin() const { return pairs_; }
  const Pair* end() const { return pairs_ + count_; }

  // Two lanes may have stored to one place in this instruction; to be looked at.
  bool may_collide = false;

 private:
  size_t count_ = 0;
  Pair pairs_[kMost];  // not set before they are used: there are hardly ever any
};

// The shadow of some words beside each other. One thread.
class ShadowWords {
 public:
  explicit ShadowWords(uint32_t words = 0) { resize(words); }

  uint32_t size() const { return line_count_ * kLineWords; }
  // At least that many; nobody has touched any.
  void resize(uint32_t words);
  // Nobody has touched any.
  void clear();

  // The accessor's lane touches `bytes` of a word. Conflicts are noted, then the access is.
  void touch(uint32_t word, uint32_t bytes, uint32_t lane, const Accessor& me,
             Conflicts& conflicts) {
    touch_cell(cell(word), bytes, lane, me, conflicts);
  }
  // The same for `count` whole words, `words_per_lane` of them for each lane from `first_lane` on.
  // Words whose history is the same, as it is nearly always, are done together.
  void touch_row(uint32_t word, uint32_t count, uint32_t words_per_lane, uint32_t first_lane,
                 const Accessor& me, Conflicts& conflicts);

  // The same where nobody but the waves of one workgroup is there, with barriers that waited for everything.
  // False: it is not as simple as it nearly always is, and touch() or touch_row() has to be asked about the
  // whole instruction. `mine`: all of the word, and the lane; of several words the first lane.
  //
  // Words of one lane, or 1 << shift of each lane; then `word` is a multiple of that.
  bool take_row(uint32_t word, uint32_t count, uint32_t shift, Record mine,
                const ClosedClocks& closed);
  // `words` of each lane of `mask`, at byte addresses.
  bool take_lanes(const uint64_t* address, uint64_t mask, uint32_t words, Record mine,
                  const ClosedClocks& closed);

  // Who stored to the word last; an empty Record: nobody.
  Record last_store(uint32_t word) const;
  // What is known of it.
  Record at(uint32_t word) const {
    const uint32_t line = word / kLineWords;
    return is_in_words(line) ? words_[word] : of_line(line, word % kLineWords);
  }

  // Of what is in use.
  size_t memory_bytes() const;

 private:
  static constexpr uint32_t kLineWords = 16;

  // A word whose bytes do not fit one Record. The bits for `bytes` and, in part, lanes mean nothing.
  struct Bytes {
    Record write[4];
    Record read[4];
    Record atomic[4];
  };
  // Some words in a row, and who touches them.
  struct Row {
    uint32_t count = 0;
    uint32_t words_per_lane = 1;
    uint32_t first_lane = 0;
  };

  // Entries of words that have more to tell than one Record.
  struct Wide {
    std::vector<Bytes> entries;
    std::vector<uint32_t> free;
  };

  bool is_in_words(uint32_t line) const { return (in_words_[line / 64] >> (line % 64) & 1) != 0; }
  // Of a line that is one Record: the Record, whose lane goes up by one every 1 << lane_shift() words. It is one of
  // whole words, so that the shift is kept where it says so.
  Record& head(uint32_t line) { return heads_[size_t{line} << head_shift_]; }
  Record head(uint32_t line) const { return heads_[size_t{line} << head_shift_]; }
  Record of_all(uint32_t line) const {
    const uint64_t bits = head(line).bits();
    return Record(bits | (bits == 0 ? 0 : uint64_t{Record::kAllBytes} << 4));
  }
  uint32_t lane_shift(uint32_t line) const { return head(line).bytes(); }
  void set_line(uint32_t line, Record all, uint32_t shift) {
    head(line) = all.with_bytes(shift);
    in_words_[line / 64] &= ~(uint64_t{1} << (line % 64));
  }
  Record of_line(uint32_t line, uint32_t word) const {
    const Record record = of_all(line);
    if (record.empty() || record.form() != Record::kOne) return record;
    return Record(record.bits() + (uint64_t{word} >> lane_shift(line) << Record::kLaneShift));
  }
  Record& cell(uint32_t word) {
    const uint32_t line = word / kLineWords;
    if (!is_in_words(line)) split(line);
    return words_[word];
  }
  void split(uint32_t line);
  // All words of a line.
  void touch_line(uint32_t line, const Row& row, const Accessor& me, Conflicts& conflicts);
  // Some of them.
  void touch_part(uint32_t word, const Row& row, const Accessor& me, Conflicts& conflicts);

  void touch_cell(Record& cell, uint32_t bytes, uint32_t lane, const Accessor& me,
                  Conflicts& conflicts) {
    const Record old = cell;
    const Deed deed = me.record.deed();
    if (old.empty() || (old.clock() <= me.dead_clock && old.form() <= Record::kGroup &&
                        (old.bytes() & ~bytes) == 0)) {
      cell = me.record.at(bytes, lane);
      return;
    }
    if (old.form() == Record::kOne && old.same_time(me.record)) {
      if (deed == Deed::kWrite && (old.deed() == Deed::kWrite || (old.bytes() & ~bytes) == 0)) {
        conflicts.may_collide |=
            old.deed() == Deed::kWrite && old.site() == me.record.site() && old.lane() != lane;
        cell = me.record.at(bytes | old.bytes(), lane);
        return;
      }
      if (deed == old.deed()) {
        cell = old.with_bytes(old.bytes() | bytes);
        return;
      }
      if (old.deed() == Deed::kWrite && (bytes & ~old.bytes()) == 0) return;
    } else if (deed == old.deed() && deed != Deed::kWrite && (bytes & ~old.bytes()) == 0) {
      if (old.form() == Record::kAll) return;
      if (old.form() == Record::kGroup && old.same_group_and_clock(me.record)) return;
    }
    touch_shared(cell, bytes, lane, me, conflicts);
  }
  [[gnu::always_inline]] static bool take_cell(Record& cell, Record mine,
                                               const ClosedClocks& closed) {
    const Record old = cell;
    if (old.form() <= Record::kGroup && old.clock() <= closed.for_all) {
      cell = mine;
      return true;
    }
    const bool is_one = old.form() == Record::kOne;
    if (mine.deed() == Deed::kWrite) {
      // Two lanes of one store have to be looked at.
      if (!is_one || !old.same_time(mine)) return false;
      if (old.deed() == Deed::kWrite && old.site() == mine.site()) return false;
      cell = mine;
      return true;
    }
    if (old.stands_for(mine)) return true;
    if (!is_one || old.deed() != mine.deed() || old.bytes() != Record::kAllBytes ||
        old.clock() != mine.clock() || old.clock() <= closed.by_wave[old.wave()])
      return false;
    cell = old.and_wave(mine.wave());
    return true;
  }
  bool take_words(Record* cells, uint32_t count, uint32_t shift, Record mine,
                  const ClosedClocks& closed);
  bool take_line(uint32_t line, uint32_t shift, Record mine, const ClosedClocks& closed);
  void touch_shared(Record& cell, uint32_t bytes, uint32_t lane, const Accessor& me,
                    Conflicts& conflicts);
  void touch_bytes(Record& cell, uint32_t bytes, uint32_t lane, const Accessor& me,
                   Conflicts& conflicts);

  void use_words();

  // The first Record of each line: in lines_, or, from the first line that is kept in words on, in words_.
  Record* heads_ = nullptr;
  uint32_t head_shift_ = 0;
  uint32_t line_count_ = 0;
  std::unique_ptr<uint64_t[]> in_words_;  // a bit for each line
  std::unique_ptr<Record[]> lines_;
  std::unique_ptr<Record[]> words_;
  std::unique_ptr<Wide> wide_;  // null until there is one
};

// A piece of global memory. Its contents are behind its lock.
class ShadowPage : public ShadowWords {
 public:
  static constexpr uint32_t kBits = 12;
  static constexpr uint32_t kBytes = 1 << kBits;

  ShadowPage() : ShadowWords(kBytes / 4) {}
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

  // Counts what is done here besides reading. Asked without the lock, too: who does not see a change yet reads before it.
  uint32_t changes() const { return changes_.load(std::memory_order_relaxed); }
  void note_change() { changes_.store(changes() + 1, std::memory_order_relaxed); }
  // Words that several workgroups have read: one more reader adds nothing until something changes.
  bool is_read_by_all(uint32_t word, uint32_t count) const;

  uint64_t number = 0;         // address / kBytes
  ShadowPage* next = nullptr;  // in its bucket; for ShadowMap

 private:
  LockWord lock_;
  std::atomic<uint32_t> changes_{0};
};

// The pages of global memory that a dispatch touched. Thread-safe; a page's contents are behind its
// lock.
class ShadowMap {
 public:
  ShadowMap();
  ~ShadowMap();
  ShadowMap(const ShadowMap&) = delete;
  ShadowMap& operator=(const ShadowMap&) = delete;

  // Null when there is no memory for it.
  ShadowPage* page(uint64_t number);
  // Null when nobody touched it.
  ShadowPage* find(uint64_t number) const;
  // Forgets everything. Nobody else may be using it.
  void clear();
  uint64_t memory_bytes() const;  // of the pages in use

 private:
  static constexpr size_t kBuckets = 1 << 14;
  static constexpr size_t kKept = 4096;  // pages kept for the next dispatch: at most 32 MiB

  static size_t bucket_of(uint64_t number) {
    return static_cast<size_t>((number * 0x9e37'79b9'7f4a'7c15) >> 50);
  }

  std::unique_ptr<std::atomic<ShadowPage*>[]> buckets_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ShadowPage>> pages_;  // in use
  std::vector<std::unique_ptr<ShadowPage>> idle_;   // empty
};

}  // namespace wavetap::sanitize
