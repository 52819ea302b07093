#include "sanitize/racecheck.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>

#include "emu/launch.h"
#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"
#include "sanitize/race_instructions.h"
#include "sanitize/value_reach.h"

namespace wavetap::sanitize {

using emu::Access;
using emu::MemoryAccess;
using emu::Space;

// A workgroup's time and LDS.
struct Racecheck::Group {
  GroupTime time;
  ShadowWords lds;  // made when it is used
  // Of words of LDS, where flags are loaded from it: the first store, who has stored, and who has loaded it as a flag before anybody did.
  struct First {
    Record store;
    Record load;
    uint32_t waves = 0;
  };
  std::unordered_map<uint32_t, First> first;
  // What is over for the wave that accesses memory, where a barrier did not wait for everything.
  WaveClocks closed = {};
  WaveClocks closed_reads = {};
  WaveClocks closed_writes = {};
  // The pages of global memory it used last.
  static constexpr size_t kCached = 16;
  ShadowPage* cached[kCached] = {};
  // Scalar loads that all workgroups do alike, of arguments: once several have, the others have nothing to add.
  struct Known {
    const Site* site = nullptr;
    uint64_t begin = 0;
    const ShadowPage* page = nullptr;  // null: not known yet
    uint32_t changes = 0;              // of the page
  };
  Known known[kCached];
  Known& known_at(const Site& of) { return known[of.pc.value / 4 % kCached]; }
  uint64_t dispatch = 0;  // in which these pages are
};

namespace {

Deed deed_of(Access access) {
  switch (access) {
    case Access::kLoad: return Deed::kRead;
    case Access::kStore: return Deed::kWrite;
    case Access::kAtomic:
    case Access::kAtomicReturn: break;
  }
  return Deed::kAtomic;
}

// Calls touch(address of the word / 4, bytes of the word) for the words of [address, + size).
template <class F>
void for_each_word(uint64_t address, uint32_t size_bytes, F&& touch) {
  if (((address | size_bytes) & 3) == 0) {
    for (uint64_t word = address / 4, end = word + size_bytes / 4; word < end; ++word)
      touch(word, Record::kAllBytes);
    return;
  }
  for (const uint64_t end = address + size_bytes; address < end;) {
    const uint64_t first = address & 3;
    const uint64_t count = std::min(4 - first, end - address);
    touch(address / 4, static_cast<uint32_t>(((1u << count) - 1) << first));
    address += count;
  }
}

// Those of the first word of [address, + size).
uint32_t bytes_of_word(uint64_t address, uint32_t size_bytes) {
  const uint32_t first = address & 3;
  return ((1u << std::min(4 - first, size_bytes)) - 1) << first;
}

// Whole words, in rows; or one element that all lanes of a group read.
bool is_of_rows(const MemoryAccess& access, Deed deed) {
  if (access.relation == emu::Relation::kNone || access.size_bytes % 4 != 0) return false;
  uint64_t addresses = 0;
  for (int i = 0, count = access.groups(); i < count; ++i)
    addresses |= access.address[i * emu::kGroupLanes];
  return addresses % 4 == 0 &&
         (access.relation == emu::Relation::kConsecutive || deed != Deed::kWrite);
}

// Calls touch(address of the first word / 4, words, first lane) for the rows of such an access.
template <class F>
void for_each_row(const MemoryAccess& access, F&& touch) {
  const uint32_t words = access.size_bytes / 4;
  const bool is_same = access.relation == emu::Relation::kSame;
  const uint32_t each = is_same ? words : words * emu::kGroupLanes;
  if (access.is_whole()) {
    touch(access.address[0] / 4, is_same ? each : each * static_cast<uint32_t>(access.groups()),
          0u);
    return;
  }
  for (int i = 0, count = access.groups(); i < count; ++i)
    touch(access.address[i * emu::kGroupLanes] / 4, each,
          static_cast<uint32_t>(i * emu::kGroupLanes));
}

// Some 30 ms of a dispatch, far more than an announced store takes to be done.
constexpr int kPatience = 300;

// Lanes whose store leaves in memory what is there.
uint64_t lanes_without_change(const emu::Wave& wave, const MemoryAccess& access, uint64_t lanes) {
  uint64_t same = 0;
  std::byte old[64];
  std::byte stored[64];
  if (access.size_bytes > sizeof old) return 0;
  emu::for_each_lane(lanes, [&](int lane) {
    if (read_registers(wave, access, lane, stored) && read_memory(wave, access, lane, old) &&
        std::memcmp(old, stored, access.size_bytes) == 0)
      same |= uint64_t{1} << lane;
  });
  return same;
}

}  // namespace

Racecheck::Racecheck() = default;
Racecheck::~Racecheck() = default;

Racecheck::Site* Racecheck::site_of(const SiteFacts& facts) {
  const auto [first, last] = sites_.equal_range(facts.pc.value);
  for (auto it = first; it != last; ++it)
    if (static_cast<const SiteFacts&>(*it->second) == facts) return it->second.get();
  return sites_.emplace(facts.pc.value, std::make_unique<Site>(facts))->second.get();
}

emu::Wants Racecheck::wants(const isa::Program& program, int32_t index) noexcept {
  const isa::Inst& inst = program.insts()[index];
  if (index == 0) {
    program_orders_ = orders_workgroups(program);
    program_watches_waits_ = may_pass_barriers_early(program);
  }
  const isa::WaitEffect effect = isa::wait_effect_of(inst, program.target().major);
  SiteFacts site;
  emu::Wants wants;
  if (emptied_caches(inst) != 0) {
    site.role = Site::Role::kInvalidate;
    wants.before = program_orders_;
  } else if (accesses_memory(inst)) {
    wants.accessing = wants.rows_suffice = true;
    wants.screens = inst.family == isa::Family::kSmem && !is_flag_access(inst);
    wants.before = program_watches_waits_ && effect.issues != 0;
    if (is_flag_access(inst)) {
      site.role = Site::Role::kFlag;
      // One that returns nothing tells its wave nothing.
      wants.accessed = inst.dst.kind != isa::OperandKind::kNone;
    }
  } else if (is_grid_barrier(inst.op)) {
    site.role = Site::Role::kGridBarrier;
    wants.before = wants.after = true;
  } else if (effect.waits()) {
    site.role = Site::Role::kWait;
    wants.before = program_watches_waits_ || (waits_for_stores(inst, program) && program_orders_);
  }
  if (!wants.any()) return wants;
  site.pc = program.pc_of(index);
  site.is_lock = is_lock_operation(inst.op);
  site.caches = emptied_caches(inst);
  site.all_caches = caches_to_empty(program);
  site.waits_for_stores = waits_for_stores(inst, program);
  site.watches_waits = program_watches_waits_;
  site.effect = effect;
  wants.tag = reinterpret_cast<uintptr_t>(site_of(site));
  return wants;
}

void Racecheck::dispatch_began(const emu::Launch& launch) noexcept {
  launch_ = &launch;
  for (const std::unique_ptr<Group>& group : idle_) group->lds.resize(0);
  ++dispatch_;
  const isa::Program& program = launch.code->program();
  groups_synchronise_ = orders_workgroups(program);
  waves_synchronise_ = orders_waves(program);
  loads_lds_flags_ = may_load_lds_flags(program);
  numbered_.clear();
  patience_.store(kPatience, std::memory_order_relaxed);
}

void Racecheck::dispatch_ended(const emu::Launch&, const emu::DispatchResult&) noexcept {
  most_shadow_bytes_ = std::max(most_shadow_bytes_, shadow_.memory_bytes());
  shadow_.clear();
  order_.clear();
  launch_ = nullptr;
}

void Racecheck::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  std::unique_ptr<Group> mine;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      mine = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (mine == nullptr) mine = std::make_unique<Group>();
  mine->time.number = static_cast<uint32_t>(group.linear_id % Record::kGroups);
  mine->time.wave_count = static_cast<uint32_t>(group.waves.size());
  mine->time.sealed = {};
  mine->time.sealed_for_all = 0;
  mine->time.lds_atomics.clear();
  mine->first.clear();
  mine->time.watches_waits = mine->time.has_late = false;
  mine->time.waves.assign(std::max<size_t>(group.waves.size(), 1), {});
  if (mine->dispatch != dispatch_) {
    std::fill(std::begin(mine->cached), std::end(mine->cached), nullptr);
    std::fill(std::begin(mine->known), std::end(mine->known), Group::Known());
    mine->dispatch = dispatch_;
  }
  state = mine.release();
}

