// One interface for every analysis: a trace goes in, a Report comes out. A Report is data: the
// command line prints it as tables or as JSON (render.h), tests compare it as text.
//
// An analysis sees the trace only and says in notes what it cannot know. It never asks another
// analysis: the list of them is in registry.h, which only those who run them include. What two of
// them need is a file of its own (callstack_tree.h, idle_gaps.h, queue_table.h, …).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/setting.h"
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
  bool optional = false;  // left out of tables that would be too wide, and where it holds nothing
};

struct Table {
  std::string name;  // JSON key
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};
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
  Settings settings;  // those of the analysis that runs
};

enum class Diagram : uint8_t { kDot, kMermaid };

struct Analysis {
  std::string_view name;
  std::string_view help;                   // one line
  std::span<const Setting> settings = {};  // those it knows
  bool needs_args = false;
  bool needs_stack_frames = false;
  Result<Report> (*run)(const store::Trace& trace, const Options& options) = nullptr;
  // Stores the derived tables in the file, or null when it has none.
  Status (*write)(const std::string& path, const store::Trace& trace,
                  const Options& options) = nullptr;
  // The result as a picture in text, or null when it is not one.
  Result<std::string> (*draw)(const store::Trace& trace, const Options& options,
                              Diagram kind) = nullptr;
  // With needs_args: the functions whose arguments it reads; null means all.
  bool (*needs_args_of)(std::string_view function) = nullptr;
};

// --- Helpers analyses share.

// First and last time of the trace over calls and ops; both 0 when it is empty.
using store::Span;
inline Span trace_span(const store::Trace& trace) { return trace.span(); }

// Part of a whole as a share of 1; 0 when there is no whole.
double share_of(int64_t part, int64_t whole);

// Most of column `column`, a whole number, first; equal ones keep their order.
void sort_rows(Table& table, size_t column);

// Cuts a table to options.top rows, remembering how many there were.
void cut_to_top(Table& table, const Options& options);

}  // namespace wavetap::analysis
