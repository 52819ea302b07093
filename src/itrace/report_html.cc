#include <fmt/format.h>

#include <set>
#include <utility>

#include "inspect/page.h"
#include "inspect/source_text.h"
#include "itrace/page_files.h"
#include "itrace/report.h"
#include "util/json.h"
#include "util/text.h"

namespace wavetap::itrace {
namespace {

using Json = nlohmann::ordered_json;

// [["/path/main.hip", 12], …], the user's own line first.
Json places_json(const CodeRow& row, std::set<std::string>& files) {
  std::vector<codeobj::SourceFrame> places = places_of(row);
  if (!places.empty()) std::swap(places[0], places[codeobj::users_frame(places)]);
  Json json = Json::array();
  for (const codeobj::SourceFrame& place : places) {
    files.insert(place.file);
    json.push_back({place.file, place.line});
  }
  return json;
}

std::string head_of(const Trace& trace, const Analysis& analysis) {
  return fmt::format("{}{}{} · {} · {} · {}", trace.gpu, trace.gpu.empty() ? "" : " · ",
                     trace.target,
                     trace.is_modelled ? "instructions are exact, times are modelled, not measured"
                                       : "recorded on hardware",
                     util::count_of(trace.waves.size(), "wave"),
                     util::count_of(analysis.instructions, "instruction"));
}

}  // namespace

std::string report_html(const Trace& trace, const Analysis& analysis) {
  Json data = report_json(trace, analysis);
  std::set<std::string> files;
  uint64_t issuing = 0;
  for (size_t i = 0; i < trace.code.size(); ++i) {
    data["rows"][i]["address"] = fmt::format("{:x}", trace.code[i].address);
    data["rows"][i]["source"] = places_json(trace.code[i], files);
    issuing += analysis.rows[i].issue;
  }
  data["issuing"] = issuing;
  data["head"] = head_of(trace, analysis);
  for (size_t i = 0; i < kCauses; ++i)
    data["titles"][std::string(name_of(static_cast<Cause>(i)))] = title_of(static_cast<Cause>(i));
  inspect::SourceText texts;
  data["sources"] = Json::object();
  for (const std::string& file : files)
    if (!texts.lines(file).empty()) data["sources"][file] = texts.lines(file);
  return inspect::fill_page(kTraceHtml, kTraceCss, kTraceJs, util::json_line(data));
}

}  // namespace wavetap::itrace
