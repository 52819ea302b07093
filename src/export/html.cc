// One self-contained page: summary, tables, a zoomable timeline and flame graphs. The page is the
// files of web/; this file gives it its data: texts, tables and flame graphs as JSON, the timeline's
// items as packed columns (web/data.js describes both). Times are nanoseconds from the trace's first
// event.
#include <algorithm>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/callstack_tree.h"
#include "analysis/counter_tables.h"
#include "analysis/flame_tree.h"
#include "analysis/kernel_name.h"
#include "analysis/marker.h"
#include "analysis/report.h"
#include "analysis/timeline.h"
#include "export/formats.h"
#include "export/packed_columns.h"
#include "export/viewer_files.h"
#include "util/json.h"
#include "util/json_library.h"

namespace wavetap::exporter {
namespace {

using Json = nlohmann::ordered_json;
using analysis::Unit;
using store::kNoRow;

constexpr size_t kTableRows = 1000;  // the page shows some and finds all
// A frame of a flame graph that takes less of the whole is narrower than a pixel.
constexpr int64_t kLeastFrame = 5000;

// Names as the page numbers them: what it shows of each and, where that is less, all of it.
class Names {
 public:
  // Kernels are shown by short names that tell them apart, whatever they are looked up for.
  explicit Names(const store::Trace& trace) {
    std::vector<std::string_view> kernels;
    std::vector<bool> seen(trace.strings.size(), false);
    for (size_t op = 0; op < trace.ops.size(); ++op) {
      const store::Str name = trace.ops.name(op);
      if (!seen[name]) kernels.push_back(trace.str(name));
      seen[name] = true;
    }
    const std::vector<std::string> labels = analysis::kernel_labels(kernels);
    for (size_t i = 0; i < kernels.size(); ++i) labels_.emplace(std::string(kernels[i]), labels[i]);
  }

  int64_t text(std::string_view text) { return number(std::string(text), ""); }
  int64_t kernel(std::string_view full) {
    const auto label = labels_.find(std::string(full));
    if (label == labels_.end() || label->second == full) return text(full);
    return number(label->second, std::string(full));
  }

  const Json& list() const { return list_; }
  const Json& full() const { return full_; }  // by number

 private:
  int64_t number(const std::string& shown, const std::string& full) {
    const auto [it, is_new] =
        numbers_.emplace(full.empty() ? shown : full, static_cast<int64_t>(list_.size()));
    if (is_new) {
      list_.push_back(shown);
      if (!full.empty()) full_[std::to_string(it->second)] = full;
    }
    return it->second;
  }

  std::unordered_map<std::string, std::string> labels_;  // of kernels by full name
  std::unordered_map<std::string, int64_t> numbers_;
  Json list_ = Json::array();
  Json full_ = Json::object();
};

// How the page is to write a number.
const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kText:
    case Unit::kKernel: return "text";
    case Unit::kCount: return "count";
    case Unit::kNs: return "ns";
    case Unit::kTime: return "time";
    case Unit::kBytes: return "bytes";
    case Unit::kShare: return "share";
    case Unit::kNumber: return "number";
    case Unit::kBytesPerNs: return "rate";
    case Unit::kBar: return "bar";
  }
  return "text";
}

Json number_json(const analysis::Cell& cell) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) return *whole;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return nullptr;
}

class Page {
 public:
  Page(const store::Trace& trace, const Options& options)
      : trace_(trace),
        window_(options.window()),
        base_(analysis::trace_span(trace).begin),
        tree_(analysis::build_call_tree(trace)),
        marker_(trace.strings.find("UserMarker")),
        names_(trace),
        number_of_(trace.strings.size(), kNone),
        kernel_number_(trace.strings.size(), kNone) {}

  // `columns` gets the items of the timeline.
  Json data(PackedColumns& columns) {
    Json json;
    json["path"] = trace_.path;
    add_summary(json);
    json["span"] = analysis::trace_span(trace_).length();
    json["tracks"] = Json::array();
    for (const analysis::TimelineTrack& track : analysis::build_timeline(trace_, tree_, window_))
      json["tracks"].push_back(track_json(track, columns));
    const analysis::FlameTree flames =
        analysis::build_flame_tree(trace_, tree_, window_, /*by_thread=*/false);
    json["cpu_flame"] = flame_json(flames, flames.cpu_total);
    json["gpu_flame"] = flame_json(flames, flames.gpu_total);
    json["names"] = names_.list();
    json["full"] = names_.full();
    return json;
  }

 private:
  static constexpr int64_t kNone = -1;

  void add_summary(Json& json) {
    analysis::Options options;
    options.top = kTableRows;
    const analysis::Report report =
        analysis::build_report(trace_, options, analysis::ReportBy::kOverview);
    json["warnings"] = report.warnings;
    if (trace_.is_emulated())
      json["warnings"].push_back(
          "recorded on a virtual GPU: times are those of the emulation, not of hardware");
    json["facts"] = Json::array();
    for (const analysis::Fact& fact : report.facts) {
      const auto* text = std::get_if<std::string>(&fact.value);
      json["facts"].push_back({{"title", fact.title},
                               {"unit", unit_name(fact.unit)},
                               {"value", text != nullptr ? Json(*text) : number_json(fact.value)}});
    }
    json["tables"] = Json::array();
    for (const analysis::Table& table : report.tables) json["tables"].push_back(table_json(table));
    if (!trace_.counters.empty())
      json["tables"].push_back(table_json(analysis::counters_table(trace_, options)));
  }

