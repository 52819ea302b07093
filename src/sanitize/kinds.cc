#include "sanitize/kinds.h"

#include <algorithm>

namespace wavetap::sanitize {
namespace {

constexpr ToolRow kToolRows[] = {
#define WT_TOOL(enumerator, name, is_default, watches, what) \
  {Tool::enumerator, name, is_default, watches, what},
#include "sanitize/kinds.inc"
#undef WT_TOOL
};

constexpr KindRow kKindRows[] = {
#define WT_KIND(enumerator, tool, severity, name, what) \
  {Kind::enumerator, Tool::tool, Severity::severity, name, what},
#include "sanitize/kinds.inc"
#undef WT_KIND
};
static_assert(std::size(kKindRows) == kKinds);

void append(std::string& list, const char* separator, const char* word) {
  if (!list.empty()) list += separator;
  list += word;
}

}  // namespace

std::span<const ToolRow> tool_rows() { return kToolRows; }
std::span<const KindRow> kind_rows() { return kKindRows; }
const char* tool_name(Tool tool) { return kToolRows[static_cast<size_t>(tool)].name; }
const KindRow& row_of(Kind kind) { return kKindRows[static_cast<size_t>(kind)]; }
const char* kind_name(Kind kind) { return row_of(kind).name; }

const char* severity_name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

ToolSet ToolSet::defaults() {
  ToolSet set;
  for (const ToolRow& row : kToolRows)
    if (row.is_default) set.add(row.tool);
  return set;
}

ToolSet ToolSet::dispatch_defaults() {
  ToolSet set;
  for (const ToolRow& row : kToolRows)
    if (row.is_default && row.watches_dispatches) set.add(row.tool);
  return set;
}

Result<ToolSet> ToolSet::parse(std::string_view text) {
  if (text.empty()) return defaults();
  ToolSet set;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    const auto row = std::find_if(std::begin(kToolRows), std::end(kToolRows),
                                  [&](const ToolRow& known) { return word == known.name; });
    if (row == std::end(kToolRows)) {
      std::string known;
      for (const ToolRow& other : kToolRows) append(known, ", ", other.name);
      return errorf("%.*s: no such tool; write one or more of %s, with commas between them",
                    static_cast<int>(word.size()), word.data(), known.c_str());
    }
    set.add(row->tool);
  }
  return set;
}

std::string ToolSet::names() const {
  std::string names;
  for (const ToolRow& row : kToolRows)
    if (has(row.tool)) append(names, ",", row.name);
  return names;
}

}  // namespace wavetap::sanitize
