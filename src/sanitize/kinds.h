// The tools of the sanitizer and the kinds of their findings, from kinds.inc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wavetap::sanitize {

enum class Tool : uint8_t {
#define WT_TOOL(enumerator, name, is_default, watches, what) enumerator,
#include "sanitize/kinds.inc"
#undef WT_TOOL
};

enum class Severity : uint8_t {
  kWarning,  // works on the hardware there is, or may be meant
  kError,
};

enum class Kind : uint8_t {
#define WT_KIND(enumerator, tool, severity, name, what) enumerator,
#include "sanitize/kinds.inc"
#undef WT_KIND
};

struct ToolRow {
  Tool tool;
  const char* name;
  bool is_default;          // chosen when the user names none
  bool watches_dispatches;  // false: it looks at the program's own calls
  const char* what;
};
std::span<const ToolRow> tool_rows();  // in the order of the enumeration
const char* tool_name(Tool tool);

struct KindRow {
  Kind kind;
  Tool tool;
  Severity severity;  // unless a finding says otherwise
  const char* name;
  const char* what;
};
std::span<const KindRow> kind_rows();  // in the order of the enumeration
const KindRow& row_of(Kind kind);
const char* kind_name(Kind kind);
const char* severity_name(Severity severity);

inline constexpr size_t kKinds =
#define WT_KIND(...) +1
#include "sanitize/kinds.inc"
#undef WT_KIND
    ;

class ToolSet {
 public:
  static ToolSet defaults();
  static ToolSet dispatch_defaults();  // where there are no calls: captures, single kernels
  // "memcheck,racecheck"; "" means the defaults. An error names the one that is not known.
  static Result<ToolSet> parse(std::string_view text);

  void add(Tool tool) { bits_ |= bit(tool); }
  bool has(Tool tool) const { return (bits_ & bit(tool)) != 0; }
  std::string names() const;  // as parse() takes them

 private:
  static uint32_t bit(Tool tool) { return uint32_t{1} << static_cast<unsigned>(tool); }
  uint32_t bits_ = 0;
};

}  // namespace wavetap::sanitize