void Racecheck::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  std::unique_ptr<Group> group(static_cast<Group*>(state));
  state = nullptr;
  if (group == nullptr) return;
  group->lds.clear();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(group));
}

void Racecheck::barrier_passed(const emu::Workgroup&, void*& state) noexcept {
  GroupTime& time = static_cast<Group*>(state)->time;
  time.pass_barrier();
  if (groups_synchronise_) order_.pass_barrier(time);
}

bool Racecheck::screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept {
  if (span == nullptr) return true;
  Group& group = *static_cast<Group*>(at.state);
  const Site& site = *reinterpret_cast<Site*>(at.tag);
  const Group::Known& known = group.known_at(site);
  if (known.site != &site || known.begin != span->begin || known.page == nullptr ||
      known.page->changes() != known.changes)
    return true;
  group.time.waves[at.wave.wave_in_group].has_news = true;
  return false;
}

void Racecheck::remember_read(Group& group, const Site& site, const MemoryAccess& access) {
  const uint64_t begin = access.address[0];
  Group::Known& known = group.known_at(site);
  if (known.site != &site || known.begin != begin) {  // where it is every time?
    known = {.site = &site, .begin = begin};
    return;
  }
  known.page = nullptr;
  if (begin / ShadowPage::kBytes != (begin + access.size_bytes - 1) / ShadowPage::kBytes ||
      (begin | access.size_bytes) % 4 != 0)
    return;
  ShadowPage* const page = shadow_.find(begin / ShadowPage::kBytes);
  if (page == nullptr) return;
  page->lock();
  known.changes = page->changes();
  if (page->is_read_by_all(static_cast<uint32_t>(begin % ShadowPage::kBytes / 4),
                           access.size_bytes / 4))
    known.page = page;
  page->unlock();
}

