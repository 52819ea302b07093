// The code that entries of .debug_info cover: DWARF 5 section 7.25, DWARF 4 section 7.23.

#include "base/byte_cursor.h"
#include "codeobj/debug_info.h"
#include "codeobj/dwarf_cursor.h"
#include "codeobj/dwarf_forms.h"

namespace wavetap::codeobj {

using namespace dwarf;

std::vector<AddressRange> DebugInfo::ranges_of(const DebugUnit& unit, const DebugEntry& entry) {
  if (const std::optional<uint64_t> low = address(unit, entry.low_pc)) {
    if (entry.high_pc.form == 0) return {};
    const std::optional<uint64_t> high = address(unit, entry.high_pc);
    return {{*low, high ? *high : *low + entry.high_pc.number}};
  }
  if (entry.ranges.form == 0) return {};
  if (unit.version < 5) return old_ranges(unit, entry.ranges.number);
  if (entry.ranges.form != kRnglistx) return new_ranges(unit, entry.ranges.number);
  if (entry.ranges.number > ranges_.size() || unit.range_base > ranges_.size()) return {};
  const uint64_t at = unit.range_base + entry.ranges.number * (unit.is_64 ? 8 : 4);
  const std::optional<uint64_t> relative =
      unit.is_64 ? read_at<uint64_t>(ranges_, at)
                 : std::optional<uint64_t>(read_at<uint32_t>(ranges_, at));
  if (!relative || *relative > ranges_.size()) return {};
  return new_ranges(unit, unit.range_base + *relative);
}

// .debug_ranges: pairs of offsets from a base, which a pair with all ones moves.
std::vector<AddressRange> DebugInfo::old_ranges(const DebugUnit& unit, uint64_t offset) {
  std::vector<AddressRange> ranges;
  if (offset >= old_ranges_.size()) return ranges;
  ByteCursor cursor(old_ranges_.subspan(offset));
  const auto take = [&]() -> std::optional<uint64_t> {
    if (unit.address_bytes == 8) return cursor.take<uint64_t>();
    return cursor.take<uint32_t>();
  };
  const uint64_t all_ones = unit.address_bytes == 8 ? UINT64_MAX : UINT32_MAX;
  uint64_t base = unit.low_pc;
  while (spend()) {
    const std::optional<uint64_t> begin = take();
    const std::optional<uint64_t> end = take();
    if (!begin || !end || (*begin == 0 && *end == 0)) break;
    if (*begin == all_ones) base = *end;
    else ranges.push_back({base + *begin, base + *end});
  }
  return ranges;
}

// .debug_rnglists: entries that begin with what they are.
std::vector<AddressRange> DebugInfo::new_ranges(const DebugUnit& unit, uint64_t offset) {
  std::vector<AddressRange> ranges;
  if (offset >= ranges_.size()) return ranges;
  ByteCursor cursor(ranges_.subspan(offset));
  uint64_t base = unit.low_pc;
  const auto by_number = [&] {
    const std::optional<uint64_t> number = take_uleb(cursor);
    return number ? address(unit, {kAddrx, *number}) : std::nullopt;
  };
  const auto direct = [&]() -> std::optional<uint64_t> {
    if (unit.address_bytes == 8) return cursor.take<uint64_t>();
    return cursor.take<uint32_t>();
  };
  while (spend()) {
    const std::optional<uint8_t> kind = cursor.take<uint8_t>();
    std::optional<uint64_t> begin, end;
    switch (kind.value_or(0)) {
      case 1:  // base_addressx
        if (!(begin = by_number())) return ranges;
        base = *begin;
        continue;
      case 2:  // startx_endx
        begin = by_number(), end = by_number();
        break;
      case 3:  // startx_length
        begin = by_number(), end = take_uleb(cursor);
        if (begin && end) *end += *begin;
        break;
      case 4:  // offset_pair
        begin = take_uleb(cursor), end = take_uleb(cursor);
        if (begin && end) *begin += base, *end += base;
        break;
      case 5:  // base_address
        if (!(begin = direct())) return ranges;
        base = *begin;
        continue;
      case 6:  // start_end
        begin = direct(), end = direct();
        break;
      case 7:  // start_length
        begin = direct(), end = take_uleb(cursor);
        if (begin && end) *end += *begin;
        break;
      default: return ranges;  // the end of the list, or nothing that is known
    }
    if (!begin || !end) return ranges;
    ranges.push_back({*begin, *end});
  }
  return ranges;
}

}  // namespace wavetap::codeobj
