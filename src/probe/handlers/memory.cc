// The handler `memory`: how well the lanes of each memory instruction work together.
//
// For global memory: the cache lines that one execution touches, and the fewest that could hold the
// bytes it touches. The difference is waste, of two kinds: the bytes lie together but begin in the
// middle of a line (misaligned), or they lie apart (strided, scattered). Lanes that touch the same
// bytes cost nothing, so a broadcast is as good as it gets.
//
// For LDS: cycles needed, and those that bank conflicts add; an example of lanes that meet.
//
// Reuse: when a line is touched again by the same workgroup, how many touches of lines lie between.
// That is an upper bound of the reuse distance (distinct lines between). The last touch of a line is
// kept in a table of fixed size, so a line pushed out of it counts as new.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "probe/handlers/builtin.h"
#include "probe/handlers/by_site.h"
#include "probe/handlers/handler_base.h"

namespace wavetap::probe {
namespace {

constexpr size_t kStrides = 4;
constexpr size_t kReuseBuckets = 20;
constexpr size_t kReuseSlots = 4096;

// What tells the rows of a site apart: space, access, flags and size of an element.
struct Kind {
  uint64_t all = 0;

  Kind() = default;
  explicit Kind(const wavetap_memory& event)
      : all(event.space | uint64_t{event.access} << 8 | uint64_t{event.flags} << 16 |
            uint64_t{event.element_bytes} << 32) {}
  uint32_t space() const { return all & 0xff; }
  uint32_t access() const { return all >> 8 & 0xff; }
  uint32_t flags() const { return all >> 16 & 0xff; }
  uint64_t element_bytes() const { return all >> 32; }
  bool operator==(const Kind&) const = default;
};

struct Stride {
  int64_t bytes = 0;
  uint64_t count = 0;
};

// One site's accesses of one kind. What an access changes lies together.
struct alignas(64) Row {
  Kind kind;
  uint64_t count = 0;         // accesses by a wave
  uint64_t lanes = 0;         // summed
  uint64_t address_bits = 0;  // the lowest bit set is that of all addresses or'ed: the alignment
  uint64_t irregular = 0;     // executions without one stride
  uint64_t lds_cycles = 0;
  uint64_t lds_ideal = 0;
  uint32_t ways = 0;
  uint32_t bank = 0;

  Stride stride[kStrides];

  uint64_t unique_bytes = 0;
  uint64_t lines = 0;
  uint64_t ideal_lines = 0;
  uint64_t misaligned = 0;  // executions with a line too many, because of where they begin
  uint64_t scattered = 0;   // executions with lines too many otherwise
  uint64_t crossing = 0;    // elements that lie in two lines
  uint64_t first_touches = 0;
  uint64_t one_address = 0;  // executions whose lanes all want the same

  uint64_t reuse[kReuseBuckets] = {};
  uint64_t outside = 0;        // lanes
  uint64_t single = 0;         // executions with one lane: no stride
  uint64_t other_strides = 0;  // executions with a stride that found no place
  uint64_t bank_conflicts = 0;
  uint64_t address_conflicts = 0;
  uint64_t conflicting = 0;  // lanes, in the worst execution
  uint32_t next = 0;         // the site's next row, numbered from 1

  void add_stride(int64_t bytes, uint64_t executions) {
    for (Stride& known : stride) {
      if (known.count != 0 && known.bytes != bytes) continue;
      known.bytes = bytes;
      known.count += executions;
      return;
    }
    other_strides += executions;
  }
  void add(const Row& other);
};

void Row::add(const Row& other) {
  for (uint64_t Row::*field :
       {&Row::count, &Row::lanes, &Row::outside, &Row::unique_bytes, &Row::lines, &Row::ideal_lines,
        &Row::misaligned, &Row::scattered, &Row::crossing, &Row::one_address, &Row::single,
        &Row::irregular, &Row::other_strides, &Row::lds_cycles, &Row::lds_ideal,
        &Row::bank_conflicts, &Row::address_conflicts, &Row::first_touches})
    this->*field += other.*field;
  address_bits |= other.address_bits;
  for (const Stride& theirs : other.stride)
    if (theirs.count != 0) add_stride(theirs.bytes, theirs.count);
  if (other.ways > ways) ways = other.ways, bank = other.bank, conflicting = other.conflicting;
  for (size_t i = 0; i < kReuseBuckets; ++i) reuse[i] += other.reuse[i];
}

// The rows of every site, chained.
class Rows {
 public:
  Row& of(const wavetap_code& code, uint32_t site, Kind kind) {
    const uint32_t first = first_.at(code, site);
    if (first != 0 && rows_[first - 1].kind == kind) return rows_[first - 1];
    return find(code, site, kind);
  }
  template <class F>
  void for_each(F&& f) {
    first_.for_each([&](const wavetap_code& code, uint32_t site, uint32_t number) {
      for (; number != 0; number = rows_[number - 1].next) f(code, site, rows_[number - 1]);
    });
  }

