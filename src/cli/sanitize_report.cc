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
  void add_finding(Json line) {
    const std::string where = line.contains("offset") ? line["offset"].dump() : word(line, "pc");
    const std::tuple place(word(line, "kernel"), where, word(line, "kind"), word(line, "model"));
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
  std::map<std::tuple<std::string, std::string, std::string, std::string>, size_t> by_place_;
};

// "4 bytes past the end of the 256-byte VRAM allocation at 0x6000…".
std::string address_text(const Json& finding) {
  const std::string address = word(finding, "address");
  if (word(finding, "space") != "global")
    return fmt::format("byte {} of {}; there are {}", std::stoull(address, nullptr, 16),
                       word(finding, "space") == "LDS" ? "LDS" : "the lane's scratch",
                       number(finding, "limit_bytes"));
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

std::string finding_text(const Json& finding) {
  std::string where = finding.contains("offset")
                          ? fmt::format("entry + {:#x}", number(finding, "offset"))
                          : "pc " + word(finding, "pc");
  if (finding.contains("source")) where += ", " + word(finding, "source");
  const Json thread = finding.value("thread", Json());
  const Json group = finding.value("workgroup", Json());
  return fmt::format(
      "{}: {}: {} of {} in {}{}\n"
      "  kernel   {}\n"
      "  at       {}: {}\n"
      "  address  {}\n"
      "  by       thread {} of workgroup {}, wave {}, lanes {}\n"
      "  in all   {} in {} of the instruction by a wave\n",
      word(finding, "tool"), word(finding, "kind"), word(finding, "access"),
      counted(number(finding, "size_bytes"), "byte", "bytes"), word(finding, "space"),
      word(finding, "space") == "global" ? " memory" : "", word(finding, "kernel"), where,
      word(finding, "instruction"), address_text(finding), triple(thread), triple(group),
      number(finding, "wave"), word(finding, "lanes"),
      counted(number(finding, "lane_count"), "lane", "lanes"),
      counted(number(finding, "times"), "execution", "executions"));
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
  text += fmt::format("sanitize: {}{}; {} checked, {} left out\n",
                      counted(report.findings.size(), "finding", "findings"),
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

std::string to_json(const SanitizeReport& report, int exit_status) {
  const Json document = {{"version", kVersion},
                         {"tools", Json::array({"memcheck"})},
                         {"exit_status", exit_status},
                         {"dispatches_checked", report.checked},
                         {"dispatches_left_out", report.skipped},
                         {"instances_dropped", report.dropped},
                         {"losses", report.losses},
                         {"findings", report.findings}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace wavetap::cli
