#include "cli/sanitize_report.h"

#include <unistd.h>

#include <map>
#include <tuple>

#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;  // bumped when the meaning of an existing key changes

uint64_t number(const Json& object, const char* key) { return object.value(key, uint64_t{0}); }
std::string word(const Json& object, const char* key) { return object.value(key, std::string()); }

void add_counts(Json& finding, const Json& line) {
  for (const char* key : {"times", "lane_count"})
    finding[key] = number(finding, key) + number(line, key);
}

// Folds the lines of all processes.
class Reader {
 public:
  explicit Reader(SanitizeReport& report) : report_(report) {}

  void add(Json line) {
    const std::string type = line.is_object() ? word(line, "type") : "";
    if (type == "dispatch") {
      const uint64_t chosen = number(line, "chosen");
      (number(line, "checked") != 0 ? report_.checked
       : chosen != 0                ? report_.unwatched
                                    : report_.skipped) += 1;
      report_.faulted += number(line, "faulted");
      report_.dropped += number(line, "dropped");
    } else if (type == "finding") {
      add_finding(std::move(line));
    } else if (const auto known = by_id_.find({number(line, "pid"), number(line, "id")});
               type == "again" && known != by_id_.end()) {
      add_counts(report_.findings[known->second], line);
    } else {
      ++report_.losses;
    }
  }

 private:
  // Kernel, where in it, kind, severity, where the other side is, model.
  using Place =
      std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

  void add_finding(Json line) {
    // A copy has no instruction; the memory is its place.
    const std::string where = line.contains("offset") ? line["offset"].dump()
                              : line.contains("pc")   ? word(line, "pc")
                                                      : word(line, "address");
    const Json other = line.value("other", Json::object());
    const std::string against =
        other.contains("offset") ? other["offset"].dump() : word(other, "pc");
    const Place place(word(line, "kernel"), where, word(line, "kind"), word(line, "severity"),
                      against, word(line, "model"));
    const std::pair id(number(line, "pid"), number(line, "id"));
    const auto [known, is_new] = by_place_.emplace(place, report_.findings.size());
    by_id_[id] = known->second;
    if (!is_new) {
      add_counts(report_.findings[known->second], line);
      return;
    }
    for (const char* key : {"type", "id", "format"}) line.erase(key);
    report_.findings.push_back(std::move(line));
  }

  SanitizeReport& report_;
  std::map<std::pair<uint64_t, uint64_t>, size_t> by_id_;
  std::map<Place, size_t> by_place_;
};

}  // namespace

uint64_t SanitizeReport::errors() const {
  uint64_t count = 0;
  for (const Json& finding : findings)
    if (word(finding, "severity") == "error") ++count;
  return count;
}

void fold_findings(std::string_view lines, SanitizeReport& report) {
  Reader reader(report);
  for (const std::string& line : util::split(lines, '\n'))
    if (!line.empty()) reader.add(Json::parse(line, nullptr, /*allow_exceptions=*/false));
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
          {"version", kVersion},
          {"tools", util::split(report.tools, ',')},
          {"exit_status", exit_status},
          {"dispatches_checked", report.checked},
          {"dispatches_left_out", report.skipped},
          {"dispatches_not_watched", report.unwatched},
          {"dispatches_faulted", report.faulted},
          {"orders_tried", report.orders},
          {"instances_dropped", report.dropped},
          {"losses", report.losses},
          {"suppressed", report.suppressed},
          {"unused_suppressions", report.unused_suppressions},
          {"findings", report.findings}};
}

}  // namespace wavetap::cli
