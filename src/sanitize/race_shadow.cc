#include "sanitize/race_shadow.h"

#include <algorithm>
#include <bit>
#include <new>

namespace wavetap::sanitize {
namespace {

Partner partner_of(Record record, uint32_t group, int wave, int lane) {
  return {record.deed(), record.site(), group, wave, lane, record.bytes()};
}

// Whether an access that `record` stands for is not over for `me`, and whose.
bool find_open(Record record, const Accessor& me, Partner* with) {
  const uint32_t group = record.group();
  const auto wave = static_cast<int>(record.wave());
  switch (record.form()) {
    case Record::kOne:
      *with = partner_of(record, group, wave, static_cast<int>(record.lane()));
      with->is_late = me.is_late(record);
      return !me.is_over(record.deed(), group, record.wave(), record.clock());
    case Record::kGroup:
      *with = partner_of(record, group, wave, -1);
      with->is_late = me.is_late(record);
      if (!me.is_over(record.deed(), group, record.wave(), record.clock())) return true;
      with->wave = static_cast<int>(record.second_wave());
      return !me.is_over(record.deed(), group, record.second_wave(), record.clock());
    case Record::kAll:
      *with = partner_of(record, group, wave, -1);
      if (group == me.record.group()) *with = partner_of(record, record.second_group(), -1, -1);
      return true;
    case Record::kWide: break;
  }
  return false;
}

bool is_conflict(Deed other, const Accessor& me) {
  const Deed deed = me.record.deed();
  if (me.reads_flag) return false;
  return deed != other || deed == Deed::kWrite;
}

// Closed by a barrier for every wave of its workgroup. In LDS that means for everybody.
bool is_sealed(Record record, const Accessor& me) {
  if (record.clock() > me.sealed[record.wave()]) return false;
  return record.form() == Record::kOne ||
         (record.form() == Record::kGroup && record.clock() <= me.sealed[record.second_wave()]);
}

// What stands for both `old` and `mine`, which are no conflict.
Record both(Record old, Record mine, const Accessor& me) {
  if (old.empty() || old.same_wave(mine)) return mine;
  if (old.form() == Record::kAll) return old;
  if (old.group() != mine.group())
    return me.groups_synchronise ? mine : old.and_group(mine.group());
  if (is_sealed(old, me)) return mine;
  if (old.form() == Record::kGroup) return old;
  return old.and_wave(mine.wave()).with_clock(std::min(old.clock(), mine.clock()));
}

}  // namespace

bool Accessor::may_be_stale(Record stored) const {
  if (acquired == nullptr || trusts_groups || record.deed() != Deed::kRead) return false;
  if (stored.deed() != Deed::kWrite || stored.form() != Record::kOne) return false;
  return stored.group() != record.group() &&
         acquired->of(stored.group() << 5 | stored.wave()) < stored.clock();
}

bool Accessor::is_late(Record other) const {
  return inside_reads != nullptr && other.group() == record.group() &&
         other.clock() <= inside[other.wave()];
}

bool Accessor::is_over(Deed deed, uint32_t group, uint32_t wave, uint32_t clock) const {
  if (clock == Record::kMaxClock) return true;  // its clock has run out: nobody knows
  if (group == record.group()) {
    if (wave == record.wave()) return true;
    if (inside_reads == nullptr) return clock <= inside[wave];
    return clock <= (deed == Deed::kRead ? inside_reads : inside_writes)[wave];
  }
  return trusts_groups || outside->of(group << 5 | wave) >= clock;
}

namespace {

// What becomes of words that all have the history `old`, all bytes of them, when `me` touches them.
enum class Outcome : uint8_t {
  kOneByOne,  // they have to be looked at
  kKeep,      // they stay as they are
  kFill,      // they are the accessor's
  kJoin,      // it is one of several, see joined_bits()
};

// The bits that a second wave or workgroup takes.
constexpr uint64_t kTaken = uint64_t{0x1fffff} << 20 | 0xc;

// `is_site`: one of them may have been touched by the accessor's instruction.
Outcome outcome_of(Record old, bool is_site, const Accessor& me, uint64_t* joined_bits) {
  if (old.empty() || (old.form() <= Record::kGroup && old.clock() <= me.dead_clock))
    return Outcome::kFill;
  // What touch_cell() and touch_shared() do, where that is no conflict.
  const Record mine = me.record.at(Record::kAllBytes, 0);
  const Deed deed = mine.deed();
  if (old.form() == Record::kOne && old.same_time(mine)) {
    if (deed == Deed::kWrite)
      return old.deed() == Deed::kWrite && is_site ? Outcome::kOneByOne : Outcome::kFill;
    return deed == old.deed() || old.deed() == Deed::kWrite ? Outcome::kKeep : Outcome::kOneByOne;
  }
  if (deed == Deed::kWrite) {
    Partner with;
    return find_open(old, me, &with) ? Outcome::kOneByOne : Outcome::kFill;
  }
  if (deed != old.deed()) return Outcome::kOneByOne;
  if (old.form() == Record::kAll) return Outcome::kKeep;
  if (old.form() == Record::kGroup && old.same_group_and_clock(mine)) return Outcome::kKeep;
  const Record joined = both(old, mine, me);
  if (joined == old) return Outcome::kKeep;
  if (joined == mine) return Outcome::kFill;
  *joined_bits = joined.bits() & kTaken;
  return Outcome::kJoin;
}

// The same for words of which each has a Record.
Outcome outcome_of_all(const Record* cells, uint32_t count, const Accessor& me,
                       uint64_t* joined_bits) {
  // Nobody was there, or nobody who matters any more: kOne and kGroup have bit 3 clear.
  const uint64_t dead = me.dead_clock;
  uint64_t alive = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t bits = cells[i].bits();
    alive |= (bits & 8) | ((bits >> 26 & Record::kMaxClock) > dead ? 1 : 0);
  }
  if (alive == 0) return Outcome::kFill;
  const Record old = cells[0];
  const uint64_t alike = old.history_bits();
  uint64_t differs = 0;
  uint64_t other_site = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t change = cells[i].bits() ^ old.bits();
    differs |= change & alike;
    other_site |= change & uint64_t{Record::kSites - 1} << 8;
  }
  if (differs != 0 || old.form() == Record::kWide || old.bytes() != Record::kAllBytes)
    return Outcome::kOneByOne;
  return outcome_of(old, other_site != 0 || old.site() == me.record.site(), me, joined_bits);
}

}  // namespace

