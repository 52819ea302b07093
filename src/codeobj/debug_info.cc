// DWARF 5 sections 7.5 (entries) and 7.26, 7.27 (strings and addresses by number).
// Ours rather than a library's, for the reason line_table.cc gives.

#include "codeobj/debug_info.h"

#include <algorithm>

#include "codeobj/dwarf_cursor.h"
#include "codeobj/dwarf_forms.h"

namespace wavetap::codeobj {

using namespace dwarf;

namespace {

// Attributes.
constexpr uint64_t kName = 0x03;
constexpr uint64_t kStmtList = 0x10;
constexpr uint64_t kLowPc = 0x11;
constexpr uint64_t kHighPc = 0x12;
constexpr uint64_t kAbstractOrigin = 0x31;
constexpr uint64_t kSpecification = 0x47;
constexpr uint64_t kRanges = 0x55;
constexpr uint64_t kCallColumn = 0x57;
constexpr uint64_t kCallFile = 0x58;
constexpr uint64_t kCallLine = 0x59;
constexpr uint64_t kLinkageName = 0x6e;
constexpr uint64_t kStrOffsetsBase = 0x72;
constexpr uint64_t kAddrBase = 0x73;
constexpr uint64_t kRnglistsBase = 0x74;

constexpr uint8_t kCompileUnit = 1;
constexpr uint8_t kPartialUnit = 3;
constexpr int kLongestOriginChain = 8;

}  // namespace

struct DebugAbbreviation {
  struct Attribute {
    uint16_t name = 0;
    uint16_t form = 0;
    int64_t constant = 0;  // of kImplicitConst
  };
  uint64_t code = 0;
  uint16_t tag = 0;
  bool has_children = false;
  std::vector<Attribute> attributes;
};

// Sorted by code.
struct DebugInfo::Abbreviations {
  std::vector<DebugAbbreviation> list;
};

std::span<const std::byte> debug_section(const ElfView& elf, std::string_view name) {
  constexpr uint64_t kCompressed = 0x800;  // SHF_COMPRESSED
  const ElfSection* section = elf.section(name);
  if (section == nullptr || (section->flags & kCompressed) != 0) return {};
  return section->bytes;
}

DebugInfo::DebugInfo(const ElfView& elf)
    : info_(debug_section(elf, ".debug_info")),
      abbrev_(debug_section(elf, ".debug_abbrev")),
      strings_(debug_section(elf, ".debug_str")),
      line_strings_(debug_section(elf, ".debug_line_str")),
      string_offsets_(debug_section(elf, ".debug_str_offsets")),
      addresses_(debug_section(elf, ".debug_addr")),
      old_ranges_(debug_section(elf, ".debug_ranges")),
      ranges_(debug_section(elf, ".debug_rnglists")) {
  // A compiler's entries need far less: two or three of these per byte of .debug_info.
  budget_ = 8 * (uint64_t{info_.size()} + abbrev_.size() + old_ranges_.size() + ranges_.size());
  read_units();
}

DebugInfo::~DebugInfo() = default;

void DebugInfo::read_units() {
  ByteCursor section(info_);
  while (!section.empty()) {
    DebugUnit unit;
    unit.begin = info_.size() - section.size();
    const std::optional<UnitLength> length = take_unit_length(section);
    if (!length) return;
    unit.is_64 = length->is_64;
    const std::optional<Bytes> body = section.take_bytes(length->bytes);
    if (!body) return;
    unit.end = info_.size() - section.size();
    ByteCursor cursor(*body);
    const std::optional<uint16_t> version = cursor.take<uint16_t>();
    if (!version || *version < 2 || *version > 5) continue;
    unit.version = *version;
    uint8_t kind = kCompileUnit;
    std::optional<uint64_t> table;
    std::optional<uint8_t> address_bytes;
    if (unit.version >= 5) {
      kind = cursor.take<uint8_t>().value_or(0);
      address_bytes = cursor.take<uint8_t>();
      table = take_offset(cursor, unit.is_64);
    } else {
      table = take_offset(cursor, unit.is_64);
      address_bytes = cursor.take<uint8_t>();
    }
    if ((kind != kCompileUnit && kind != kPartialUnit) || !table || !address_bytes) continue;
    if (*address_bytes != 4 && *address_bytes != 8) continue;
    unit.address_bytes = *address_bytes;
    unit.abbreviations = *table;
    unit.first_entry = unit.end - cursor.size();
    read_unit_entry(unit);
    units_.push_back(unit);
  }
}

void DebugInfo::read_unit_entry(DebugUnit& unit) {
  uint64_t offset = unit.first_entry;
  DebugEntry entry;
  if (!next(unit, offset, entry)) return;
  unit.string_base = entry.string_base.number;
  unit.address_base = entry.address_base.number;
  unit.range_base = entry.range_base.number;
  if (entry.lines.form != 0) unit.lines = entry.lines.number;
  // By number in .debug_addr, perhaps, whose base is known only now.
  unit.low_pc = address(unit, entry.low_pc).value_or(0);
}

const DebugAbbreviation* DebugInfo::abbreviation(const DebugUnit& unit, uint64_t code) {
  const auto [table, is_new] = tables_.try_emplace(unit.abbreviations);
  std::vector<DebugAbbreviation>& list = table->second.list;
  if (is_new && unit.abbreviations < abbrev_.size()) {
    ByteCursor cursor(abbrev_.subspan(unit.abbreviations));
    while (spend()) {
      DebugAbbreviation made;
      const std::optional<uint64_t> number = take_uleb(cursor);
      if (!number || *number == 0) break;
      const std::optional<uint64_t> tag = take_uleb(cursor);
      const std::optional<uint8_t> has_children = cursor.take<uint8_t>();
      if (!tag || !has_children) break;
      made.code = *number;
      made.tag = static_cast<uint16_t>(std::min<uint64_t>(*tag, UINT16_MAX));
      made.has_children = *has_children != 0;
      bool is_whole = false;
      while (spend()) {
        const std::optional<uint64_t> name = take_uleb(cursor);
        const std::optional<uint64_t> form = take_uleb(cursor);
        if (!name || !form || *form > UINT16_MAX) break;
        if (*name == 0 && *form == 0) {
          is_whole = true;
          break;
        }
        const std::optional<int64_t> constant =
            *form == kImplicitConst ? take_sleb(cursor) : int64_t{0};
        if (!constant) break;
        made.attributes.push_back({static_cast<uint16_t>(std::min<uint64_t>(*name, UINT16_MAX)),
                                   static_cast<uint16_t>(*form), *constant});
      }
      if (!is_whole) break;
      list.push_back(std::move(made));
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.code < b.code; });
  }
  const auto found =
      std::lower_bound(list.begin(), list.end(), code,
                       [](const DebugAbbreviation& a, uint64_t wanted) { return a.code < wanted; });
  return found != list.end() && found->code == code ? &*found : nullptr;
}

