// One self-contained page: summary, tables, a zoomable timeline and flame graphs. The page is
// web/viewer.*; this file gives it its data as JSON. Timeline rows are flat arrays [start, length,
// name, …] in nanoseconds from the trace's first event, one row per nesting depth (threads) or lane
// (queues).
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/analysis.h"
#include "analysis/callstack_tree.h"
#include "analysis/kernel_name.h"
#include "analysis/marker.h"
#include "analysis/render.h"
#include "analysis/report.h"
#include "export/formats.h"
#include "export/viewer_files.h"

namespace wavetap::exporter {
namespace {

using Json = nlohmann::ordered_json;
using store::kNoRow;

// Names as the page numbers them.
class Names {
 public:
  int64_t operator()(const std::string& text) {
    const auto [it, is_new] = numbers_.emplace(text, static_cast<int64_t>(list_.size()));
    if (is_new) list_.push_back(text);
    return it->second;
  }
  const Json& list() const { return list_; }

 private:
  std::map<std::string, int64_t> numbers_;
  Json list_ = Json::array();
};

struct Frame {
  int64_t total = 0;
  std::map<int64_t, std::unique_ptr<Frame>> children;
  Frame& child(int64_t name) {
    std::unique_ptr<Frame>& c = children[name];
    if (c == nullptr) c = std::make_unique<Frame>();
    return *c;
  }
};

Json flame_json(int64_t name, const Frame& frame, int64_t least) {
  Json children = Json::array();
  std::vector<std::pair<int64_t, const Frame*>> order;
  for (const auto& [n, f] : frame.children)
    if (f->total >= least) order.push_back({n, f.get()});
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second->total > b.second->total; });
  for (const auto& [n, f] : order) children.push_back(flame_json(n, *f, least));
  return Json::array({name, frame.total, children});
}

class Page {
 public:
  Page(const store::Trace& trace, const Options& options)
      : trace_(trace),
        options_(options),
        base_(analysis::trace_span(trace).begin),
        tree_(analysis::build_call_tree(trace)) {}

  Json data() {
    Json json;
    json["path"] = trace_.path;
    summary(json);
    json["span"] = analysis::trace_span(trace_).length();
    json["tracks"] = Json::array();
    queue_tracks(json["tracks"]);
    thread_tracks(json["tracks"]);
    flames(json);
    json["names"] = names_.list();
    return json;
  }

 private:
  void summary(Json& json) {
    analysis::Options top;
    top.top = 25;
    const analysis::Report report =
        analysis::build_report(trace_, top, analysis::ReportBy::kOverview);
    json["warnings"] = report.warnings;
    if (trace_.is_emulated())
      json["warnings"].push_back(
          "recorded on a virtual GPU: times are those of the emulation, not of hardware");
    json["facts"] = Json::array();
    for (const analysis::Fact& fact : report.facts)
      json["facts"].push_back(
          {{"title", fact.title}, {"text", analysis::cell_text(fact.value, fact.unit)}});
    json["tables"] = Json::array();
    for (const analysis::Table& table : report.tables) {
      Json out{{"title", table.title}, {"columns", Json::array()}, {"rows", Json::array()}};
      for (const analysis::Column& c : table.columns)
        out["columns"].push_back(
            {{"title", c.title},
             {"name", c.unit == analysis::Unit::kText || c.unit == analysis::Unit::kKernel},
             {"bar", c.unit == analysis::Unit::kBar}});
      for (const std::vector<analysis::Cell>& row : table.rows) {
        Json cells = Json::array();
        for (size_t i = 0; i < row.size(); ++i) {
          if (table.columns[i].unit == analysis::Unit::kBar) {
            cells.push_back(std::get_if<double>(&row[i]) != nullptr ? std::get<double>(row[i])
                                                                    : 0.0);
          } else {
            const auto* full = std::get_if<std::string>(&row[i]);
            cells.push_back(Json::array({analysis::cell_text(row[i], table.columns[i].unit),
                                         full != nullptr ? *full : ""}));
          }
        }
        out["rows"].push_back(std::move(cells));
      }
      json["tables"].push_back(std::move(out));
    }
  }

  static void event(Json& row, int64_t start, int64_t length, int64_t name) {
    row.push_back(start);
    row.push_back(length);
    row.push_back(name);
  }

  int64_t call_name(uint32_t row) {
    const std::string_view args = trace_.args(row);
    if (trace_.str(trace_.apis.name[row]) == "UserMarker" && !args.empty())
      return names_(std::string(analysis::marker_label(args)));
    return names_(std::string(trace_.str(trace_.apis.name[row])));
  }
  int64_t op_name(uint32_t op) {
    return names_(analysis::short_kernel_name(trace_.str(trace_.ops.name(op))));
  }