void ShadowWords::resize(uint32_t words) {
  line_count_ = (words + kLineWords - 1) / kLineWords;
  words_.reset();
  lines_.reset(new Record[line_count_]);
  heads_ = lines_.get();
  head_shift_ = 0;
  in_words_.reset(new uint64_t[(line_count_ + 63) / 64]());
  wide_.reset();
}

void ShadowWords::clear() {
  if (lines_ == nullptr) {
    lines_.reset(new Record[line_count_]);
    heads_ = lines_.get();
    head_shift_ = 0;
  } else {
    std::fill_n(heads_, line_count_, Record());
  }
  std::fill_n(in_words_.get(), (line_count_ + 63) / 64, uint64_t{0});
  if (wide_ != nullptr) {
    wide_->entries.clear();
    wide_->free.clear();
  }
}

// The lines' Records move to the first words of their lines.
void ShadowWords::use_words() {
  if (words_ == nullptr) words_.reset(new Record[size()]);
  for (uint32_t line = 0; line < line_count_; ++line) words_[line * kLineWords] = lines_[line];
  heads_ = words_.get();
  head_shift_ = std::countr_zero(kLineWords);
  lines_.reset();
}

void ShadowWords::split(uint32_t line) {
  if (lines_ != nullptr) use_words();
  // The first word is where the line's Record is, so it comes last.
  for (uint32_t i = kLineWords; i-- > 0;) words_[line * kLineWords + i] = of_line(line, i);
  in_words_[line / 64] |= uint64_t{1} << (line % 64);
}

void ShadowWords::touch_row(uint32_t word, uint32_t count, uint32_t words_per_lane,
                            uint32_t first_lane, const Accessor& me, Conflicts& conflicts) {
  for (uint32_t done = 0; done < count;) {
    const uint32_t at = word + done;
    const uint32_t part = std::min(kLineWords - at % kLineWords, count - done);
    const Row row{part, words_per_lane, first_lane + done / words_per_lane};
    const bool is_shared = done % words_per_lane != 0;  // the first lane has words before it
    if (is_shared || part % words_per_lane != 0) {
      for (uint32_t i = 0; i < part; ++i)
        touch(at + i, Record::kAllBytes, first_lane + (done + i) / words_per_lane, me, conflicts);
    } else if (part == kLineWords) {
      touch_line(at / kLineWords, row, me, conflicts);
    } else {
      touch_part(at, row, me, conflicts);
    }
    done += part;
  }
}

