// One interface for every analysis: a trace goes in, a Report comes out. A Report is data: the
// command line prints it as tables or as JSON (render.h), tests compare it as text.
//
// An analysis sees the trace only, never another analysis, and says in notes what it cannot know.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/trace.h"

namespace wavetap::analysis {

// How a number is meant; decides how a person sees it. JSON always carries the plain number, in
// nanoseconds, bytes or a share of 1.
enum class Unit : uint8_t {
  kText,
  kKernel,  // a kernel's full name; tables show it short
  kCount,
  kNs,    // a duration
  kTime,  // a point in time, ns since the first event of the trace
  kBytes,
  kShare,       // 0..1, shown as per cent
  kNumber,      // a plain real number
  kBytesPerNs,  // shown as GB/s
  kBar,         // 0..1, shown as a bar
};

using Cell = std::variant<std::monostate, int64_t, double, std::string>;

struct Column {
  std::string name;   // JSON key and CSV header: snake_case
  std::string title;  // what the table shows
  Unit unit = Unit::kText;
  bool optional = false;  // left out of tables that would be too wide
};

struct Table {
  std::string name;  // JSON key
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  size_t total_rows = 0;  // before --top cut it; 0 means rows.size()
};

struct Fact {
  std::string name;
  std::string title;
  Unit unit = Unit::kText;
  Cell value;
};

struct Report {
  std::string analysis;
  std::vector<Fact> facts;
  std::vector<Table> tables;
  std::vector<std::string> notes;     // what the analysis cannot know, or had to assume
  std::vector<std::string> warnings;  // what the user should look at first
};

struct Options {
  size_t top = 20;  // rows per table; 0 = all
  bool rpd_compatible = false;
  std::map<std::string, std::string> settings;  // analysis-specific, from --set key=value or flags
};

enum class Diagram : uint8_t { kDot, kMermaid };

struct Analysis {
  std::string_view name;
  std::string_view help;  // one line
  // Settings it knows, as "key: meaning" lines, for --help. May be empty.
  std::string_view settings_help;
  bool needs_args = false;
  bool needs_stack_frames = false;
  Result<Report> (*run)(const store::Trace& trace, const Options& options);
  // Stores the derived tables in the file, or null when it has none.
  Status (*write)(const std::string& path, const store::Trace& trace,
                  const Options& options) = nullptr;
  // The result as a picture in text, or null when it is not one.
  Result<std::string> (*draw)(const store::Trace& trace, const Options& options,
                              Diagram kind) = nullptr;
  // With needs_args: the functions whose arguments it reads; null means all.
  bool (*needs_args_of)(std::string_view function) = nullptr;
};

// Every analysis, in the order help lists them.
const std::vector<Analysis>& all_analyses();
const Analysis* find_analysis(std::string_view name);

// --- Helpers analyses share.

// First and last time of the trace over calls and ops; both 0 when it is empty.
using store::Span;
inline Span trace_span(const store::Trace& trace) { return trace.span(); }

// Cuts a table to options.top rows, remembering how many there were.
void cut_to_top(Table& table, const Options& options);

}  // namespace wavetap::analysis
