#include "sanitize/footprint.h"

#include <algorithm>
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

// The number of the place's instruction among `sites`, where it is now at the latest.
uint16_t site_number(std::vector<Place>& sites, const Place& place) {
  const auto known = std::find_if(sites.rbegin(), sites.rend(), [&](const Place& one) {
    return one.pc == place.pc && one.access == place.access;
  });
  if (known != sites.rend()) return static_cast<uint16_t>(std::distance(known, sites.rend()) - 1);
  if (sites.size() < kMostSites) sites.push_back(place);
  return static_cast<uint16_t>(sites.size() - 1);
}

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
  const auto told = from.of(PageUse::kWritten) | from.of(PageUse::kAtomic);
  return (told & to.of(PageUse::kPastCache)).any() ||
         (from.of(PageUse::kAtomic) & to.of(PageUse::kAtomic)).any();
}

void mark(FootprintMarks& marks, PageUse use, uint16_t site, uint64_t begin, uint64_t size) {
  while (size > 0) {
    const uint64_t offset = begin % PageMarks::kBytes;
    const uint64_t count = std::min(size, PageMarks::kBytes - offset);
    PageMarks& page = marks.pages[begin / PageMarks::kBytes];
    std::bitset<PageMarks::kBytes>& bits = page.of(use);
    for (uint64_t i = offset; i < offset + count; ++i) bits.set(i);
    for (uint64_t line = offset / PageMarks::kLineBytes;
         line <= (offset + count - 1) / PageMarks::kLineBytes; ++line)
      page.site[static_cast<size_t>(use)][line] = site;
    begin += count;
    size -= count;
  }
}

Place place_of(const emu::WatchPoint& at, const emu::MemoryAccess& access) {
  Finding finding = finding_at(Kind{}, at, access.mask);
  set_access(finding, access);
  return finding.place;
}

}  // namespace

const Place& FootprintMarks::site_at(uint64_t address, PageUse use) const {
  const PageMarks& page = pages.at(address / PageMarks::kBytes);
  const uint64_t line = address % PageMarks::kBytes / PageMarks::kLineBytes;
  return sites[page.site[static_cast<size_t>(use)][line]];
}

std::optional<FootprintConflict> find_conflict(const FootprintMarks& earlier,
                                               const FootprintMarks& later) {
  using Pair = std::pair<PageUse, PageUse>;
  struct Rule {
    Kind kind;
    Pair uses;
  };
  static constexpr Rule kRules[] = {
      {Kind::kWriteAfterWrite, {PageUse::kWritten, PageUse::kWritten}},
      {Kind::kReadAfterWrite, {PageUse::kWritten, PageUse::kRead}},
      {Kind::kWriteAfterRead, {PageUse::kRead, PageUse::kWritten}},
      {Kind::kAtomicAndPlain, {PageUse::kWritten, PageUse::kAtomic}},
      {Kind::kAtomicAndPlain, {PageUse::kAtomic, PageUse::kWritten}},
      {Kind::kAtomicAndPlain, {PageUse::kAtomic, PageUse::kRead}},
      {Kind::kAtomicAndPlain, {PageUse::kRead, PageUse::kAtomic}},
  };
  std::optional<FootprintConflict> found;
  size_t found_rule = std::size(kRules);
  for (const auto& [number, page] : later.pages) {
    const auto other = earlier.pages.find(number);
    if (other == earlier.pages.end()) continue;
    if (may_tell(page, other->second) || may_tell(other->second, page)) return {};
    for (size_t i = 0; i < std::size(kRules) && i <= found_rule; ++i) {
      const std::bitset<PageMarks::kBytes> common =
          other->second.of(kRules[i].uses.first) & page.of(kRules[i].uses.second);
      if (common.none()) continue;
      const uint64_t address = number * PageMarks::kBytes + common._Find_first();
      if (i < found_rule)
        found = {kRules[i].kind, address, 0, kRules[i].uses.first, kRules[i].uses.second};
      found_rule = i;
      found->address = std::min(found->address, address);
      found->bytes += common.count();
      break;
    }
  }
  return found;
}

emu::Wants Footprint::wants(const isa::Program& program, int32_t index) noexcept {
  switch (program.insts()[index].family) {
    case isa::Family::kSmem:
    case isa::Family::kFlat:
    case isa::Family::kMubuf:
    case isa::Family::kImage: return {.accessing = true};
    default: return {};
  }
}

void Footprint::accessing(const emu::WatchPoint& at,
                          std::span<const emu::MemoryAccess> accesses) noexcept {
  for (const emu::MemoryAccess& access : accesses) {
    if (access.space != emu::Space::kGlobal || access.mask == 0) continue;
    if (at.state == nullptr) at.state = new (std::nothrow) FootprintMarks;
    if (at.state == nullptr) return;
    auto& marks = *static_cast<FootprintMarks*>(at.state);
    const PageUse use = use_of(at.inst, access);
    const uint16_t site = site_number(marks.sites, place_of(at, access));
    if (access.is_whole()) {
      const bool is_one = access.relation == emu::Relation::kSame;
      mark(marks, use, site, access.address[0], is_one ? access.size_bytes : access.bytes());
      continue;
    }
    emu::for_each_lane(access.mask, [&](int lane) {
      mark(marks, use, site, access.address[lane], access.size_bytes);
    });
  }
}

void Footprint::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  const std::unique_ptr<FootprintMarks> mine(static_cast<FootprintMarks*>(state));
  state = nullptr;
  if (mine == nullptr) return;
  const std::lock_guard lock(mutex_);
  std::vector<uint16_t> numbers;
  for (const Place& place : mine->sites) numbers.push_back(site_number(all_.sites, place));
  for (const auto& [number, page] : mine->pages) {
    PageMarks& sum = all_.pages[number];
    for (size_t use = 0; use < PageMarks::kUses; ++use) {
      if (page.used[use].none()) continue;
      sum.used[use] |= page.used[use];
      const std::bitset<PageMarks::kBytes>& bits = page.used[use];
      for (size_t at = bits._Find_first(); at < PageMarks::kBytes;) {
        const size_t line = at / PageMarks::kLineBytes;
        sum.site[use][line] = numbers[page.site[use][line]];
        at = bits._Find_next((line + 1) * PageMarks::kLineBytes - 1);
      }
    }
  }
}

FootprintMarks Footprint::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(all_, {});
}

}  // namespace wavetap::sanitize