void ShadowWords::touch_line(uint32_t line, const Row& row, const Accessor& me,
                             Conflicts& conflicts) {
  uint64_t joined_bits = 0;
  const bool is_one = !is_in_words(line);
  Record* const cells = is_one ? nullptr : words_.get() + line * kLineWords;
  const Record all = of_all(line);
  const Outcome outcome = is_one ? outcome_of(all, all.site() == me.record.site(), me, &joined_bits)
                                 : outcome_of_all(cells, kLineWords, me, &joined_bits);
  switch (outcome) {
    case Outcome::kKeep: return;
    case Outcome::kFill:
      set_line(line, me.record.at(Record::kAllBytes, row.first_lane),
               static_cast<uint32_t>(std::countr_zero(row.words_per_lane)));
      return;
    case Outcome::kJoin:
      if (is_one) head(line) = Record((head(line).bits() & ~kTaken) | joined_bits);
      for (uint32_t i = 0; i < kLineWords && !is_one; ++i)
        cells[i] = Record((cells[i].bits() & ~kTaken) | joined_bits);
      return;
    case Outcome::kOneByOne: break;
  }
  for (uint32_t i = 0; i < kLineWords; ++i)
    touch(line * kLineWords + i, Record::kAllBytes, row.first_lane + i / row.words_per_lane, me,
          conflicts);
}

void ShadowWords::touch_part(uint32_t word, const Row& row, const Accessor& me,
                             Conflicts& conflicts) {
  const uint32_t line = word / kLineWords;
  uint64_t joined_bits = 0;
  if (!is_in_words(line)) {
    const Record whole = of_all(line);
    if (!whole.empty() &&
        outcome_of(whole, whole.site() == me.record.site(), me, &joined_bits) == Outcome::kKeep)
      return;
    split(line);
  }
  Record* const cells = words_.get() + word;
  switch (outcome_of_all(cells, row.count, me, &joined_bits)) {
    case Outcome::kKeep: return;
    case Outcome::kFill:
      for (uint32_t i = 0; i < row.count; ++i)
        cells[i] = me.record.at(Record::kAllBytes, row.first_lane + i / row.words_per_lane);
      return;
    case Outcome::kJoin:
      for (uint32_t i = 0; i < row.count; ++i)
        cells[i] = Record((cells[i].bits() & ~kTaken) | joined_bits);
      return;
    case Outcome::kOneByOne: break;
  }
  for (uint32_t i = 0; i < row.count; ++i)
    touch_cell(cells[i], Record::kAllBytes, row.first_lane + i / row.words_per_lane, me, conflicts);
}

namespace {

// Whether a barrier has closed all that is known of these words. kOne and kGroup have bit 3 clear.
bool are_over(const Record* cells, uint32_t count, uint64_t closed) {
  uint64_t alive = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t bits = cells[i].bits();
    alive |= (bits & 8) | ((bits >> 26 & Record::kMaxClock) > closed ? 1 : 0);
  }
  return alive == 0;
}

}  // namespace

bool ShadowWords::take_words(Record* cells, uint32_t count, uint32_t shift, Record mine,
                             const ClosedClocks& closed) {
  if (count > 1 && are_over(cells, count, closed.for_all)) {
    for (uint32_t i = 0; i < count; ++i) cells[i] = mine.lanes_on(i >> shift);
    return true;
  }
  for (uint32_t i = 0; i < count; ++i)
    if (!take_cell(cells[i], mine.lanes_on(i >> shift), closed)) return false;
  return true;
}

bool ShadowWords::take_line(uint32_t line, uint32_t shift, Record mine,
                            const ClosedClocks& closed) {
  if (!is_in_words(line)) {
    Record taken = of_all(line);
    if (!take_cell(taken, mine, closed)) return false;
    set_line(line, taken, taken == mine ? shift : lane_shift(line));
    return true;
  }
  Record* const cells = words_.get() + line * kLineWords;
  if (!are_over(cells, kLineWords, closed.for_all))
    return take_words(cells, kLineWords, shift, mine, closed);
  set_line(line, mine, shift);
  return true;
}

bool ShadowWords::take_row(uint32_t word, uint32_t count, uint32_t shift, Record mine,
                           const ClosedClocks& closed) {
  for (uint32_t done = 0; done < count;) {
    const uint32_t at = word + done;
    const uint32_t line = at / kLineWords;
    const uint32_t part = std::min(kLineWords - at % kLineWords, count - done);
    const Record first = mine.lanes_on(done >> shift);
    done += part;
    if (part == kLineWords) {
      if (!take_line(line, shift, first, closed)) return false;
      continue;
    }
    if (!is_in_words(line)) {
      if (mine.deed() != Deed::kWrite && of_all(line).stands_for(mine)) continue;
      split(line);
    }
    if (!take_words(words_.get() + at, part, shift, first, closed)) return false;
  }
  return true;
}