  void queue_tracks(Json& tracks) {
    std::vector<uint32_t> order;
    for (uint32_t op = 0; op < trace_.ops.size(); ++op)
      if (options_.wants(trace_.ops.start[op])) order.push_back(op);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return trace_.ops.start[a] < trace_.ops.start[b]; });
    struct Lanes {
      std::vector<int64_t> ends;
      std::vector<Json> rows;
    };
    std::map<std::pair<int32_t, int32_t>, Lanes> queues;
    for (const uint32_t op : order) {
      Lanes& lanes = queues[{trace_.ops.gpu[op], trace_.ops.queue[op]}];
      size_t lane = 0;
      while (lane < lanes.ends.size() && lanes.ends[lane] > trace_.ops.start[op]) ++lane;
      if (lane == lanes.ends.size()) lanes.ends.push_back(0), lanes.rows.push_back(Json::array());
      lanes.ends[lane] = trace_.ops.end[op];
      event(lanes.rows[lane], trace_.ops.start[op] - base_,
            std::max<int64_t>(0, trace_.ops.end[op] - trace_.ops.start[op]), op_name(op));
    }
    for (auto& [id, lanes] : queues)
      tracks.push_back(
          {{"name", "GPU " + std::to_string(id.first) + " queue " + std::to_string(id.second)},
           {"rows", lanes.rows}});
  }

  void thread_tracks(Json& tracks) {
    std::vector<uint32_t> depth(trace_.apis.size(), 0);
    std::map<uint32_t, std::vector<Json>> threads;
    for (const uint32_t row : tree_.order) {
      if (tree_.parent[row] != kNoRow) depth[row] = depth[tree_.parent[row]] + 1;
      if (!options_.wants(trace_.apis.start[row])) continue;
      std::vector<Json>& rows = threads[trace_.apis.thread[row]];
      while (rows.size() <= depth[row]) rows.push_back(Json::array());
      event(rows[depth[row]], trace_.apis.start[row] - base_,
            std::max<int64_t>(0, trace_.apis.end[row] - trace_.apis.start[row]), call_name(row));
    }
    for (auto& [thread, rows] : threads)
      tracks.push_back(
          {{"name", "thread " + std::to_string(trace_.threads[thread].tid)}, {"rows", rows}});
  }

  void flames(Json& json) {
    std::vector<std::vector<uint32_t>> ops_of(trace_.apis.size());
    for (size_t i = 0; i < trace_.links.size(); ++i)
      if (trace_.links.api[i] != kNoRow && trace_.links.op[i] != kNoRow)
        ops_of[trace_.links.api[i]].push_back(trace_.links.op[i]);
    Frame cpu, gpu;
    std::vector<uint32_t> chain;
    for (const uint32_t row : tree_.order) {
      if (!options_.wants(trace_.apis.start[row])) continue;
      chain.clear();
      for (uint32_t at = row; at != kNoRow; at = tree_.parent[at]) chain.push_back(at);
      std::reverse(chain.begin(), chain.end());
      const auto charge = [&](Frame& root, int64_t ns) -> Frame& {
        root.total += ns;
        Frame* at = &root;
        for (const uint32_t frame : chain) {
          at = &at->child(call_name(frame));
          at->total += ns;
        }
        return *at;
      };
      if (tree_.cpu_self[row] > 0) charge(cpu, tree_.cpu_self[row]);
      for (const uint32_t op : ops_of[row]) {
        const int64_t ns = trace_.ops.end[op] - trace_.ops.start[op];
        if (ns > 0) charge(gpu, ns).child(op_name(op)).total += ns;
      }
    }
    const int64_t all = names_("all");
    json["cpu_flame"] = flame_json(all, cpu, cpu.total / 5000);
    json["gpu_flame"] = flame_json(all, gpu, gpu.total / 5000);
  }

  const store::Trace& trace_;
  const Options& options_;
  const int64_t base_;
  const analysis::CallTree tree_;
  Names names_;
};

void replace(std::string& text, std::string_view mark, std::string_view value) {
  if (const size_t at = text.find(mark); at != std::string::npos)
    text.replace(at, mark.size(), value);
}

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

}  // namespace

Status write_html(const store::Trace& trace, const Options& options, Sink& sink) {
  std::string data =
      Page(trace, options).data().dump(-1, ' ', false, Json::error_handler_t::replace);
  // Inside a script element only "</" could end it early; "<\/" means the same to JSON.
  for (size_t at = data.find("</"); at != std::string::npos; at = data.find("</", at + 3))
    data.replace(at, 2, "<\\/");
  for (size_t at = data.find("<!--"); at != std::string::npos; at = data.find("<!--", at + 4))
    data.replace(at, 4, "<\\u0021--");
  std::string page(kViewerHtml);
  replace(page, "@TITLE@", escaped_html(trace.path + " - wavetap"));
  replace(page, "@STYLE@", kViewerCss);
  replace(page, "@SCRIPT@", kViewerJs);
  replace(page, "@DATA@", data);
  sink.write(page);
  return {};
}

}  // namespace wavetap::exporter
