#include "analysis/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analysis/kernel_name.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using Json = nlohmann::ordered_json;

// Eighths of a cell, so that small shares still show.
std::string bar(double share) {
  constexpr int kCells = 10;
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kCells * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

// Four significant digits in the largest unit that keeps the number above one.
std::string human_ns(double ns) {
  const double size = std::fabs(ns);
  if (size < 1e3) return fmt::format("{:.0f} ns", ns);
  if (size < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (size < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.3f} s", ns / 1e9);
}

double as_double(const Cell& cell) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&cell)) return *d;
  return 0;
}

Json cell_json(const Cell& cell) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return *i;
  if (const auto* d = std::get_if<double>(&cell))
    return std::isfinite(*d) ? Json(*d) : Json(nullptr);
  if (const auto* s = std::get_if<std::string>(&cell)) return *s;
  return nullptr;
}

// Short names of the kernels of a report, each told from the others.
class KernelTexts {
 public:
  explicit KernelTexts(const Report& report) {
    std::vector<std::string_view> names;
    for (const Table& table : report.tables)
      for (const std::vector<Cell>& row : table.rows)
        for (size_t i = 0; i < row.size(); ++i)
          if (table.columns[i].unit == Unit::kKernel)
            if (const auto* name = std::get_if<std::string>(&row[i])) names.push_back(*name);
    const std::vector<std::string> labels = kernel_labels(names);
    for (size_t i = 0; i < names.size(); ++i) texts_.emplace(names[i], labels[i]);
  }

  std::string text(const Cell& cell, Unit unit) const {
    const auto* name = std::get_if<std::string>(&cell);
    if (unit != Unit::kKernel || name == nullptr) return cell_text(cell, unit);
    const auto found = texts_.find(*name);
    return util::escape_control(found != texts_.end() ? found->second : *name);
  }

 private:
  std::unordered_map<std::string_view, std::string> texts_;
};

// What a table can do without, in the order in which it goes when there is no room.
enum class Room : uint8_t { kAll, kNoBars, kNoOptional };

util::Table laid_out(const Table& table, const KernelTexts& kernels, Room room) {
  const auto is_empty = [&](size_t column) {
    return std::all_of(table.rows.begin(), table.rows.end(), [&](const std::vector<Cell>& row) {
      return std::holds_alternative<std::monostate>(row[column]);
    });
  };
  const auto shown = [&](size_t i) {
    const Column& column = table.columns[i];
    return !(column.unit == Unit::kBar && room >= Room::kNoBars) &&
           !(column.optional && (room >= Room::kNoOptional || is_empty(i)));
  };
  std::vector<util::Column> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    const bool text = column.unit == Unit::kText || column.unit == Unit::kKernel;
    if (shown(i))
      columns.push_back(
          {column.title,
           text || column.unit == Unit::kBar ? util::Align::kLeft : util::Align::kRight, text});
  }
  util::Table out(std::move(columns));
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < row.size(); ++i)
      if (shown(i)) cells.push_back(kernels.text(row[i], table.columns[i].unit));
    out.add(std::move(cells));
  }
  return out;
}

bool fits(const std::string& text, size_t columns) {
  for (const std::string& line : util::split(text, '\n'))
    if (util::display_width(line) > columns) return false;
  return true;
}

// Bars and optional columns go rather than letters of names; when even that is not enough, names
// are shortened, with as many columns as then fit.
std::string table_text(const Table& table, const KernelTexts& kernels, size_t columns) {
  const util::Table all = laid_out(table, kernels, Room::kAll);
  if (columns == 0 || fits(all.text(0), columns)) return all.text(columns);
  const util::Table without_bars = laid_out(table, kernels, Room::kNoBars);
  const util::Table least = laid_out(table, kernels, Room::kNoOptional);
  if (!fits(without_bars.text(0), columns) && fits(least.text(0), columns))
    return least.text(columns);
  const std::string text = without_bars.text(columns);
  return fits(text, columns) ? text : least.text(columns);
}

}  // namespace