bool DebugInfo::take_value(const DebugUnit& unit, ByteCursor& cursor, uint16_t form,
                           DebugValue& out) const {
  out.form = form;
  const auto number = [&](auto taken) {
    if (taken) out.number = static_cast<uint64_t>(*taken);
    return taken.has_value();
  };
  const auto three_bytes = [&] {
    const std::optional<uint16_t> low = cursor.take<uint16_t>();
    const std::optional<uint8_t> high = cursor.take<uint8_t>();
    out.number = low.value_or(0) | uint64_t{high.value_or(0)} << 16;
    return high.has_value();
  };
  const auto block = [&](auto size) { return size && cursor.skip(*size); };
  switch (form) {
    case kAddr:
      return unit.address_bytes == 4 ? number(cursor.take<uint32_t>())
                                     : number(cursor.take<uint64_t>());
    case kData1:
    case kRef1:
    case kFlag:
    case kStrx1:
    case kAddrx1: return number(cursor.take<uint8_t>());
    case kData2:
    case kRef2:
    case kStrx2:
    case kAddrx2: return number(cursor.take<uint16_t>());
    case kStrx3:
    case kAddrx3: return three_bytes();
    case kData4:
    case kRef4:
    case kStrx4:
    case kAddrx4:
    case kRefSup4: return number(cursor.take<uint32_t>());
    case kData8:
    case kRef8:
    case kRefSig8:
    case kRefSup8: return number(cursor.take<uint64_t>());
    case kData16: return cursor.skip(16);
    case kSdata: return number(take_sleb(cursor));
    case kUdata:
    case kRefUdata:
    case kStrx:
    case kAddrx:
    case kLoclistx:
    case kRnglistx: return number(take_uleb(cursor));
    case kRefAddr:  // an address in DWARF 2
      if (unit.version <= 2 && unit.address_bytes == 8) return number(cursor.take<uint64_t>());
      return number(take_offset(cursor, unit.is_64));
    case kStrp:
    case kLineStrp:
    case kStrpSup:
    case kSecOffset: return number(take_offset(cursor, unit.is_64));
    case kString: out.number = unit.end - cursor.size(); return take_string(cursor).has_value();
    case kBlock1: return block(cursor.take<uint8_t>());
    case kBlock2: return block(cursor.take<uint16_t>());
    case kBlock4: return block(cursor.take<uint32_t>());
    case kBlock:
    case kExprloc: return block(take_uleb(cursor));
    case kFlagPresent: return true;
    default: return false;
  }
}