 private:
  Row& find(const wavetap_code& code, uint32_t site, Kind kind) {
    uint32_t* link = &first_.at(code, site);
    while (*link != 0) {
      Row& row = rows_[*link - 1];
      if (row.kind == kind) return row;
      link = &row.next;
    }
    // The vector may move, and the link with it.
    *link = static_cast<uint32_t>(rows_.size() + 1);
    Row& made = rows_.emplace_back();
    made.kind = kind;
    return made;
  }

  BySite<uint32_t> first_;  // 0: none
  std::vector<Row> rows_;
};

// All lanes' addresses or'ed. Of whole waves the loop has a length that the compiler knows.
template <uint64_t kCount>
uint64_t all_bits(const uint64_t* address) {
  uint64_t bits = 0;
  for (uint64_t lane = 0; lane < kCount; ++lane) bits |= address[lane];
  return bits;
}
uint64_t all_bits(const uint64_t* address, uint64_t count) {
  if (count == 32) return all_bits<32>(address);
  if (count == 64) return all_bits<64>(address);
  uint64_t bits = 0;
  for (uint64_t lane = 0; lane < count; ++lane) bits |= address[lane];
  return bits;
}

// Whether all addresses are as far from each other as the first two.
template <uint64_t kCount>
bool has_one_step(const uint64_t* address, uint64_t step) {
  uint64_t differs = 0;
  for (uint64_t lane = 0; lane < kCount; ++lane)
    differs |= address[lane] ^ (address[0] + lane * step);
  return differs == 0;
}
bool has_one_step(const uint64_t* address, uint64_t count, uint64_t step) {
  if (address[count - 1] - address[0] != (count - 1) * step) return false;
  if (count == 32) return has_one_step<32>(address, step);
  if (count == 64) return has_one_step<64>(address, step);
  uint64_t differs = 0;
  for (uint64_t lane = 0; lane < count; ++lane)
    differs |= address[lane] ^ (address[0] + lane * step);
  return differs == 0;
}

struct MemoryDispatch {
  explicit MemoryDispatch(const wavetap_dispatch& described)
      : line_shift(static_cast<uint32_t>(std::countr_zero(std::max(described.line_bytes, 1u)))) {}
  uint32_t line_shift;
  Rows rows;

  void add(struct MemoryStrand& strand);
  void report(JsonText& json, const wavetap_dispatch& described, const wavetap_host&);
};

struct MemoryStrand {
  explicit MemoryStrand(const MemoryDispatch& of) : line_shift(of.line_shift) {}

  void memory(const wavetap_memory& event) {
    Row& row = rows.of(*event.at.code, event.at.site, Kind(event));
    ++row.count;
    row.lanes += static_cast<uint64_t>(std::popcount(event.lanes));
    if (event.outside != 0) row.outside += static_cast<uint64_t>(std::popcount(event.outside));
    if (event.lanes == 0) return;
    int64_t step = 0;
    bool is_row = false;
    if ((event.flags & WAVETAP_SCALAR) == 0) is_row = note_strides(event, row, &step);
    if (event.space == WAVETAP_GLOBAL) {
      if (event.at.wave->workgroup_number != workgroup) {
        workgroup = event.at.wave->workgroup_number;
        ++generation;
      }
      if (!is_row || !note_row_lines(event, step, row)) note_lines(event, row);
    }
    if (event.space == WAVETAP_LDS) note_lds(event.lds, row);
  }

  // Whether the lanes are neighbours from the first one on and have one stride, which goes to *step.
  bool note_strides(const wavetap_memory& event, Row& row, int64_t* step) {
    if ((event.lanes & (event.lanes + 1)) != 0 || event.lanes == 1) {
      note_strides_of_some(event, row);
      return false;
    }
    const auto count = static_cast<uint64_t>(std::popcount(event.lanes));
    const uint64_t each = event.address[1] - event.address[0];
    if (!has_one_step(event.address, count, each)) {
      row.address_bits |= all_bits(event.address, count);
      ++row.irregular;
      return false;
    }
    // The lowest bit of all is in the first, or else in the second.
    row.address_bits |= event.address[0] | event.address[1];
    *step = static_cast<int64_t>(each);
    row.add_stride(*step, 1);
    if (each == 0) ++row.one_address;
    return true;
  }