void Racecheck::before(const emu::WatchPoint& at) noexcept {
  GroupTime& group = static_cast<Group*>(at.state)->time;
  const uint32_t number = at.wave.wave_in_group;
  WaveTime& wave = group.waves[number];
  const Site& site = *reinterpret_cast<Site*>(at.tag);
  switch (site.role) {
    case Site::Role::kInvalidate:
      wave.invalidated |= site.caches;
      if (wave.invalidated == site.all_caches) wave.acquired.join(wave.seen);
      return;
    case Site::Role::kAccess:
    case Site::Role::kFlag:  // of a program whose waits are watched
      group.watches_waits = true;
      wave.has_news = true;
      wave.tick();
      wave.open.issue(site.effect, wave.clock);
      return;
    case Site::Role::kWait:
      if (site.watches_waits) wave.open.wait(site.effect);
      if (!site.waits_for_stores || !groups_synchronise_ || !wave.has_stores) return;
      wave.completed = wave.clock;
      wave.tick();
      order_.complete(group, number);
      return;
    case Site::Role::kGridBarrier:
      wave.completed = wave.clock;
      order_.release(group, number, 0);
      wave.entered_fresh = wave.invalidated == site.all_caches;
      wave.has_news = true;
      wave.tick();
      return;
  }
}

void Racecheck::after(const emu::WatchPoint& at) noexcept {
  GroupTime& group = static_cast<Group*>(at.state)->time;
  order_.acquire(group, at.wave.wave_in_group, 0);
  // Caches that were emptied before it are still empty: nobody has loaded anything since.
  WaveTime& wave = group.waves[at.wave.wave_in_group];
  if (wave.entered_fresh) wave.acquired.join(wave.seen);
}

uint32_t Racecheck::number_of(Site& site, const MemoryAccess& access) {
  // The dispatch and, below it, the site's number in it: what belongs to it is behind the mutex.
  const uint64_t known = site.numbered.load(std::memory_order_relaxed);
  if (known / Record::kSites == dispatch_) return static_cast<uint32_t>(known % Record::kSites);
  const std::lock_guard lock(mutex_);
  if (site.numbered.load(std::memory_order_relaxed) / Record::kSites != dispatch_) {
    const bool fits = numbered_.size() < Record::kNoSite;
    const uint64_t number = fits ? numbered_.size() : Record::kNoSite;
    site.access = access.access;
    site.size_bytes = access.size_bytes;
    if (fits) numbered_.push_back(&site);
    site.numbered.store(dispatch_ * Record::kSites + number, std::memory_order_relaxed);
  }
  return static_cast<uint32_t>(site.numbered.load(std::memory_order_relaxed) % Record::kSites);
}

Accessor Racecheck::accessor(const Group& group, const emu::WatchPoint& at, Deed deed,
                             uint32_t number) const {
  const GroupTime& time = group.time;
  const uint32_t wave = at.wave.wave_in_group;
  const WaveTime& own = time.waves[wave];
  Accessor me;
  me.record = Record::make(deed, number, time.number, wave, own.clock);
  me.sealed = time.sealed.data();
  me.inside = own.inside.data();
  me.outside = &own.seen;
  if (groups_synchronise_) me.acquired = &own.acquired;
  me.groups_synchronise = groups_synchronise_;
  me.trusts_groups = groups_synchronise_ && launch_->group_count > Record::kGroups;
  return me;
}

