// The handler `heatmap`: which pages of which buffer were touched, how often, and when.
//
// Time within a dispatch is the order of its workgroups, cut into equal parts: the same in every run,
// which the clock of a virtual GPU is not. Pages are of 4 KiB, or of as much more as it takes for a
// buffer to have no more than kMostPages.
#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "probe/handlers/builtin.h"
#include "probe/handlers/handler_base.h"

namespace wavetap::probe {
namespace {

constexpr uint32_t kPageShift = 12;
constexpr uint64_t kMostPages = 256;
constexpr uint64_t kTimeParts = 32;

struct Touches {
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t atomics = 0;

  void add(const Touches& other) {
    loads += other.loads, stores += other.stores, atomics += other.atomics;
  }
  uint64_t sum() const { return loads + stores + atomics; }
};

// Lanes' accesses by page and time.
class PageTable {
 public:
  PageTable() : slots_(256) {}

  Touches& at(uint64_t page, uint32_t part) {
    const uint64_t key = (page << 8 | part) + 1;  // 0: free
    if (key == last_key_) return *last_;
    if (used_ * 2 >= slots_.size()) grow();
    Slot& slot = find(slots_, key);
    if (slot.key == 0) slot.key = key, ++used_;
    last_key_ = key;
    last_ = &slot.touches;
    return *last_;
  }
  template <class F>
  void for_each(F&& f) const {
    for (const Slot& slot : slots_)
      if (slot.key != 0)
        f((slot.key - 1) >> 8, static_cast<uint32_t>((slot.key - 1) & 0xff), slot.touches);
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Touches touches;
  };
  static Slot& find(std::vector<Slot>& slots, uint64_t key) {
    size_t at = (key * 0x9e3779b97f4a7c15) >> 32;
    while (slots[at & (slots.size() - 1)].key != 0 && slots[at & (slots.size() - 1)].key != key)
      ++at;
    return slots[at & (slots.size() - 1)];
  }
  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& slot : slots_)
      if (slot.key != 0) find(larger, slot.key) = slot;
    slots_ = std::move(larger);
    last_key_ = 0;
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
  uint64_t last_key_ = 0;
  Touches* last_ = nullptr;
};

struct HeatmapDispatch {
  explicit HeatmapDispatch(const wavetap_dispatch& described)
      : groups_per_part((std::max<uint64_t>(described.workgroup_count, 1) + kTimeParts - 1) /
                        kTimeParts) {}
  uint64_t groups_per_part;
  PageTable pages;

  void add(struct HeatmapStrand& strand);
  void report(JsonText& json, const wavetap_dispatch& described, const wavetap_host& host);
};

struct HeatmapStrand {
  explicit HeatmapStrand(const HeatmapDispatch& of) : groups_per_part(of.groups_per_part) {}

  void memory(const wavetap_memory& event) {
    if (event.space != WAVETAP_GLOBAL) return;
    const auto part = static_cast<uint32_t>(event.at.wave->workgroup_number / groups_per_part);
    uint64_t Touches::*field = event.access == WAVETAP_LOAD    ? &Touches::loads
                               : event.access == WAVETAP_STORE ? &Touches::stores
                                                               : &Touches::atomics;
    for (uint64_t rest = event.lanes; rest != 0; rest &= rest - 1)
      ++(pages.at(event.address[std::countr_zero(rest)] >> kPageShift, part).*field);
  }

  uint64_t groups_per_part;
  PageTable pages;
};

void HeatmapDispatch::add(HeatmapStrand& strand) {
  strand.pages.for_each([&](uint64_t page, uint32_t part, const Touches& touches) {
    pages.at(page, part).add(touches);
  });
}

// A buffer, or the pages around an address that is in none.
struct Buffer {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  std::string kind;
  uint32_t shift = kPageShift;
  std::map<std::pair<uint64_t, uint32_t>, Touches> cells;  // by page from its begin, and time
};

void HeatmapDispatch::report(JsonText& json, const wavetap_dispatch& described,
                             const wavetap_host& host) {
  std::map<uint64_t, Buffer> buffers;  // by address
  pages.for_each([&](uint64_t page, uint32_t part, const Touches& touches) {
    const uint64_t address = page << kPageShift;
    auto next = buffers.upper_bound(address);
    Buffer* buffer = next == buffers.begin() ? nullptr : &std::prev(next)->second;
    if (buffer == nullptr || address - buffer->address >= buffer->size_bytes) {
      wavetap_buffer found{};
      found.size = sizeof found;
      Buffer made;
      if (host.buffer(host.context, &described, address, &found) != 0) {
        made.address = found.address & ~((uint64_t{1} << kPageShift) - 1);
        made.size_bytes = found.address + found.size_bytes - made.address;
        made.kind = found.kind;
      } else {
        made.address = address;
        made.size_bytes = uint64_t{1} << kPageShift;
        made.kind = "unknown";
      }
      while (made.size_bytes >> made.shift >= kMostPages) ++made.shift;
      buffer = &buffers.insert_or_assign(made.address, std::move(made)).first->second;
    }
    buffer->cells[{(address - buffer->address) >> buffer->shift, part}].add(touches);
  });
  json.begin_object().key("time_parts");
  json.number((described.workgroup_count + groups_per_part - 1) / groups_per_part);
  json.key("workgroups_per_part").number(groups_per_part).key("buffers").begin_array();
  for (const auto& [address, buffer] : buffers) {
    json.begin_object().key("address").hex(address);
    json.key("size_bytes").number(buffer.size_bytes).key("kind").text(buffer.kind);
    json.key("page_bytes").number(uint64_t{1} << buffer.shift);
    json.key("columns").begin_array();
    for (const char* name : {"page", "time", "loads", "stores", "atomics"}) json.text(name);
    json.end_array().key("rows").begin_array();
    for (const auto& [cell, touches] : buffer.cells) {
      json.begin_array().number(cell.first).number(cell.second);
      json.number(touches.loads).number(touches.stores).number(touches.atomics).end_array();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

}  // namespace

const wavetap_handler* open_heatmap(const wavetap_host* host, const char*) {
  return HandlerOf<HeatmapDispatch, HeatmapStrand>::open(host, "heatmap", WAVETAP_MEMORY);
}

}  // namespace wavetap::probe