  void note_strides_of_some(const wavetap_memory& event, Row& row) {
    uint64_t rest = event.lanes & (event.lanes - 1);
    int lane = std::countr_zero(event.lanes);
    row.address_bits |= event.address[lane];
    if (rest == 0) {
      ++row.single;
      return;
    }
    // The step from lane to lane, the same between all that are active.
    const int second = std::countr_zero(rest);
    const auto whole = static_cast<int64_t>(event.address[second] - event.address[lane]);
    const int64_t step = whole / (second - lane);
    bool regular = step * (second - lane) == whole;
    uint64_t bits = 0;
    for (; rest != 0; rest &= rest - 1) {
      const int next = std::countr_zero(rest);
      bits |= event.address[next];
      regular &=
          static_cast<int64_t>(event.address[next] - event.address[lane]) == step * (next - lane);
      lane = next;
    }
    row.address_bits |= bits;
    if (!regular) ++row.irregular;
    else row.add_stride(step, 1);
    if (regular && step == 0) ++row.one_address;
  }

  // Of lanes that follow each other or want the same. False: they do not, or elements may lie in two
  // lines.
  bool note_row_lines(const wavetap_memory& event, int64_t step, Row& row) {
    const uint64_t size = event.element_bytes;
    const uint64_t begin = event.address[0];
    if ((step != 0 && step != static_cast<int64_t>(size)) || !std::has_single_bit(size) ||
        (begin & (size - 1)) != 0 || size > uint64_t{1} << line_shift)
      return false;
    const uint64_t bytes =
        step == 0 ? size : size * static_cast<uint64_t>(std::popcount(event.lanes));
    const uint64_t first = begin >> line_shift;
    const uint64_t last = (begin + bytes - 1) >> line_shift;
    for (uint64_t line = first; line <= last; ++line) touch(line, row);
    const uint64_t ideal = (bytes + (uint64_t{1} << line_shift) - 1) >> line_shift;
    row.unique_bytes += bytes;
    row.lines += last + 1 - first;
    row.ideal_lines += ideal;
    if (last + 1 - first > ideal) ++row.misaligned;
    return true;
  }

  void note_lines(const wavetap_memory& event, Row& row) {
    uint64_t sorted[64];
    size_t count = 0;
    bool in_order = true;
    if ((event.lanes & (event.lanes + 1)) == 0) {
      count = static_cast<size_t>(std::popcount(event.lanes));
      std::copy_n(event.address, count, sorted);
      for (size_t i = 1; i < count; ++i) in_order &= sorted[i] >= sorted[i - 1];
    } else {
      for (uint64_t rest = event.lanes; rest != 0; rest &= rest - 1) {
        sorted[count] = event.address[std::countr_zero(rest)];
        in_order &= count == 0 || sorted[count] >= sorted[count - 1];
        ++count;
      }
    }
    if (!in_order) std::sort(sorted, sorted + count);
    uint64_t lines = 0, bytes = 0, crossing = 0;
    uint64_t next_line = 0;  // beyond those that were counted
    uint64_t covered = 0;    // likewise, in bytes
    const uint64_t size = event.element_bytes;
    const bool is_even = std::has_single_bit(size) && size <= uint64_t{1} << line_shift;
    const uint64_t within = size - 1;  // bits of an address in an element, where sizes are even
    for (size_t i = 0; i < count;) {
      const uint64_t begin = sorted[i++];
      uint64_t end = begin + size;
      const bool fits = is_even && (begin & within) == 0;  // in one line, and neighbours do as well
      while (fits && i < count && sorted[i] <= end && (sorted[i] & within) == 0)
        end = sorted[i++] + size;
      bytes += end - std::clamp(covered, begin, end);
      covered = std::max(covered, end);
      uint64_t line = begin >> line_shift;
      const uint64_t last = (end - 1) >> line_shift;
      crossing += !fits && line != last;
      for (line = std::max(line, next_line); line <= last; ++line) {
        ++lines;
        touch(line, row);
      }
      next_line = std::max(next_line, last + 1);
    }
    const uint64_t ideal = (bytes + (uint64_t{1} << line_shift) - 1) >> line_shift;
    row.unique_bytes += bytes;
    row.lines += lines;
    row.ideal_lines += ideal;
    row.crossing += crossing;
    if (lines > ideal) ++(covered - sorted[0] == bytes ? row.misaligned : row.scattered);
  }