  Json table_json(const analysis::Table& table) {
    Json out{{"title", table.title},
             {"total", std::max(table.total_rows, table.rows.size())},
             {"columns", Json::array()},
             {"rows", Json::array()}};
    for (const analysis::Column& c : table.columns)
      out["columns"].push_back({{"title", c.title}, {"unit", unit_name(c.unit)}});
    for (const std::vector<analysis::Cell>& row : table.rows) {
      Json cells = Json::array();
      for (size_t i = 0; i < row.size(); ++i) {
        const auto* text = std::get_if<std::string>(&row[i]);
        if (text == nullptr) cells.push_back(number_json(row[i]));
        else if (table.columns[i].unit == Unit::kKernel) cells.push_back(names_.kernel(*text));
        else cells.push_back(names_.text(*text));
      }
      out["rows"].push_back(std::move(cells));
    }
    return out;
  }

  uint64_t call_name(uint32_t row) {
    const std::string_view args = trace_.args(row);
    const store::Str name = trace_.apis.name[row];
    if (name == marker_ && !args.empty())
      return static_cast<uint64_t>(names_.text(analysis::marker_label(args)));
    if (number_of_[name] == kNone) number_of_[name] = names_.text(trace_.str(name));
    return static_cast<uint64_t>(number_of_[name]);
  }
  uint64_t op_name(uint32_t op) {
    const store::Str name = trace_.ops.name(op);
    if (kernel_number_[name] == kNone) kernel_number_[name] = names_.kernel(trace_.str(name));
    return static_cast<uint64_t>(kernel_number_[name]);
  }

  Json track_json(const analysis::TimelineTrack& track, PackedColumns& columns) {
    const std::vector<int64_t>& starts = track.is_queue ? trace_.ops.start : trace_.apis.start;
    const std::vector<int64_t>& ends = track.is_queue ? trace_.ops.end : trace_.apis.end;
    Json counts = Json::array();
    for (const std::vector<uint32_t>& row : track.rows) {
      counts.push_back(row.size());
      int64_t last = base_;
      for (const uint32_t item : row) {
        columns.add(static_cast<uint64_t>(starts[item]) - static_cast<uint64_t>(last));
        last = starts[item];
      }
      for (const uint32_t item : row)
        columns.add(ends[item] <= starts[item]
                        ? 0
                        : static_cast<uint64_t>(ends[item]) - static_cast<uint64_t>(starts[item]));
      for (const uint32_t item : row) columns.add(track.is_queue ? op_name(item) : call_name(item));
    }
    return {{"name", track.name}, {"queue", track.is_queue}, {"rows", std::move(counts)}};
  }

  // Frames that are wide enough to be seen; callers before what they call, the heaviest first.
  Json flame_json(const analysis::FlameTree& tree, const std::vector<int64_t>& totals) {
    const int64_t least = std::max<int64_t>(1, totals[0] / kLeastFrame);
    std::vector<uint32_t> order;
    for (uint32_t node = 0; node < tree.size(); ++node)
      if (node == 0 || totals[node] >= least) order.push_back(node);
    // A frame weighs no more than its caller, and callers have the smaller numbers.
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return totals[a] > totals[b]; });
    std::vector<int64_t> place(tree.size(), 0);
    Json parents = Json::array(), names = Json::array(), times = Json::array();
    for (const uint32_t node : order) {
      place[node] = static_cast<int64_t>(parents.size());
      parents.push_back(node == 0 ? 0 : place[tree.parent[node]]);
      const std::string_view name = tree.names[tree.name[node]];
      names.push_back(tree.is_kernel[node] ? names_.kernel(name) : names_.text(name));
      times.push_back(totals[node]);
    }
    return {{"parent", std::move(parents)}, {"name", std::move(names)}, {"time", std::move(times)}};
  }

  const store::Trace& trace_;
  const analysis::Window window_;
  const int64_t base_;
  const analysis::CallTree tree_;
  const store::Str marker_;
  Names names_;
  std::vector<int64_t> number_of_, kernel_number_;  // by Str
};

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

// Inside a script element only "</" could end it early and "<!--" hide its end; "<" is the same to
// JSON when it is written as a number.
std::string script_json(const Json& json) {
  std::string text = util::json_line(json);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find('<', at), text.size());
    out.append(text, at, next - at);
    if (next < text.size()) out += "\\u003c";
    at = next + 1;
  }
  return out;
}

}  // namespace

Status write_html(const store::Trace& trace, const Options& options, Sink& sink) {
  PackedColumns columns;
  const Json data = Page(trace, options).data(columns);
  if (options.progress) options.progress(0.5);
  // The page with its marks filled in, one after another.
  std::string_view rest = kViewerHtml;
  const auto up_to = [&](std::string_view mark) {
    const size_t at = rest.find(mark);
    sink.write(rest.substr(0, at));
    rest.remove_prefix(at + mark.size());
  };
  up_to("@TITLE@");
  sink.write(escaped_html(trace.path + " - wavetap"));
  up_to("@STYLE@");
  sink.write(kViewerCss);
  up_to("@DATA@");
  sink.write(script_json(data));
  up_to("@PACKED@");
  if (Status s = columns.write(sink); !s.ok()) return s;
  up_to("@SCRIPT@");
  sink.write(kViewerJs);
  sink.write(rest);
  return {};
}

}  // namespace wavetap::exporter