bool ShadowWords::take_lanes(const uint64_t* address, uint64_t mask, uint32_t words, Record mine,
                             const ClosedClocks& closed) {
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const auto count = static_cast<uint32_t>(std::popcount(mask));
  const bool is_run = mask >> first == ~uint64_t{0} >> (64 - count);
  uint64_t apart = words - 1;  // from being a row
  for (uint32_t i = 0; is_run && i < count; ++i)
    apart |= address[first + i] - address[first] - uint64_t{4} * i;
  if (is_run && apart == 0) {
    const uint64_t begin = address[first];
    if (begin % 4 != 0 || begin / 4 + count > size()) return false;
    return take_row(static_cast<uint32_t>(begin / 4), count, 0, mine.lanes_on(first), closed);
  }
  const bool may_repeat = mine.deed() != Deed::kWrite;
  const uint64_t size = this->size();
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const uint64_t at = address[lane];
    if (at % 4 != 0 || at / 4 + words > size) return false;
    for (auto word = static_cast<uint32_t>(at / 4), end = word + words; word < end; ++word) {
      if (!is_in_words(word / kLineWords)) split(word / kLineWords);
      Record& cell = words_[word];
      if (may_repeat && cell.is_repeated_by(mine)) continue;
      if (!take_cell(cell, mine.lanes_on(lane), closed)) return false;
    }
  }
  return true;
}

void Conflicts::add(const Partner& with, uint32_t lane) {
  for (Pair* pair = pairs_; pair != pairs_ + count_; ++pair) {
    if (pair->with.site != with.site || pair->with.deed != with.deed ||
        pair->with.is_stale != with.is_stale || pair->with.is_late != with.is_late ||
        pair->with.is_first != with.is_first)
      continue;
    pair->lanes |= uint64_t{1} << lane;
    return;
  }
  if (count_ == kMost) return;
  pairs_[count_++] = {with, uint64_t{1} << lane, static_cast<int>(lane)};
}

void ShadowWords::touch_shared(Record& cell, uint32_t bytes, uint32_t lane, const Accessor& me,
                               Conflicts& conflicts) {
  const Record old = cell;
  const Deed deed = me.record.deed();
  if (old.form() == Record::kWide) return touch_bytes(cell, bytes, lane, me, conflicts);
  const bool covers = (old.bytes() & ~bytes) == 0;
  if (deed == old.deed() && deed != Deed::kWrite && old.bytes() == bytes) {
    cell = both(old, me.record.at(bytes, lane), me).with_bytes(bytes);
    return;
  }
  if ((old.bytes() & bytes) != 0 && is_conflict(old.deed(), me)) {
    Partner with;
    const bool is_open = find_open(old, me, &with);
    with.is_stale = !is_open && me.may_be_stale(old);
    if (is_open || with.is_stale) conflicts.add(with, lane);
    // A store stands for what was before it. An atomic stands for a read only when that has been told of:
    // the atomics of others are a race with the read alone. A read that raced has nothing to add. An atomic
    // on what was stored marks a flag: both are kept.
    const bool stands_for_old =
        covers &&
        (deed == Deed::kWrite || (deed == Deed::kAtomic && old.deed() == Deed::kRead && is_open));
    if (stands_for_old) {
      cell = me.record.at(bytes, lane);
      return;
    }
    if (is_open && !(deed == Deed::kAtomic && old.deed() == Deed::kWrite)) return;
  }
  touch_bytes(cell, bytes, lane, me, conflicts);
}