std::string_view DebugInfo::text(const DebugUnit& unit, const DebugValue& value) const {
  switch (value.form) {
    case kString: return string_at(info_, value.number);
    case kStrp: return string_at(strings_, value.number);
    case kLineStrp: return string_at(line_strings_, value.number);
    case kStrx:
    case kStrx1:
    case kStrx2:
    case kStrx3:
    case kStrx4: {
      const uint64_t size = unit.is_64 ? 8 : 4;
      if (value.number > string_offsets_.size() || unit.string_base > string_offsets_.size())
        return {};
      const uint64_t at = unit.string_base + value.number * size;
      const std::optional<uint64_t> offset =
          unit.is_64 ? read_at<uint64_t>(string_offsets_, at)
                     : std::optional<uint64_t>(read_at<uint32_t>(string_offsets_, at));
      return offset ? string_at(strings_, *offset) : std::string_view();
    }
    default: return {};
  }
}

std::optional<uint64_t> DebugInfo::address(const DebugUnit& unit, const DebugValue& value) const {
  switch (value.form) {
    case kAddr: return value.number;
    case kAddrx:
    case kAddrx1:
    case kAddrx2:
    case kAddrx3:
    case kAddrx4: {
      if (value.number > addresses_.size() || unit.address_base > addresses_.size())
        return std::nullopt;
      const uint64_t at = unit.address_base + value.number * unit.address_bytes;
      if (unit.address_bytes == 8) return read_at<uint64_t>(addresses_, at);
      return read_at<uint32_t>(addresses_, at);
    }
    default: return std::nullopt;
  }
}

bool DebugInfo::next(const DebugUnit& unit, uint64_t& offset, DebugEntry& entry) {
  entry = {};
  entry.offset = offset;
  if (offset < unit.first_entry || offset >= unit.end || unit.end > info_.size()) return false;
  ByteCursor cursor(info_.subspan(offset, unit.end - offset));
  const std::optional<uint64_t> code = take_uleb(cursor);
  if (!code || !spend()) return false;
  if (*code != 0) {
    const DebugAbbreviation* shape = abbreviation(unit, *code);
    if (shape == nullptr) return false;
    entry.tag = DebugTag{shape->tag};
    entry.has_children = shape->has_children;
    for (const DebugAbbreviation::Attribute& attribute : shape->attributes) {
      if (!spend()) return false;
      uint16_t form = attribute.form;
      if (form == kIndirect) form = static_cast<uint16_t>(take_uleb(cursor).value_or(0));
      DebugValue found;
      if (form == kImplicitConst) {
        found = {form, static_cast<uint64_t>(attribute.constant)};
      } else if (!take_value(unit, cursor, form, found)) {
        return false;
      }
      switch (attribute.name) {
        case kName: entry.name = text(unit, found); break;
        case kLinkageName: entry.linkage_name = text(unit, found); break;
        case kLowPc: entry.low_pc = found; break;
        case kHighPc: entry.high_pc = found; break;
        case kRanges: entry.ranges = found; break;
        case kCallFile: entry.call_file = found.number; break;
        case kCallLine: entry.call_line = found.number; break;
        case kCallColumn: entry.call_column = found.number; break;
        case kStrOffsetsBase: entry.string_base = found; break;
        case kAddrBase: entry.address_base = found; break;
        case kRnglistsBase: entry.range_base = found; break;
        case kStmtList: entry.lines = found; break;
        case kAbstractOrigin:
        case kSpecification:
          if (form == kRefAddr) entry.origin = found.number;
          else if (form >= kRef1 && form <= kRefUdata) entry.origin = unit.begin + found.number;
          break;
        default: break;
      }
    }
  }
  offset = unit.end - cursor.size();
  return true;
}

std::string_view DebugInfo::name_of(const DebugEntry& entry) {
  DebugEntry looked_at = entry;
  for (int i = 0; i < kLongestOriginChain; ++i) {
    if (!looked_at.linkage_name.empty()) return looked_at.linkage_name;
    // The origin may have the full name.
    const std::string_view plain = looked_at.name;
    if (!looked_at.origin) return plain;
    const auto unit = std::upper_bound(
        units_.begin(), units_.end(), *looked_at.origin,
        [](uint64_t offset, const DebugUnit& candidate) { return offset < candidate.end; });
    uint64_t offset = *looked_at.origin;
    if (unit == units_.end() || !next(*unit, offset, looked_at)) return plain;
  }
  return {};
}

}  // namespace wavetap::codeobj