bool Racecheck::take_lds(Group& group, const emu::WatchPoint& at, Site& site,
                         const MemoryAccess& access, Deed deed) {
  const GroupTime& time = group.time;
  ShadowWords& lds = group.lds;
  if (time.has_late || loads_lds_flags_ || access.size_bytes % 4 != 0) return false;
  const bool is_same = access.relation == emu::Relation::kSame;
  if (access.relation != emu::Relation::kNone &&
      (site.role == Site::Role::kFlag || (is_same && deed == Deed::kWrite)))
    return false;
  const uint32_t wave = at.wave.wave_in_group;
  const ClosedClocks closed{time.sealed_for_all, time.sealed.data()};
  const Record mine =
      Record::make(deed, number_of(site, access), time.number, wave, time.waves[wave].clock)
          .with_bytes(Record::kAllBytes);
  const uint32_t words = access.size_bytes / 4;
  if (access.relation == emu::Relation::kNone)
    return lds.take_lanes(access.address, access.mask, words, mine, closed);
  const uint32_t each = is_same ? words : words * emu::kGroupLanes;
  if ((words & (words - 1)) != 0) return false;
  const auto shift = static_cast<uint32_t>(std::countr_zero(words));
  uint64_t last = ~uint64_t{0};
  for (int i = 0, count = access.groups(); i < count; ++i) {
    const auto lane = static_cast<uint32_t>(i * emu::kGroupLanes);
    const uint64_t word = access.address[lane] / 4;
    if (access.address[lane] % 4 != 0) return false;
    if (word == last && deed != Deed::kWrite) continue;  // a row that all groups read
    last = word;
    if (word + each > lds.size() || (!is_same && (word & (words - 1)) != 0) ||
        !lds.take_row(static_cast<uint32_t>(word), each, shift, mine.lanes_on(lane), closed))
      return false;
  }
  return true;
}

void Racecheck::check_lds(Group& group, const MemoryAccess& access, const Accessor& me,
                          Conflicts& conflicts) {
  ShadowWords& lds = group.lds;
  const bool may_repeat = me.record.deed() != Deed::kWrite;
  if (access.relation != emu::Relation::kNone) {
    for_each_row(access, [&](uint64_t word, uint32_t count, uint32_t lane) {
      if (word + count > lds.size()) return;
      lds.touch_row(static_cast<uint32_t>(word), count, access.size_bytes / 4, lane, me, conflicts);
    });
    return;
  }
  uint64_t last = ~uint64_t{0};
  emu::for_each_lane(access.mask, [&](int lane) {
    const uint64_t address = access.address[lane];
    if (address == last && may_repeat) return;
    last = address;
    for_each_word(address, access.size_bytes, [&](uint64_t word, uint32_t bytes) {
      if (word >= lds.size()) return;
      lds.touch(static_cast<uint32_t>(word), bytes, static_cast<uint32_t>(lane), me, conflicts);
    });
  });
}

void Racecheck::check_first_stores(Group& group, const MemoryAccess& access, const Accessor& me,
                                   Conflicts& conflicts) {
  const Deed deed = me.record.deed();
  if (deed == Deed::kRead || (deed == Deed::kAtomic && !me.reads_flag)) return;
  const uint32_t own = me.record.wave();
  const auto is_open = [&](Record other) {
    return !other.empty() && other.wave() != own &&
           !me.is_over(other.deed(), other.group(), other.wave(), other.clock());
  };
  const auto add = [&](Record other, int lane) {
    conflicts.add({other.deed(), other.site(), other.group(), static_cast<int>(other.wave()),
                   static_cast<int>(other.lane()), other.bytes(), false, false, true},
                  static_cast<uint32_t>(lane));
  };
  const emu::WholeAccess whole(access);
  emu::for_each_lane(access.mask, [&](int lane) {
    for_each_word((*whole).address[lane], access.size_bytes, [&](uint64_t word, uint32_t bytes) {
      if (word >= group.lds.size()) return;
      Group::First& first = group.first[static_cast<uint32_t>(word)];
      const Record mine = me.record.at(bytes, static_cast<uint32_t>(lane));
      if (deed == Deed::kWrite) {
        if (first.store.empty()) {
          if (is_open(first.load)) add(first.load, lane);
          first.store = mine;
        }
        first.waves |= 1u << own;
      } else if (first.store.empty()) {
        if (first.load.empty()) first.load = mine;
      } else if ((first.waves >> own & 1) == 0 && is_open(first.store) &&
                 is_open(group.lds.last_store(static_cast<uint32_t>(word)))) {
        add(first.store, lane);
      }
    });
  });
}

