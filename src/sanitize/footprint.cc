#include "sanitize/footprint.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"

namespace wavetap::sanitize {
namespace {

constexpr uint16_t kMostSites = 0xffff;

// What needs an order: uses of the earlier and the later one. The most serious first.
struct Rule {
  Kind kind;
  std::pair<PageUse, PageUse> uses;
};
constexpr Rule kRules[] = {
    {Kind::kWriteAfterWrite, {PageUse::kWritten, PageUse::kWritten}},
    {Kind::kReadAfterWrite, {PageUse::kWritten, PageUse::kRead}},
    {Kind::kWriteAfterRead, {PageUse::kRead, PageUse::kWritten}},
    {Kind::kAtomicAndPlain, {PageUse::kWritten, PageUse::kAtomic}},
    {Kind::kAtomicAndPlain, {PageUse::kAtomic, PageUse::kWritten}},
    {Kind::kAtomicAndPlain, {PageUse::kAtomic, PageUse::kRead}},
    {Kind::kAtomicAndPlain, {PageUse::kRead, PageUse::kAtomic}},
};

PageUse use_of(const isa::Inst& inst, const emu::MemoryAccess& access) {
  switch (access.access) {
    case emu::Access::kLoad: return inst.glc || inst.dlc ? PageUse::kPastCache : PageUse::kRead;
    case emu::Access::kStore: return PageUse::kWritten;
    case emu::Access::kAtomic:
    case emu::Access::kAtomicReturn: break;
  }
  return PageUse::kAtomic;
}

// Whether who used `to` may learn something from who used `from`.
bool may_tell(const PageMarks& from, const PageMarks& to) {
  for (size_t line = 0; line < PageMarks::kLines; ++line) {
    const uint64_t atomic = from.line(PageUse::kAtomic, line);
    const uint64_t told = from.line(PageUse::kWritten, line) | atomic;
    if ((told & to.line(PageUse::kPastCache, line)) != 0 ||
        (atomic & to.line(PageUse::kAtomic, line)) != 0)
      return true;
  }
  return false;
}

// Ranges as marks, as far as they are on pages of the others.
FootprintMarks marks_of(std::span<const MovedRange> ranges, const FootprintPages& others) {
  FootprintMarks marks;
  for (const std::unique_ptr<PageMarks>& other : others.all()) {
    const uint64_t begin = other->number * PageMarks::kBytes;
    for (const MovedRange& range : ranges) {
      const uint64_t first = std::max(begin, range.begin);
      const uint64_t last = std::min(begin + PageMarks::kBytes, range.end());
      if (first >= last) continue;
      PageMarks* const page = marks.pages.page(other->number);
      if (page == nullptr) return marks;
      page->mark(range.is_write ? PageUse::kWritten : PageUse::kRead, 0, first - begin,
                 last - first);
    }
  }
  return marks;
}

// What ranges of the one kind have in common with ranges of the other.
FootprintConflict common_to(std::span<const MovedRange> earlier, bool first_writes,
                            std::span<const MovedRange> later, bool then_writes) {
  FootprintConflict common;
  for (const MovedRange& a : earlier) {
    if (a.is_write != first_writes) continue;
    for (const MovedRange& b : later) {
      const uint64_t first = std::max(a.begin, b.begin);
      const uint64_t last = std::min(a.end(), b.end());
      if (b.is_write != then_writes || first >= last) continue;
      common.address = common.bytes == 0 ? first : std::min(common.address, first);
      common.bytes += last - first;
    }
  }
  return common;
}

Place place_of(const emu::WatchPoint& at, const emu::MemoryAccess& access) {
  Finding finding = finding_at(Kind{}, at, access.mask);
  set_access(finding, *emu::WholeAccess(access));
  return finding.place;
}

}  // namespace

void PageMarks::mark(PageUse use, uint16_t by, uint64_t begin, uint64_t size_bytes) {
  const auto of = static_cast<size_t>(use);
  for (const uint64_t end = begin + size_bytes; begin < end;) {
    const uint64_t line = begin / kLineBytes;
    const uint64_t first = begin % kLineBytes;
    const uint64_t count = std::min(kLineBytes - first, end - begin);
    const uint64_t bits = (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
    const uint64_t old = used[of][line].load(std::memory_order_relaxed);
    if ((bits & ~old) != 0) {
      site[of][line].store(by, std::memory_order_relaxed);
      // All of a line, whatever others add to it meanwhile.
      if (bits == ~uint64_t{0}) used[of][line].store(bits, std::memory_order_relaxed);
      else used[of][line].fetch_or(bits, std::memory_order_relaxed);
    }
    begin += count;
  }
}

FootprintPages::FootprintPages() : state_(std::make_unique<State>()) {}
FootprintPages::~FootprintPages() = default;
FootprintPages::FootprintPages(FootprintPages&&) noexcept = default;
FootprintPages& FootprintPages::operator=(FootprintPages&&) noexcept = default;

PageMarks* FootprintPages::find(uint64_t number) const {
  // Pairs with the store in page(): a page that is seen is complete.
  PageMarks* page = state_->buckets[bucket_of(number)].load(std::memory_order_acquire);
  while (page != nullptr && page->number != number) page = page->next;
  return page;
}

PageMarks* FootprintPages::page(uint64_t number) {
  if (PageMarks* const page = find(number)) return page;
  const std::lock_guard lock(state_->mutex);
  if (PageMarks* const page = find(number)) return page;
  std::unique_ptr<PageMarks> page(new (std::nothrow) PageMarks);
  if (page == nullptr) return nullptr;
  std::atomic<PageMarks*>& bucket = state_->buckets[bucket_of(number)];
  page->number = number;
  page->next = bucket.load(std::memory_order_relaxed);
  bucket.store(page.get(), std::memory_order_release);
  state_->pages.push_back(std::move(page));
  return state_->pages.back().get();
}

const Place& FootprintMarks::site_at(uint64_t address, PageUse use) const {
  const PageMarks& page = *pages.find(address / PageMarks::kBytes);
  const uint64_t line = address % PageMarks::kBytes / PageMarks::kLineBytes;
  return sites[page.site[static_cast<size_t>(use)][line].load(std::memory_order_relaxed)];
}

std::optional<FootprintConflict> find_conflict(const FootprintMarks& earlier,
                                               const FootprintMarks& later) {
  std::optional<FootprintConflict> found;
  size_t found_rule = std::size(kRules);
  for (const std::unique_ptr<PageMarks>& page : later.pages.all()) {
    const PageMarks* const other = earlier.pages.find(page->number);
    if (other == nullptr) continue;
    if (may_tell(*page, *other) || may_tell(*other, *page)) return {};
    for (size_t i = 0; i < std::size(kRules) && i <= found_rule; ++i) {
      uint64_t first = PageMarks::kBytes;
      uint64_t bytes = 0;
      for (size_t line = 0; line < PageMarks::kLines; ++line) {
        const uint64_t common =
            other->line(kRules[i].uses.first, line) & page->line(kRules[i].uses.second, line);
        if (common == 0) continue;
        if (bytes == 0)
          first = line * PageMarks::kLineBytes + static_cast<uint64_t>(std::countr_zero(common));
        bytes += static_cast<uint64_t>(std::popcount(common));
      }
      if (bytes == 0) continue;
      const uint64_t address = page->number * PageMarks::kBytes + first;
      if (i < found_rule)
        found = {kRules[i].kind, address, 0, kRules[i].uses.first, kRules[i].uses.second};
      found_rule = i;
      found->address = std::min(found->address, address);
      found->bytes += bytes;
      break;
    }
  }
  return found;
}

void add_range(std::vector<MovedRange>& ranges, const MovedRange& more) {
  const auto goes_on = [&](const MovedRange& one) {
    return one.is_write == more.is_write && one.end() == more.begin;
  };
  // One read and one or two writes of each packet, in turn.
  const auto back = ranges.rbegin() + std::min<ptrdiff_t>(std::ssize(ranges), 3);
  const auto last = std::find_if(ranges.rbegin(), back, goes_on);
  if (last != back) last->size_bytes += more.size_bytes;
  else ranges.push_back(more);
}

std::optional<FootprintConflict> find_conflict(const FootprintMarks& earlier,
                                               std::span<const MovedRange> later) {
  return find_conflict(earlier, marks_of(later, earlier.pages));
}

std::optional<FootprintConflict> find_conflict(std::span<const MovedRange> earlier,
                                               const FootprintMarks& later) {
  return find_conflict(marks_of(earlier, later.pages), later);
}

std::optional<FootprintConflict> find_conflict(std::span<const MovedRange> earlier,
                                               std::span<const MovedRange> later) {
  for (const Rule& rule : kRules) {
    const auto is_plain = [](PageUse use) {
      return use == PageUse::kRead || use == PageUse::kWritten;
    };
    if (!is_plain(rule.uses.first) || !is_plain(rule.uses.second)) continue;
    FootprintConflict found = common_to(earlier, rule.uses.first == PageUse::kWritten, later,
                                        rule.uses.second == PageUse::kWritten);
    if (found.bytes == 0) continue;
    found.kind = rule.kind;
    found.earlier = rule.uses.first;
    found.later = rule.uses.second;
    return found;
  }
  return {};
}

// What a workgroup used last.
struct Footprint::Group {
  struct Site {
    GpuAddr pc;
    emu::Access access{};
    uint16_t number = 0;
  };
  static constexpr size_t kCached = 16;
  // A scalar load, which the waves of all workgroups do alike: arguments.
  struct Marked {
    GpuAddr pc;
    uint64_t begin = 0;
  };

  uint64_t dispatch = 0;
  std::vector<Site> sites;
  PageMarks* pages[kCached] = {};
  Marked marked[kCached];
  Marked& marked_at(GpuAddr pc) { return marked[pc.value / 4 % kCached]; }
};

Footprint::Footprint() = default;
Footprint::~Footprint() = default;

emu::Wants Footprint::wants(const isa::Program& program, int32_t index) noexcept {
  switch (program.insts()[index].family) {
    case isa::Family::kSmem: return {.accessing = true, .screens = true, .rows_suffice = true};
    case isa::Family::kFlat:
    case isa::Family::kMubuf:
    case isa::Family::kImage: return {.accessing = true, .rows_suffice = true};
    default: return {};
  }
}

uint16_t Footprint::site_of(Group& group, const emu::WatchPoint& at,
                            const emu::MemoryAccess& access) {
  const auto is_it = [&](const auto& one) {
    return one.pc == at.pc && one.access == access.access;
  };
  const auto known = std::find_if(group.sites.begin(), group.sites.end(), is_it);
  if (known != group.sites.end()) return known->number;
  const std::lock_guard lock(mutex_);
  std::vector<Place>& all = all_.sites;
  const auto place = std::find_if(all.begin(), all.end(), is_it);
  auto number = static_cast<uint16_t>(std::distance(all.begin(), place));
  if (place == all.end()) {
    if (all.size() < kMostSites) all.push_back(place_of(at, access));
    number = static_cast<uint16_t>(all.size() - 1);
  }
  group.sites.push_back({at.pc, access.access, number});
  return number;
}

void Footprint::mark(Group& group, PageUse use, uint16_t site, uint64_t begin,
                     uint64_t size_bytes) {
  while (size_bytes > 0) {
    const uint64_t number = begin / PageMarks::kBytes;
    const uint64_t offset = begin % PageMarks::kBytes;
    const uint64_t count = std::min(size_bytes, PageMarks::kBytes - offset);
    PageMarks*& cached = group.pages[number % Group::kCached];
    if (cached == nullptr || cached->number != number) cached = all_.pages.page(number);
    if (cached != nullptr) cached->mark(use, site, offset, count);
    begin += count;
    size_bytes -= count;
  }
}

Footprint::Group& Footprint::group_of(const emu::WatchPoint& at) {
  if (at.state == nullptr) {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) idle_.push_back(std::make_unique<Group>());
    std::unique_ptr<Group> taken = std::move(idle_.back());
    idle_.pop_back();
    if (taken->dispatch != dispatch_) *taken = {};
    taken->dispatch = dispatch_;
    at.state = taken.release();
  }
  return *static_cast<Group*>(at.state);
}

// Marks are only ever added.
bool Footprint::screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept {
  if (span == nullptr) return true;
  const Group::Marked& marked = group_of(at).marked_at(at.pc);
  return !(marked.pc == at.pc) || marked.begin != span->begin;
}

void Footprint::accessing(const emu::WatchPoint& at,
                          std::span<const emu::MemoryAccess> accesses) noexcept {
  for (const emu::MemoryAccess& access : accesses) {
    if (access.space != emu::Space::kGlobal || access.mask == 0) continue;
    Group& group = group_of(at);
    if (access.is_scalar && access.access == emu::Access::kLoad && accesses.size() == 1)
      group.marked_at(at.pc) = {at.pc, access.address[0]};
    const PageUse use = use_of(at.inst, access);
    const uint16_t site = site_of(group, at, access);
    if (access.is_whole()) {
      const bool is_one = access.relation == emu::Relation::kSame;
      mark(group, use, site, access.address[0], is_one ? access.size_bytes : access.bytes());
      continue;
    }
    if (access.relation != emu::Relation::kNone) {
      const bool is_one = access.relation == emu::Relation::kSame;
      const uint64_t each = uint64_t{access.size_bytes} * (is_one ? 1 : emu::kGroupLanes);
      for (int i = 0, count = access.groups(); i < count; ++i)
        mark(group, use, site, access.address[i * emu::kGroupLanes], each);
      continue;
    }
    emu::for_each_lane(access.mask, [&](int lane) {
      mark(group, use, site, access.address[lane], access.size_bytes);
    });
  }
}

void Footprint::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  std::unique_ptr<Group> mine(static_cast<Group*>(state));
  state = nullptr;
  if (mine == nullptr) return;
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(mine));
}

FootprintMarks Footprint::take() {
  const std::lock_guard lock(mutex_);
  ++dispatch_;
  return std::exchange(all_, {});
}

}  // namespace wavetap::sanitize