  void touch(uint64_t line, Row& row) {
    ++clock;
    Touch& last = table[(line ^ line >> 12) % kReuseSlots];
    if (last.generation == generation && last.line == line) {
      const auto bucket = static_cast<size_t>(std::bit_width(clock - last.time)) - 1;
      ++row.reuse[std::min(bucket, kReuseBuckets - 1)];
    } else {
      ++row.first_touches;
    }
    last = {line, clock, generation};
  }

  void note_lds(const wavetap_lds_cost& cost, Row& row) {
    row.lds_cycles += cost.cycles;
    row.lds_ideal += cost.ideal_cycles;
    if (cost.cycles != cost.ideal_cycles) {
      row.bank_conflicts += cost.bank_conflicts;
      row.address_conflicts += cost.address_conflicts;
    }
    if (cost.ways > row.ways)
      row.ways = cost.ways, row.bank = cost.bank, row.conflicting = cost.lanes;
  }

  struct Touch {
    uint64_t line;
    uint64_t time;
    uint64_t generation;
  };
  uint32_t line_shift;
  Rows rows;
  uint64_t workgroup = UINT64_MAX;
  uint64_t generation = 0;
  uint64_t clock = 0;
  std::vector<Touch> table = std::vector<Touch>(kReuseSlots);
};

void MemoryDispatch::add(MemoryStrand& strand) {
  strand.rows.for_each([&](const wavetap_code& code, uint32_t site, Row& row) {
    rows.of(code, site, row.kind).add(row);
  });
}

// The columns, once: names in the report and where the figures are.
struct Column {
  const char* name;
  uint64_t Row::*field;
};
constexpr Column kColumns[] = {
    {"count", &Row::count},
    {"lanes", &Row::lanes},
    {"outside", &Row::outside},
    {"unique_bytes", &Row::unique_bytes},
    {"lines", &Row::lines},
    {"ideal_lines", &Row::ideal_lines},
    {"misaligned", &Row::misaligned},
    {"scattered", &Row::scattered},
    {"crossing", &Row::crossing},
    {"one_address", &Row::one_address},
    {"single", &Row::single},
    {"irregular", &Row::irregular},
    {"other_strides", &Row::other_strides},
    {"lds_cycles", &Row::lds_cycles},
    {"lds_ideal", &Row::lds_ideal},
    {"bank_conflicts", &Row::bank_conflicts},
    {"address_conflicts", &Row::address_conflicts},
    {"first_touches", &Row::first_touches},
};

void MemoryDispatch::report(JsonText& json, const wavetap_dispatch& described,
                            const wavetap_host&) {
  json.begin_object().key("line_bytes").number(described.line_bytes);
  json.key("lds_banks").number(described.lds_banks);
  json.key("columns").begin_array();
  for (const char* name : {"code", "site", "space", "access", "flags", "element_bytes", "alignment",
                           "ways", "bank", "conflicting", "strides", "reuse"})
    json.text(name);
  for (const Column& column : kColumns) json.text(column.name);
  json.end_array().key("rows").begin_array();
  rows.for_each([&](const wavetap_code& code, uint32_t site, const Row& row) {
    json.begin_array().number(code.id).number(site).number(row.kind.space());
    json.number(row.kind.access()).number(row.kind.flags()).number(row.kind.element_bytes());
    json.number(row.address_bits == 0 ? 0 : row.address_bits & (~row.address_bits + 1));
    json.number(row.ways).number(row.bank).hex(row.conflicting).begin_array();
    for (const Stride& stride : row.stride)
      if (stride.count != 0)
        json.begin_array().signed_number(stride.bytes).number(stride.count).end_array();
    json.end_array().begin_array();
    size_t buckets = kReuseBuckets;
    while (buckets > 0 && row.reuse[buckets - 1] == 0) --buckets;
    for (size_t i = 0; i < buckets; ++i) json.number(row.reuse[i]);
    json.end_array();
    for (const Column& column : kColumns) json.number(row.*column.field);
    json.end_array();
  });
  json.end_array().end_object();
}

}  // namespace

const wavetap_handler* open_memory(const wavetap_host* host, const char*) {
  return HandlerOf<MemoryDispatch, MemoryStrand>::open(host, "memory",
                                                       WAVETAP_MEMORY | WAVETAP_LDS_COST);
}

}  // namespace wavetap::probe