void Racecheck::check_global(Group& group, const MemoryAccess& access, const Accessor& me,
                             Conflicts& conflicts) {
  constexpr uint64_t kPageWords = ShadowPage::kBytes / 4;
  const bool may_repeat = me.record.deed() != Deed::kWrite;
  const bool is_read = me.record.deed() == Deed::kRead;
  uint64_t last = ~uint64_t{0};
  ShadowPage* page = nullptr;  // locked
  const auto select = [&](uint64_t number) {
    if (page != nullptr && page->number == number) return true;
    if (page != nullptr) page->unlock();
    ShadowPage*& cached = group.cached[number % Group::kCached];
    if (cached == nullptr || cached->number != number) cached = shadow_.page(number);
    page = cached;
    if (page == nullptr) return false;
    page->lock();
    if (!is_read) page->note_change();
    return true;
  };
  // The wave's scratch, addressed as memory, is nobody else's.
  if (access.relation != emu::Relation::kNone && access.span().last < emu::kScratchVa) {
    const uint32_t words_per_lane = access.size_bytes / 4;
    for_each_row(access, [&](uint64_t word, uint32_t count, uint32_t lane) {
      // Elements that lie in two pages go one by one.
      if (word / kPageWords == (word + count - 1) / kPageWords) {
        if (select(word / kPageWords))
          page->touch_row(static_cast<uint32_t>(word % kPageWords), count, words_per_lane, lane, me,
                          conflicts);
        return;
      }
      for (uint32_t i = 0; i < count; ++i, ++word)
        if (select(word / kPageWords))
          page->touch(static_cast<uint32_t>(word % kPageWords), Record::kAllBytes,
                      lane + i / words_per_lane, me, conflicts);
    });
    if (page != nullptr) page->unlock();
    return;
  }
  const emu::WholeAccess whole(access);  // rows of scratch are looked at lane by lane
  emu::for_each_lane(access.mask, [&](int lane) {
    const uint64_t address = (*whole).address[lane];
    if (address >= emu::kScratchVa || (address == last && may_repeat)) return;
    last = address;
    for_each_word(address, access.size_bytes, [&](uint64_t word, uint32_t bytes) {
      if (select(word / kPageWords))
        page->touch(static_cast<uint32_t>(word % kPageWords), bytes, static_cast<uint32_t>(lane),
                    me, conflicts);
    });
  });
  if (page != nullptr) page->unlock();
}

void Racecheck::let_go(Group& group, const emu::WatchPoint& at, const MemoryAccess& access) {
  GroupTime& time = group.time;
  const uint32_t number = at.wave.wave_in_group;
  WaveTime& wave = time.waves[number];
  if (access.space == Space::kGlobal) {
    if (!groups_synchronise_) return;
    emu::for_each_lane(access.mask,
                       [&](int lane) { order_.release(time, number, access.address[lane]); });
    wave.tick();
    return;
  }
  if (time.wave_count == 1 || !waves_synchronise_) return;
  emu::for_each_lane(access.mask, [&](int lane) {
    WaveClocks& clocks = time.lds_atomics[static_cast<uint32_t>(access.address[lane])];
    for (uint32_t i = 0; i < time.wave_count; ++i)
      clocks[i] = std::max(clocks[i], i == number ? wave.done() : wave.inside[i]);
  });
  wave.tick();
}

void Racecheck::accessing(const emu::WatchPoint& at,
                          std::span<const MemoryAccess> accesses) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  Site& site = *reinterpret_cast<Site*>(at.tag);
  for (const MemoryAccess& access : accesses) {
    if (access.mask == 0 || access.space == Space::kScratch) continue;
    // A load past the cache is what the compiler makes of an atomic one.
    const bool is_flag = site.role == Site::Role::kFlag;
    const Deed deed = is_flag ? Deed::kAtomic : deed_of(access.access);
    if (access.space != Space::kLds || !take_lds(group, at, site, access, deed))
      check_rows_or_lanes(at, group, site, access, deed);
    if (access.is_scalar && deed == Deed::kRead && !groups_synchronise_ && accesses.size() == 1)
      remember_read(group, site, access);
    WaveTime& wave = group.time.waves[at.wave.wave_in_group];
    if (!is_flag && !wave.has_news) wave.has_news = true;
    if (!is_flag && access.space == Space::kGlobal) wave.has_stores = true;
    if (is_flag && access.writes()) let_go(group, at, access);
  }
}

void Racecheck::check_rows_or_lanes(const emu::WatchPoint& at, Group& group, Site& site,
                                    const MemoryAccess& access, Deed deed) {
  const bool is_flag = site.role == Site::Role::kFlag;
  if (access.relation == emu::Relation::kNone || (!is_flag && is_of_rows(access, deed)))
    return check_access(at, group, site, access, deed);
  const emu::WholeAccess whole(access);
  MemoryAccess lanes = *whole;
  lanes.relation = emu::Relation::kNone;
  check_access(at, group, site, lanes, deed);
}

