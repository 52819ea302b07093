// Findings as SARIF 2.1.0 (OASIS), which code review tools read.
#include <cctype>
#include <cstdio>

#include "cli/sanitize_report.h"
#include "sanitize/kinds.h"
#include "util/json.h"

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string uri_of(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    char escaped[8];
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("/-._~+").find(c) != std::string_view::npos) {
      uri += c;
    } else {
      std::snprintf(escaped, sizeof escaped, "%%%02X", byte);
      uri += escaped;
    }
  }
  return uri;
}

// "file:line" as a location in a file; nothing when it is none.
Json physical(const std::string& source) {
  const size_t colon = source.rfind(':');
  if (colon == std::string::npos ||
      source.find_first_not_of("0123456789", colon + 1) != std::string::npos)
    return nullptr;
  return {{"artifactLocation", {{"uri", uri_of(source.substr(0, colon))}}},
          {"region", {{"startLine", std::stoul(source.substr(colon + 1))}}}};
}

Json location(const Json& place, const std::string& kernel, const std::string& message) {
  Json at = Json::object();
  if (const Json file = physical(util::text_in(place, "source")); !file.is_null())
    at["physicalLocation"] = file;
  if (!kernel.empty())
    at["logicalLocations"] = Json::array({{{"fullyQualifiedName", kernel}, {"kind", "function"}}});
  if (!message.empty()) at["message"] = {{"text", message}};
  return at;
}

// The calls that were inlined at a place, but for the line that the result itself is at.
void add_frames(const Json& place, Json& related) {
  const Json frames = place.value("frames", Json::array());
  for (size_t i = 0; i < frames.size(); ++i)
    if (util::text_in(frames[i], "source") != util::text_in(place, "source"))
      related.push_back(
          location(frames[i], util::text_in(frames[i], "function"),
                   i == 0 ? "in " + util::text_in(frames[0], "function")
                          : util::text_in(frames[i - 1], "function") + " was inlined here"));
}

Json result_of(const Json& finding) {
  const std::string kernel = util::text_in(finding, "kernel");
  Json result = {{"ruleId", util::text_in(finding, "kind")},
                 {"level", util::text_in(finding, "severity")},
                 {"message", {{"text", sanitize_sentence(finding)}}},
                 {"locations", Json::array({location(finding, kernel, "")})},
                 {"occurrenceCount", std::max<uint64_t>(finding.value("times", uint64_t{1}), 1)}};
  Json related = Json::array();
  add_frames(finding, related);
  if (finding.contains("other")) {
    related.push_back(location(finding["other"], kernel, util::text_in(finding["other"], "role")));
    add_frames(finding["other"], related);
  }
  if (!related.empty()) result["relatedLocations"] = related;
  const Json& offset = finding.value("offset", Json(0));
  result["partialFingerprints"] = {{"wavetapPlace/v1", util::text_in(finding, "kind") + "/" +
                                                           kernel + "/" + util::json_line(offset)}};
  result["properties"] = finding;
  return result;
}

}  // namespace

std::string sanitize_sarif(const SanitizeReport& report, int exit_status) {
  Json rules = Json::array();
  for (const sanitize::KindRow& row : sanitize::kind_rows())
    rules.push_back({{"id", row.name},
                     {"shortDescription", {{"text", row.what}}},
                     {"defaultConfiguration", {{"level", sanitize::severity_name(row.severity)}}},
                     {"properties", {{"tags", Json::array({sanitize::tool_name(row.tool)})}}}});
  Json results = Json::array();
  for (const Json& finding : report.findings) results.push_back(result_of(finding));
  const Json document = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       Json::array(
           {{{"tool",
              {{"driver",
                {{"name", "wavetap sanitize"}, {"version", WAVETAP_VERSION}, {"rules", rules}}}}},
             {"invocations",
              Json::array({{{"executionSuccessful", true}, {"exitCode", exit_status}}})},
             {"results", results}}})}};
  return util::json_text(document);
}

}  // namespace wavetap::cli