void ShadowWords::touch_bytes(Record& cell, uint32_t bytes, uint32_t lane, const Accessor& me,
                              Conflicts& conflicts) {
  const Record old = cell;
  const bool was_wide = old.form() == Record::kWide;
  Bytes state;
  if (was_wide) {
    state = wide_->entries[old.wide_index()];
  } else {
    Record* const of_deed = old.deed() == Deed::kWrite  ? state.write
                            : old.deed() == Deed::kRead ? state.read
                                                        : state.atomic;
    for (uint32_t i = 0; i < 4; ++i)
      if ((old.bytes() >> i & 1) != 0) of_deed[i] = old.with_bytes(0);
  }
  const Record mine = me.record.at(0, lane);
  const Deed deed = mine.deed();
  for (uint32_t i = 0; i < 4; ++i) {
    Record* const records[] = {&state.write[i], &state.read[i], &state.atomic[i]};
    for (Record* record : records)
      if (record->clock() <= me.dead_clock) *record = {};
    if ((bytes >> i & 1) == 0) continue;
    // Stores to what is used as a flag have their order from it.
    const bool is_flag = deed == Deed::kWrite && !state.atomic[i].empty();
    for (const Record* record : records) {
      Partner with;
      if (record->empty() || (is_flag && record->deed() == Deed::kWrite)) continue;
      if (!is_conflict(record->deed(), me)) continue;
      const bool is_open = find_open(*record, me, &with);
      with.is_stale = !is_open && was_wide && me.may_be_stale(*record);
      if (is_open || with.is_stale) conflicts.add(with, lane);
    }
    if (deed == Deed::kWrite) {
      state.write[i] = mine;
      state.read[i] = state.atomic[i] = {};
    } else if (state.write[i].empty() || !state.write[i].same_time(mine)) {
      Record& kept = deed == Deed::kRead ? state.read[i] : state.atomic[i];
      kept = both(kept, mine, me);
    }
  }
  // One Record again?
  Record only;
  uint32_t has = 0;
  bool fits = true;
  for (uint32_t i = 0; i < 4; ++i) {
    for (const Record record : {state.write[i], state.read[i], state.atomic[i]}) {
      if (record.empty()) continue;
      fits &= (has >> i & 1) == 0 && (only.empty() || only.same_but_lane(record));
      has |= 1u << i;
      only = record;
    }
  }
  if (fits) {
    if (was_wide) wide_->free.push_back(old.wide_index());
    cell = only.with_bytes(has);
    return;
  }
  if (!was_wide) {
    if (wide_ == nullptr) wide_ = std::make_unique<Wide>();
    if (wide_->free.empty()) {
      wide_->free.push_back(static_cast<uint32_t>(wide_->entries.size()));
      wide_->entries.emplace_back();
    }
    cell = Record::wide(wide_->free.back());
    wide_->free.pop_back();
  }
  wide_->entries[cell.wide_index()] = state;
}

Record ShadowWords::last_store(uint32_t word) const {
  const Record cell = at(word);
  if (cell.empty()) return {};
  if (cell.form() != Record::kWide) return cell.deed() == Deed::kWrite ? cell : Record();
  for (const Record record : wide_->entries[cell.wide_index()].write)
    if (!record.empty()) return record;
  return {};
}

size_t ShadowWords::memory_bytes() const {
  const size_t records = lines_ == nullptr ? size() : line_count_;
  size_t bytes = records * sizeof(Record) + (line_count_ + 63) / 64 * sizeof(uint64_t);
  if (wide_ != nullptr)
    bytes += sizeof *wide_ + wide_->entries.capacity() * sizeof(Bytes) +
             wide_->free.capacity() * sizeof(uint32_t);
  return bytes;
}

bool ShadowPage::is_read_by_all(uint32_t word, uint32_t count) const {
  for (uint32_t i = 0; i < count; ++i) {
    const Record record = at(word + i);
    if (record.form() != Record::kAll || record.deed() != Deed::kRead ||
        record.bytes() != Record::kAllBytes)
      return false;
  }
  return true;
}

ShadowMap::ShadowMap() : buckets_(new std::atomic<ShadowPage*>[kBuckets]()) {}
ShadowMap::~ShadowMap() = default;

ShadowPage* ShadowMap::find(uint64_t number) const {
  // Pairs with the store in page(): a page that is seen is complete.
  ShadowPage* page = buckets_[bucket_of(number)].load(std::memory_order_acquire);
  while (page != nullptr && page->number != number) page = page->next;
  return page;
}

ShadowPage* ShadowMap::page(uint64_t number) {
  if (ShadowPage* page = find(number)) return page;
  const std::lock_guard lock(mutex_);
  if (ShadowPage* page = find(number)) return page;
  std::unique_ptr<ShadowPage> page;
  if (idle_.empty()) {
    page.reset(new (std::nothrow) ShadowPage);
    if (page == nullptr) return nullptr;
  } else {
    page = std::move(idle_.back());
    idle_.pop_back();
  }
  std::atomic<ShadowPage*>& bucket = buckets_[bucket_of(number)];
  page->number = number;
  page->next = bucket.load(std::memory_order_relaxed);
  bucket.store(page.get(), std::memory_order_release);
  pages_.push_back(std::move(page));
  return pages_.back().get();
}

void ShadowMap::clear() {
  for (std::unique_ptr<ShadowPage>& page : pages_) {
    buckets_[bucket_of(page->number)].store(nullptr, std::memory_order_relaxed);
    if (idle_.size() >= kKept) continue;
    page->clear();
    idle_.push_back(std::move(page));
  }
  pages_.clear();
}

uint64_t ShadowMap::memory_bytes() const {
  uint64_t all = 0;
  for (const std::unique_ptr<ShadowPage>& page : pages_) all += sizeof *page + page->memory_bytes();
  return all;
}

}  // namespace wavetap::sanitize