void Racecheck::leave_out_late(Group& group, bool is_lds, Accessor& me) {
  const GroupTime& time = group.time;
  // Waves of one compute unit share their caches and keep the order there.
  if (!is_lds && !launch_->descriptor.wgp_mode()) return;
  const OpenClass of_reads = is_lds ? OpenClass::kLds : OpenClass::kLoad;
  const OpenClass of_writes = is_lds ? OpenClass::kLds : OpenClass::kStore;
  group.closed = time.sealed;
  time.leave_out_late(of_reads, group.closed);
  time.leave_out_late(of_writes, group.closed);
  group.closed_reads = group.closed_writes = time.waves[me.record.wave()].inside;
  time.leave_out_late(of_reads, group.closed_reads);
  time.leave_out_late(of_writes, group.closed_writes);
  me.sealed = group.closed.data();
  me.inside_reads = group.closed_reads.data();
  me.inside_writes = group.closed_writes.data();
  if (is_lds)
    me.dead_clock = *std::min_element(group.closed.begin(), group.closed.begin() + time.wave_count);
}

void Racecheck::check_access(const emu::WatchPoint& at, Group& group, Site& site,
                             const MemoryAccess& access, Deed deed) {
  const bool is_flag = site.role == Site::Role::kFlag;
  Accessor me = accessor(group, at, deed, number_of(site, access));
  const bool is_lds = access.space == Space::kLds;
  if (is_lds) me.dead_clock = group.time.sealed_for_all;
  if (group.time.has_late) leave_out_late(group, is_lds, me);
  me.reads_flag = is_flag && access.access == Access::kLoad;
  Conflicts conflicts;
  // What is outside was left out: the workgroup's LDS is the end.
  if (is_lds && group.lds.size() == 0) group.lds.resize((launch_->lds_bytes + 3) / 4);
  if (is_lds && loads_lds_flags_) check_first_stores(group, access, me, conflicts);
  if (is_lds) check_lds(group, access, me, conflicts);
  else check_global(group, access, me, conflicts);
  if (conflicts.begin() != conflicts.end() || conflicts.may_collide) {
    const emu::WholeAccess whole(access);
    report(at, *whole, me, conflicts);
    if (conflicts.may_collide) report_collisions(at, *whole, me);
  }
}

void Racecheck::learn_in_lds(Group& group, uint32_t number, const MemoryAccess& access) {
  GroupTime& time = group.time;
  WaveTime& wave = time.waves[number];
  const auto learn = [&](const WaveClocks& clocks) {
    for (uint32_t i = 0; i < time.wave_count; ++i)
      wave.inside[i] = std::max(wave.inside[i], clocks[i]);
  };
  emu::for_each_lane(access.mask, [&](int lane) {
    const uint64_t address = access.address[lane];
    const auto found = time.lds_atomics.find(static_cast<uint32_t>(address));
    if (found != time.lds_atomics.end()) learn(found->second);
    if (address / 4 >= group.lds.size()) return;
    const Record store = group.lds.last_store(static_cast<uint32_t>(address / 4));
    if (store.empty() || store.wave() == number) return;
    learn(time.waves[store.wave()].inside);
    wave.inside[store.wave()] =
        std::max(wave.inside[store.wave()], static_cast<uint16_t>(store.clock()));
  });
}

// Between an access's announcement and the access, on another thread, a store may have been announced
// and done: it replaced the announced one in the shadow. The access has read it and comes after it, so
// it is noted again.
void Racecheck::learn_from_others(Group& group, uint32_t number, const MemoryAccess& access,
                                  const Accessor& me) {
  GroupTime& time = group.time;
  Conflicts known;  // told of when the access was announced
  emu::for_each_lane(access.mask, [&](int lane) {
    const uint64_t address = access.address[lane];
    order_.acquire(time, number, address);
    ShadowPage* const page = shadow_.find(address >> ShadowPage::kBits);
    if (page == nullptr) return;
    page->lock();
    const auto word = static_cast<uint32_t>(address % ShadowPage::kBytes / 4);
    const Record store = page->last_store(word);
    if (!store.empty())
      page->touch(word, bytes_of_word(address, access.size_bytes), static_cast<uint32_t>(lane), me,
                  known);
    page->unlock();
    if (store.empty() || (store.group() == time.number && store.wave() == number)) return;
    order_.acquire_store(time, number, store);
  });
}

void Racecheck::accessed(const emu::WatchPoint& at,
                         std::span<const MemoryAccess> accesses) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  Site& site = *reinterpret_cast<Site*>(at.tag);
  for (const MemoryAccess& access : accesses) {
    if (!access.reads() || access.access == Access::kAtomic) continue;
    if (access.space == Space::kLds) learn_in_lds(group, at.wave.wave_in_group, access);
    if (access.space == Space::kGlobal && groups_synchronise_)
      learn_from_others(group, at.wave.wave_in_group, access,
                        accessor(group, at, Deed::kAtomic, number_of(site, access)));
  }
}

