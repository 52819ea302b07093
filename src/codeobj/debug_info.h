// DebugInfo: the entries of a code object's .debug_info, DWARF 2 to 5, uncompressed: as much of each
// as is needed to tell which calls were inlined where (codeobj/source_map.h) and what parameters are called.
//
// The bytes are foreign. What is damaged reads as missing, and the work done is bounded by the size
// of the sections, however often they point at each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "codeobj/elf.h"

namespace wavetap::codeobj {

struct DebugAbbreviation;

// An attribute as it is stored; what it means depends on its form.
struct DebugValue {
  uint16_t form = 0;  // 0: not there
  uint64_t number = 0;
};

struct DebugUnit {
  uint64_t begin = 0;        // of its header in .debug_info
  uint64_t first_entry = 0;  // offset in .debug_info
  uint64_t end = 0;
  uint16_t version = 0;
  bool is_64 = false;
  uint8_t address_bytes = 8;
  uint64_t abbreviations = 0;  // offset in .debug_abbrev
  // Said by the unit's own entry.
  uint64_t low_pc = 0;
  uint64_t string_base = 0;
  uint64_t address_base = 0;
  uint64_t range_base = 0;
  std::optional<uint64_t> lines;  // offset in .debug_line
};

enum class DebugTag : uint16_t {
  kEndOfChildren = 0,
  kParameter = 0x05,
  kInlined = 0x1d,
  kSubprogram = 0x2e,
};

struct DebugEntry {
  uint64_t offset = 0;  // in .debug_info
  DebugTag tag = DebugTag::kEndOfChildren;
  bool has_children = false;
  std::string_view name;
  std::string_view linkage_name;
  DebugValue low_pc, high_pc, ranges;
  std::optional<uint64_t> origin;  // the entry this one is an instance of, in .debug_info
  uint64_t call_file = 0;
  uint64_t call_line = 0;
  uint64_t call_column = 0;
  DebugValue string_base, address_base, range_base, lines;  // of a unit
};

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// One thread. The ELF file must outlive it.
class DebugInfo {
 public:
  explicit DebugInfo(const ElfView& elf);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  const std::vector<DebugUnit>& units() const { return units_; }
  // Reads the entry at `offset` and moves `offset` behind it. False at the end and where nothing can
  // be read any further.
  bool next(const DebugUnit& unit, uint64_t& offset, DebugEntry& entry);
  // The code an entry covers.
  std::vector<AddressRange> ranges_of(const DebugUnit& unit, const DebugEntry& entry);
  // The function's name, mangled where it is; that of its origin when it has none.
  std::string_view name_of(const DebugEntry& entry);

 private:
  using Bytes = std::span<const std::byte>;
  struct Abbreviations;

  void read_units();
  void read_unit_entry(DebugUnit& unit);
  const DebugAbbreviation* abbreviation(const DebugUnit& unit, uint64_t code);
  bool take_value(const DebugUnit& unit, ByteCursor& cursor, uint16_t form, DebugValue& out) const;
  std::string_view text(const DebugUnit& unit, const DebugValue& value) const;
  std::optional<uint64_t> address(const DebugUnit& unit, const DebugValue& value) const;
  std::vector<AddressRange> old_ranges(const DebugUnit& unit, uint64_t offset);
  std::vector<AddressRange> new_ranges(const DebugUnit& unit, uint64_t offset);
  bool spend() { return budget_ != 0 && budget_-- != 0; }

  Bytes info_, abbrev_, strings_, line_strings_, string_offsets_, addresses_, old_ranges_, ranges_;
  std::vector<DebugUnit> units_;
  std::map<uint64_t, Abbreviations> tables_;  // by offset
  uint64_t budget_ = 0;  // attributes, abbreviations and ranges still to be read
};

}  // namespace wavetap::codeobj
