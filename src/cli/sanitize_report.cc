#include "cli/sanitize_report.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFindingsVersion = 1;  // bumped when the meaning of an existing key changes

void add_counts(Json& finding, const Json& line) {
  for (const char* key : {"times", "lane_count"})
    finding[key] = util::count_in(finding, key) + util::count_in(line, key);
}

// Folds the lines of all processes.
class Reader {
 public:
  explicit Reader(SanitizeReport& report) : report_(report) {}

  void add(Json line) {
    const std::string type = line.is_object() ? util::text_in(line, "type") : "";
    if (type == "dispatch") {
      const uint64_t chosen = util::count_in(line, "chosen");
      (util::count_in(line, "checked") != 0 ? report_.checked
       : chosen != 0                        ? report_.unwatched
                                            : report_.skipped) += 1;
      report_.faulted += util::count_in(line, "faulted");
      report_.dropped += util::count_in(line, "dropped");
      report_.depending_on_order += util::count_in(line, "depends_on_order");
      report_.shadow_bytes = std::max(report_.shadow_bytes, util::count_in(line, "shadow_bytes"));
    } else if (type == "finding") {
      add_finding(std::move(line));
    } else if (const auto known =
                   by_id_.find({util::count_in(line, "pid"), util::count_in(line, "id")});
               type == "again" && known != by_id_.end()) {
      add_counts(report_.findings[known->second], line);
    } else if (type == "held" && known != by_id_.end()) {
      held_[known->first].count(line);
    } else {
      ++report_.losses;
    }
  }

  // When there are no more lines.
  void finish() {
    for (const auto& [id, held] : held_)
      for (const char* key : {"times", "bytes"})
        if (Json& finding = report_.findings[held.finding]; finding.contains(key))
          finding[key] = uint64_t{0};
    for (const auto& [id, held] : held_) {
      Json& finding = report_.findings[held.finding];
      for (const auto& [key, count] : {std::pair("times", held.blocks), {"bytes", held.bytes}})
        if (finding.contains(key)) finding[key] = util::count_in(finding, key) + count;
    }
    std::erase_if(report_.findings,
                  [](const Json& finding) { return util::count_in(finding, "times") == 0; });
  }

 private:
  // What may be less in the end, blocks that are freed or waves that go on after all: the last line says how much.
  struct Held {
    size_t finding = 0;
    uint64_t blocks = 0;
    uint64_t bytes = 0;

    Held() = default;
    Held(size_t its_finding, const Json& line) : finding(its_finding) { count(line); }
    void count(const Json& line) {
      blocks = util::count_in(line, "times");
      bytes = util::count_in(line, "bytes");
    }
  };
  // Kernel, where in it, kind, severity, where the other side is, model.
  using Place =
      std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

  void add_finding(Json line) {
    // A copy has no instruction; the memory is its place.
    const std::string where = line.contains("offset") ? util::json_line(line["offset"])
                              : line.contains("pc")   ? util::text_in(line, "pc")
                                                      : util::text_in(line, "address");
    const Json other = line.value("other", Json::object());
    const std::string against =
        other.contains("offset") ? util::json_line(other["offset"]) : util::text_in(other, "pc");
    const Place place(util::text_in(line, "kernel"), where, util::text_in(line, "kind"),
                      util::text_in(line, "severity"), against, util::text_in(line, "model"));
    const std::pair id(util::count_in(line, "pid"), util::count_in(line, "id"));
    const auto [known, is_new] = by_place_.emplace(place, report_.findings.size());
    by_id_[id] = known->second;
    if (line.contains("bytes") || line.contains("may_end")) held_[id] = Held(known->second, line);
    if (!is_new) {
      add_counts(report_.findings[known->second], line);
      return;
    }
    for (const char* key : {"type", "id", "format", "may_end"}) line.erase(key);
    report_.findings.push_back(std::move(line));
  }

  SanitizeReport& report_;
  std::map<std::pair<uint64_t, uint64_t>, size_t> by_id_;
  std::map<Place, size_t> by_place_;
  std::map<std::pair<uint64_t, uint64_t>, Held> held_;  // by process and id
};

}  // namespace

uint64_t SanitizeReport::errors() const {
  uint64_t count = 0;
  for (const Json& finding : findings)
    if (util::text_in(finding, "severity") == "error") ++count;
  return count;
}

void fold_findings(std::string_view lines, SanitizeReport& report) {
  Reader reader(report);
  for (const std::string& line : util::split(lines, '\n'))
    if (!line.empty()) reader.add(util::read_json(line));
  reader.finish();
}

Status read_findings(const std::string& lines_path, SanitizeReport& report) {
  if (access(lines_path.c_str(), F_OK) != 0) return {};
  const Result<std::vector<std::byte>> bytes = util::read_file(lines_path);
  if (!bytes.ok()) return bytes.error();
  fold_findings({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, report);
  return {};
}

Json sanitize_json(const SanitizeReport& report, int exit_status) {
  return {{"schema", "wavetap-sanitize"},
          {"version", kFindingsVersion},
          {"tools", util::split(report.tools, ',')},
          {"exit_status", exit_status},
          {"dispatches_checked", report.checked},
          {"dispatches_left_out", report.skipped},
          {"dispatches_not_watched", report.unwatched},
          {"dispatches_faulted", report.faulted},
          {"dispatches_depending_on_order", report.depending_on_order},
          {"orders_tried", report.orders},
          {"instances_dropped", report.dropped},
          {"shadow_bytes", report.shadow_bytes},
          {"losses", report.losses},
          {"suppressed", report.suppressed},
          {"unused_suppressions", report.unused_suppressions},
          {"findings", report.findings}};
}

}  // namespace wavetap::cli
