#include "codeobj/parameter_names.h"

#include <algorithm>

#include "codeobj/debug_info.h"

namespace wavetap::codeobj {
namespace {

bool begins_at(DebugInfo& info, const DebugUnit& unit, const DebugEntry& entry, uint64_t address) {
  const std::vector<AddressRange> ranges = info.ranges_of(unit, entry);
  return std::any_of(ranges.begin(), ranges.end(), [&](const AddressRange& range) {
    return range.begin == address && range.begin < range.end;
  });
}

// Entries behind a function's own: its children, and theirs.
std::vector<std::string> names_behind(DebugInfo& info, const DebugUnit& unit, uint64_t offset) {
  constexpr size_t kMostParameters = 4096;
  std::vector<std::string> names;
  DebugEntry entry;
  for (int depth = 0;
       depth >= 0 && names.size() < kMostParameters && info.next(unit, offset, entry);) {
    if (entry.tag == DebugTag::kEndOfChildren) {
      --depth;
      continue;
    }
    if (depth == 0 && entry.tag == DebugTag::kParameter) names.emplace_back(info.name_of(entry));
    if (entry.has_children) ++depth;
  }
  return names;
}

}  // namespace

std::vector<std::string> parameter_names(const ElfView& elf, uint64_t entry_address) {
  DebugInfo info(elf);
  for (const DebugUnit& unit : info.units()) {
    uint64_t offset = unit.first_entry;
    DebugEntry entry;
    while (info.next(unit, offset, entry)) {
      if (entry.tag != DebugTag::kSubprogram || !entry.has_children) continue;
      if (begins_at(info, unit, entry, entry_address)) return names_behind(info, unit, offset);
    }
  }
  return {};
}

}  // namespace wavetap::codeobj