Place Racecheck::place_of(const emu::Wave& wave, const Partner& with) const {
  const emu::Dispatch& dispatch = *wave.dispatch;
  Place place;
  const Site* const site = with.site < numbered_.size() ? numbered_[with.site] : nullptr;
  if (site != nullptr) {
    place.pc = site->pc;
    place.has_access = true;
    place.access = site->access;
    place.size_bytes = site->size_bytes;
  }
  uint64_t rest = with.group;
  emu::Workgroup group;  // only its size
  for (int i = 0; i < 3; ++i) {
    place.workgroup[i] = static_cast<uint32_t>(rest % launch_->groups[i]);
    rest /= launch_->groups[i];
    const uint32_t begin = place.workgroup[i] * dispatch.workgroup_size[i];
    group.size[i] = std::min<uint32_t>(dispatch.workgroup_size[i], dispatch.grid_size[i] - begin);
  }
  if (with.wave >= 0) place.wave = static_cast<uint32_t>(with.wave);
  // The bytes of a word that several lanes stored are remembered with one of them.
  const bool is_part = site != nullptr && site->size_bytes < 4;
  const bool is_lane_known =
      !is_part || static_cast<uint32_t>(std::popcount(with.bytes)) == site->size_bytes;
  if (with.lane >= 0 && is_lane_known) {
    place.lane = with.lane;
    place.lanes = uint64_t{1} << with.lane;
  }
  set_thread(place, group, wave.lanes);
  return place;
}

// Of a plain load that races with an atomic.
bool Racecheck::read_matters(GpuAddr pc, bool is_group) {
  const isa::Program& program = launch_->code->program();
  // gfx9 has no other instruction for an atomic load that is for its workgroup alone.
  if (is_group && program.target().major == 9) return false;
  const int32_t index = program.index_of(pc);
  if (index < 0) return false;  // in a function that is called
  {
    const std::lock_guard lock(mutex_);
    const auto known = matters_.find(pc.value);
    if (known != matters_.end() && known->second.dispatch == dispatch_) return known->second.does;
  }
  const bool does = value_matters(program, index);
  const std::lock_guard lock(mutex_);
  matters_[pc.value] = {dispatch_, does};
  return does;
}

// Which access came first is an accident of this run. The kind goes by their order in the code, and the
// second of them is the place of the finding.
void Racecheck::report_pair(const emu::WatchPoint& at, const MemoryAccess& access, Deed deed,
                            const Partner& with, uint64_t lanes, int first_lane) {
  const Site& own = *reinterpret_cast<Site*>(at.tag);
  Place there;
  bool is_lock = own.is_lock;
  bool is_flag_load = own.is_flag_load();
  {
    const std::lock_guard lock(mutex_);
    there = place_of(at.wave, with);
    if (with.site < numbered_.size()) {
      is_lock |= numbered_[with.site]->is_lock;
      is_flag_load |= numbered_[with.site]->is_flag_load();
    }
  }
  const bool is_swapped = there.pc.value > at.pc.value;
  const Deed first = is_swapped ? deed : with.deed;
  const Deed second = is_swapped ? with.deed : deed;
  const bool has_atomic = first == Deed::kAtomic || second == Deed::kAtomic;
  // An atomic load of what a store, which may be as atomic, writes; the first guess of a loop of
  // compare-and-swaps; the store that opens a lock (compilers make one of an exchange whose result is
  // not used).
  if (!with.is_first && (is_flag_load || (has_atomic && is_lock))) return;
  const Kind kind = with.is_first           ? Kind::kReadAfterWrite
                    : has_atomic            ? Kind::kAtomicAndPlain
                    : first == Deed::kRead  ? Kind::kWriteAfterRead
                    : second == Deed::kRead ? Kind::kReadAfterWrite
                                            : Kind::kWriteAfterWrite;
  Finding finding = finding_at(kind, at, lanes);
  finding.place.lane = first_lane;
  set_thread(finding.place, *at.wave.workgroup, at.wave.lanes);
  set_access(finding, access);
  if (has_atomic && access.space == Space::kLds) finding.severity = Severity::kError;
  if (has_atomic && access.space == Space::kGlobal) {
    const bool is_own = deed == Deed::kRead;
    const GpuAddr reader = is_own ? at.pc : there.pc;
    const bool is_group = with.group == at.wave.workgroup->linear_id % Record::kGroups;
    if ((is_own || with.deed == Deed::kRead) && read_matters(reader, is_group)) {
      finding.severity = Severity::kError;
      finding.detail = "what the load reads is stored, or decides an address or a branch";
    }
  }
  if (access.space == Space::kGlobal && map_ != nullptr)
    finding.neighbour = map_->neighbour({finding.address});
  // Waves that tell the host something, each in turn, with a store that was an atomic one.
  if (kind == Kind::kWriteAfterWrite && groups_synchronise_ && there.pc.value == at.pc.value &&
      access.space == Space::kGlobal && std::strcmp(finding.neighbour.memory, "VRAM") != 0)
    return;
  finding.has_other = true;
  finding.other = there;
  finding.other_role = "against";
  if (with.is_first)
    finding.detail =
        "nothing orders the first store to this part of LDS before the load, which may find what is "
        "left there";
  if (with.wave < 0) finding.detail = "several workgroups read it; the one named is one of them";
  if (with.is_late) {
    const bool is_load = with.deed == Deed::kRead;
    finding.detail = std::string("the barrier between the two does not wait for the ") +
                     (is_load                     ? "load"
                      : with.deed == Deed::kWrite ? "store"
                                                  : "atomic") +
                     "; " +
                     (access.space == Space::kLds ? "lgkmcnt"
                      : is_load                   ? "vmcnt"
                                                  : "vscnt") +
                     "(0) has to be waited for before it";
  }
  if (is_swapped) std::swap(finding.place, finding.other);
  findings().add(finding, static_cast<uint32_t>(std::popcount(lanes)));
}