std::string cell_text(const Cell& cell, Unit unit) {
  if (std::holds_alternative<std::monostate>(cell)) return "-";
  if (const auto* text = std::get_if<std::string>(&cell))
    return util::escape_control(unit == Unit::kKernel ? short_kernel_name(*text) : *text);
  const double value = as_double(cell);
  switch (unit) {
    case Unit::kNs:
    case Unit::kTime: return human_ns(value);
    case Unit::kBytes: return util::human_bytes(value < 0 ? 0 : static_cast<uint64_t>(value));
    case Unit::kShare: return fmt::format("{:.1f} %", value * 100);
    case Unit::kBytesPerNs: return fmt::format("{:.2f} GB/s", value);
    case Unit::kBar: return bar(value);
    case Unit::kNumber: return fmt::format("{:.3g}", value);
    case Unit::kCount:
    case Unit::kKernel:
    case Unit::kText: break;
  }
  if (const auto* i = std::get_if<int64_t>(&cell)) return std::to_string(*i);
  return fmt::format("{:.3g}", value);
}

std::string render_text(const Report& report, const RenderOptions& options) {
  std::string out;
  const auto strong = [&](const std::string& text) {
    return options.colour ? "\033[1m" + text + "\033[0m" : text;
  };
  // Continuation lines are indented, the first is not.
  const auto paragraph = [&](const std::string& text) {
    return util::wrap(util::escape_line(text), options.columns, 2).substr(2) + "\n";
  };
  for (const std::string& warning : report.warnings) {
    const std::string text = paragraph("warning: " + warning);
    out += options.colour ? "\033[33mwarning:\033[0m" + text.substr(8) : text;
  }
  size_t widest = 0;
  for (const Fact& fact : report.facts) widest = std::max(widest, fact.title.size());
  for (const Fact& fact : report.facts)
    out += fmt::format("{:<{}}  {}\n", fact.title, widest, cell_text(fact.value, fact.unit));
  const KernelTexts kernels(report);
  for (const Table& table : report.tables) {
    if (!out.empty()) out += "\n";
    out += strong(table.title) + "\n";
    if (table.rows.empty()) {
      out += "  (none)\n";
      continue;
    }
    out += table_text(table, kernels, options.columns);
    if (table.total_rows > table.rows.size())
      out += fmt::format("  … {} more; --top 0 shows all\n", table.total_rows - table.rows.size());
  }
  if (!report.notes.empty()) out += "\n";
  for (const std::string& note : report.notes) out += paragraph("note: " + note);
  return out;
}

nlohmann::ordered_json render_json(const Report& report, const store::Trace& trace) {
  Json json;
  json["version"] = kJsonVersion;
  json["analysis"] = report.analysis;
  json["trace"] = {{"path", trace.path},
                   {"schema_version", trace.schema_version},
                   {"emulated", trace.is_emulated()}};
  for (const Fact& fact : report.facts) json["facts"][fact.name] = cell_json(fact.value);
  for (const Table& table : report.tables) {
    Json rows = Json::array();
    for (const std::vector<Cell>& row : table.rows) {
      Json object;
      for (size_t i = 0; i < row.size(); ++i)
        if (table.columns[i].unit != Unit::kBar) object[table.columns[i].name] = cell_json(row[i]);
      rows.push_back(std::move(object));
    }
    json["tables"][table.name] = std::move(rows);
    if (table.total_rows > table.rows.size()) json["truncated"][table.name] = table.total_rows;
  }
  json["notes"] = report.notes;
  json["warnings"] = report.warnings;
  return json;
}

std::vector<std::string> trace_warnings(const store::Trace& trace) {
  std::vector<std::string> out = trace.warnings;
  uint64_t rows = 0;
  for (const store::Problem& problem : trace.problems) rows += problem.count;
  if (!trace.problems.empty())
    out.push_back(fmt::format("the file is not sound: {}, {}{}; `wavetap check` lists them",
                              util::count_of(rows, "bad row"),
                              trace.problems.size() > 1 ? "such as: " : "",
                              trace.problems.front().what));
  const auto losses = trace.metadata.find("losses");
  if (losses != trace.metadata.end() && losses->second != "0")
    out.push_back("the recording lost " + losses->second + " events; totals are too low");
  return out;
}

}  // namespace wavetap::analysis
