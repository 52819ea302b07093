#include "cli/sanitize_report.h"

#include <fmt/format.h>
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

std::string counted(uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

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
      (number(line, "checked") != 0 ? report_.checked : report_.skipped) += 1;
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
    const std::string where = line.contains("offset") ? line["offset"].dump() : word(line, "pc");
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

// "4 bytes past the end of the 256-byte VRAM allocation at 0x6000…".
std::string address_text(const Json& finding) {
  const std::string address = word(finding, "address");
  if (word(finding, "space") != "global") {
    const std::string at =
        fmt::format("byte {} of {}", std::stoull(address, nullptr, 16),
                    word(finding, "space") == "LDS" ? "LDS" : "the lane's scratch");
    if (!finding.contains("limit_bytes")) return at;
    return fmt::format("{}; there are {}", at, number(finding, "limit_bytes"));
  }
  const std::string relation = word(finding, "relation");
  if (relation == "none" || word(finding, "kind") == "invalid-address")
    return address + ", with no allocation near it";
  const Json& beside = finding["allocation"];
  const uint64_t size = number(beside, "size_bytes");
  const uint64_t distance = number(finding, "distance");
  const std::string name =
      fmt::format("the {}-byte {} allocation at {}{}{}", size, word(beside, "memory"),
                  word(beside, "address"), number(beside, "exact") != 0 ? "" : " (whole pages)",
                  number(beside, "freed") != 0 ? ", which was freed" : "");
  const uint64_t reach = distance + number(finding, "size_bytes");
  if (relation == "inside" && word(finding, "kind") == "out-of-bounds")
    return fmt::format("{}, reaches {} past the end of {}", address,
                       counted(reach - size, "byte", "bytes"), name);
  if (relation == "inside")
    return fmt::format("{}, {} into {}", address, counted(distance, "byte", "bytes"), name);
  return fmt::format("{}, {} {} of {}", address, counted(distance, "byte", "bytes"),
                     relation == "past" ? "past the end" : "before the begin", name);
}

std::string triple(const Json& values) {
  if (!values.is_array() || values.size() != 3) return "?";
  return fmt::format("({},{},{})", values[0].dump(), values[1].dump(), values[2].dump());
}

// "entry + 0x34, fill.hip:12: global_store_dword …".
std::string code_text(const Json& place) {
  std::string where = place.contains("offset")
                          ? fmt::format("entry + {:#x}", number(place, "offset"))
                          : "pc " + word(place, "pc");
  if (place.contains("source")) where += ", " + word(place, "source");
  return where + ": " + word(place, "instruction");
}

// "thread (62,0,0) of workgroup (0,0,0), wave 1, lanes 0xc0000000".
std::string who_text(const Json& place) {
  const std::string group = triple(place.value("workgroup", Json()));
  if (!place.contains("lanes"))
    return fmt::format("wave {} of workgroup {}", number(place, "wave"), group);
  return fmt::format("thread {} of workgroup {}, wave {}, lanes {}",
                     triple(place.value("thread", Json())), group, number(place, "wave"),
                     word(place, "lanes"));
}

std::string access_text(const Json& place) {
  return fmt::format("{} of {}", word(place, "access"),
                     counted(number(place, "size_bytes"), "byte", "bytes"));
}

std::string headline(const Json& finding) {
  std::string text = fmt::format("{}: {}: {}", word(finding, "severity"), word(finding, "tool"),
                                 word(finding, "kind"));
  if (finding.contains("access"))
    text += fmt::format(": {} in {}{}", access_text(finding), word(finding, "space"),
                        word(finding, "space") == "global" ? " memory" : "");
  return text;
}

std::string finding_text(const Json& finding) {
  std::string text = fmt::format("{}\n  kernel   {}\n  at       {}\n", headline(finding),
                                 word(finding, "kernel"), code_text(finding));
  if (finding.contains("detail")) text += fmt::format("  detail   {}\n", word(finding, "detail"));
  if (finding.contains("access")) text += fmt::format("  address  {}\n", address_text(finding));
  text += fmt::format("  by       {}\n", who_text(finding));
  if (finding.contains("other")) {
    const Json& other = finding["other"];
    text +=
        fmt::format("  {:<8} {}{}\n", word(other, "role"),
                    other.contains("access") ? access_text(other) + " at " : "", code_text(other));
    text += fmt::format("  by       {}\n", who_text(other));
  }
  const std::string times = counted(number(finding, "times"), "execution", "executions");
  const uint64_t lanes = number(finding, "lane_count");
  text += lanes == 0 ? fmt::format("  in all   {} of the instruction by a wave\n", times)
                     : fmt::format("  in all   {} in {} of the instruction by a wave\n",
                                   counted(lanes, "lane", "lanes"), times);
  return text;
}

}  // namespace

Result<SanitizeReport> read_findings(const std::string& lines_path) {
  SanitizeReport report;
  if (access(lines_path.c_str(), F_OK) != 0) return report;
  const Result<std::vector<std::byte>> bytes = util::read_file(lines_path);
  if (!bytes.ok()) return bytes.error();
  const std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  Reader reader(report);
  for (const std::string& line : util::split(text, '\n'))
    if (!line.empty()) reader.add(Json::parse(line, nullptr, /*allow_exceptions=*/false));
  return report;
}

uint64_t SanitizeReport::errors() const {
  uint64_t count = 0;
  for (const Json& finding : findings)
    if (word(finding, "severity") == "error") ++count;
  return count;
}

std::string render(const SanitizeReport& report, uint64_t max) {
  std::string text;
  std::map<std::string, uint64_t> kinds;
  uint64_t shown = 0;
  for (const Json& finding : report.findings) {
    ++kinds[word(finding, "kind")];
    if (shown == max) continue;
    text += finding_text(finding) + "\n";
    ++shown;
  }
  if (shown < report.findings.size())
    text += fmt::format("… and {} more (--max shows more, --json all)\n\n",
                        report.findings.size() - shown);
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds) parts.push_back(fmt::format("{} {}", count, kind));
  const uint64_t errors = report.errors();
  text += fmt::format("sanitize: {}, {}{}; {} checked, {} left out\n",
                      counted(errors, "error", "errors"),
                      counted(report.findings.size() - errors, "warning", "warnings"),
                      parts.empty() ? "" : " (" + util::join(parts, ", ") + ")",
                      counted(report.checked, "dispatch", "dispatches"), report.skipped);
  if (report.checked == 0)
    text += report.skipped == 0
                ? "sanitize: the program dispatched no kernel; nothing was checked\n"
                : "sanitize: no kernel matched; nothing was checked\n";
  if (report.dropped != 0)
    text += fmt::format("sanitize: one dispatch had more findings than are kept; {} not shown\n",
                        counted(report.dropped, "instance is", "instances are"));
  if (report.losses != 0)
    text += fmt::format("sanitize: {} lost: a process was killed while it wrote\n",
                        counted(report.losses, "line was", "lines were"));
  return text;
}

std::string to_json(const SanitizeReport& report, const std::string& tools, int exit_status) {
  const Json document = {
      {"schema", "wavetap-sanitize"},         {"version", kVersion},
      {"tools", util::split(tools, ',')},     {"exit_status", exit_status},
      {"dispatches_checked", report.checked}, {"dispatches_left_out", report.skipped},
      {"instances_dropped", report.dropped},  {"losses", report.losses},
      {"findings", report.findings}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace wavetap::cli