void Racecheck::report_stale(const emu::WatchPoint& at, const MemoryAccess& access,
                             const Partner& with, uint64_t lanes, int first_lane) {
  Finding finding = finding_at(Kind::kMissingAcquire, at, lanes);
  finding.place.lane = first_lane;
  set_thread(finding.place, *at.wave.workgroup, at.wave.lanes);
  set_access(finding, access);
  if (map_ != nullptr) finding.neighbour = map_->neighbour({finding.address});
  finding.detail =
      "a flag was read that says the store is done, and no cache was invalidated since; an acquire, "
      "or __threadfence(), is missing behind the flag";
  {
    const std::lock_guard lock(mutex_);
    finding.other = place_of(at.wave, with);
  }
  finding.has_other = true;
  finding.other_role = "stored";
  findings().add(finding, static_cast<uint32_t>(std::popcount(lanes)));
}

// Two stores of one value are no race. The other one is in the shadow before it is in memory: where
// workgroups run on several threads, memory may still have what was there before both.
uint64_t Racecheck::lanes_that_change(const emu::Wave& wave, const MemoryAccess& access,
                                      uint64_t lanes) {
  lanes &= ~lanes_without_change(wave, access, lanes);
  if (access.space != Space::kGlobal) return lanes;
  for (int turn = 0;
       turn < 100 && lanes != 0 && patience_.fetch_sub(1, std::memory_order_relaxed) > 0; ++turn) {
    const timespec moment{0, 100'000};
    nanosleep(&moment, nullptr);
    lanes &= ~lanes_without_change(wave, access, lanes);
  }
  return lanes;
}

void Racecheck::report(const emu::WatchPoint& at, const MemoryAccess& access, const Accessor& me,
                       const Conflicts& conflicts) {
  const Deed deed = me.record.deed();
  for (const Conflicts::Pair& pair : conflicts) {
    if (pair.with.is_stale) {
      report_stale(at, access, pair.with, pair.lanes, pair.first_lane);
      continue;
    }
    uint64_t lanes = pair.lanes;
    int first = pair.first_lane;
    if (deed == Deed::kWrite && pair.with.deed == Deed::kWrite) {
      lanes = lanes_that_change(at.wave, access, lanes);
      if (lanes == 0) continue;
      first = std::countr_zero(lanes);
    }
    Partner with = pair.with;
    if (first != pair.first_lane) with.lane = -1;
    report_pair(at, access, deed, with, lanes, first);
  }
}

void Racecheck::report_collisions(const emu::WatchPoint& at, const MemoryAccess& access,
                                  const Accessor& me) {
  int order[64];
  int count = 0;
  emu::for_each_lane(access.mask, [&](int lane) { order[count++] = lane; });
  std::stable_sort(order, order + count,
                   [&](int a, int b) { return access.address[a] < access.address[b]; });
  uint64_t lanes = 0;
  int first = -1;
  int beside = -1;
  std::byte one[64];
  std::byte other[64];
  if (access.size_bytes > sizeof one) return;
  for (int i = 1; i < count; ++i) {
    const int a = order[i - 1];
    const int b = order[i];
    const uint64_t apart = access.address[b] - access.address[a];
    if (apart >= access.size_bytes) continue;
    if (!read_registers(at.wave, access, a, one) || !read_registers(at.wave, access, b, other))
      continue;
    if (std::memcmp(one + apart, other, access.size_bytes - apart) == 0) continue;
    lanes |= uint64_t{1} << a | uint64_t{1} << b;
    if (first < 0 || b < first) first = b, beside = a;
  }
  if (lanes == 0) return;
  const Partner with{Deed::kWrite,
                     me.record.site(),
                     me.record.group(),
                     static_cast<int>(me.record.wave()),
                     beside,
                     (1u << std::min(access.size_bytes, 4u)) - 1};
  report_pair(at, access, Deed::kWrite, with, lanes, first);
}

}  // namespace wavetap::sanitize
