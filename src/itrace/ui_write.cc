#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "itrace/ui_output.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"

namespace wavetap::itrace {
namespace {

using Json = nlohmann::ordered_json;
constexpr char kVersion[] = "3.0.0";
constexpr double kRealtimeHz = 100e6;

std::string quoted(const std::string& text) { return util::json_line(Json(text)); }

std::string wave_file(const Wave& wave) {
  return fmt::format("se{}_sm{}_sl{}_wv{}.json", wave.se, wave.simd, wave.slot, wave.id);
}

// By hand: there may be millions of instructions.
std::string wave_text(const Wave& wave) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, R"({{"name":"SE{}","duration":{},"num_insts":{},"num_stitched":{},"wave":{{)",
                 wave.se, wave.end - wave.begin, wave.issues.size(), wave.issues.size());
  fmt::format_to(out, R"("cu":{},"id":{},"simd":{},"slot":{},"begin":{},"end":{},)", wave.cu,
                 wave.id, wave.simd, wave.slot, wave.begin, wave.end);
  if (wave.workgroup)
    fmt::format_to(out, R"("workgroup_id":{},"wave_in_group":{},)", *wave.workgroup,
                   wave.wave_in_group);
  if (wave.is_cut) text += "\"cut\":true,";
  text += "\"instructions\":[";
  for (const Issue& issue : wave.issues)
    fmt::format_to(out, "[{},{},{},{},{}],", issue.time, static_cast<int>(issue.category),
                   std::min(issue.stall, kMostStall), issue.duration, issue.row);
  if (text.back() == ',') text.pop_back();
  text += "],\"timeline\":[";
  for (const StateSpan& span : wave.timeline)
    fmt::format_to(out, "[{},{}],", static_cast<int>(span.state), span.cycles);
  if (text.back() == ',') text.pop_back();
  text += "],\"waitcnt\":[";
  for (const Wait& wait : wave.waits) {
    fmt::format_to(out, "[{},[", wait.row);
    for (const uint32_t producer : wait.producers) fmt::format_to(out, "[{},0],", producer);
    if (text.back() == ',') text.pop_back();
    text += "]],";
  }
  if (text.back() == ',') text.pop_back();
  text += "]}}\n";
  return text;
}

std::string code_text(const Trace& trace) {
  std::string text = "{\"code\":[";
  const auto out = std::back_inserter(text);
  for (size_t i = 0; i < trace.code.size(); ++i) {
    const CodeRow& row = trace.code[i];
    fmt::format_to(out, "{}[{},0,{},{},{},{},{},{},{},{}]", i == 0 ? "\n" : ",\n", quoted(row.text),
                   i, quoted(row.source), row.code_object, row.address, row.hits, row.latency,
                   row.stall, row.idle);
  }
  fmt::format_to(
      out,
      "],\n\"version\":\"{}\",\n\"header\":\"ISA, _, LineNumber, Source, Codeobj, Vaddr, "
      "Hit, Latency, Stall, Idle\"}}\n",
      kVersion);
  return text;
}

std::string stats_text(const Trace& trace) {
  std::string text =
      "\"CodeObj\",\"Vaddr\",\"Instruction\",\"Hitcount\",\"Latency\",\"Stall\",\"Idle\",\"Source\"\n";
  const auto quote = [](std::string value) {
    for (size_t at = value.find('"'); at != std::string::npos; at = value.find('"', at + 2))
      value.insert(at, 1, '"');
    return '"' + value + '"';
  };
  for (const CodeRow& row : trace.code)
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", row.code_object,
                   row.address, quote(row.text), row.hits, row.latency, row.stall, row.idle,
                   quote(row.source));
  return text;
}

Json filenames_json(const Trace& trace) {
  Json names = Json::object();
  for (const Wave& wave : trace.waves)
    names[std::to_string(wave.se)][std::to_string(wave.simd)][std::to_string(wave.slot)]
         [std::to_string(wave.id)] = {wave_file(wave), wave.begin, wave.end};
  const Losses& losses = trace.losses;
  return {{"global_begin_time", 0},
          {"gfxv", trace.gfx_major > 9 ? "navi" : "vega"},
          {"gfxip", trace.gfx_major},
          {"version", kVersion},
          {"counter_names", Json::array()},
          {"wave_filenames", std::move(names)},
          {"wavetap",
           {{"kernel", trace.kernel},
            {"gpu", trace.gpu},
            {"target", trace.target},
            {"modelled", trace.is_modelled},
            {"clock_hz", trace.clock_hz},
            {"entry_line", trace.entry_row},
            {"waves_elsewhere", losses.waves_elsewhere},
            {"waves_left_out", losses.waves_left_out},
            {"waves_cut", losses.waves_cut},
            {"instructions_lost", losses.instructions_lost},
            {"notes", trace.notes}}}};
}

Json occupancy_json(const Trace& trace) {
  struct SlotEvent {
    int64_t time;
    int is_start;
    const Wave* wave;
  };
  std::map<uint32_t, std::vector<SlotEvent>> events;
  for (const Wave& wave : trace.waves) {
    events[wave.se].push_back({wave.begin, 1, &wave});
    events[wave.se].push_back({wave.end, 0, &wave});
  }
  Json json = Json::object();
  for (auto& [se, list] : events) {
    // A slot is left before it is taken again.
    std::stable_sort(list.begin(), list.end(), [](const SlotEvent& a, const SlotEvent& b) {
      return std::pair(a.time, a.is_start) < std::pair(b.time, b.is_start);
    });
    Json& rows = json[std::to_string(se)] = Json::array();
    for (const SlotEvent& event : list)
      rows.push_back(
          {event.time, event.wave->cu, event.wave->simd, event.wave->slot, event.is_start, 1});
  }
  json["dispatches"] = {{"1", trace.kernel}};
  json["version"] = kVersion;
  return json;
}

// How many waves are in a state, over time.
Json states_json(const Trace& trace, WaveState state) {
  std::map<int64_t, int64_t> changes;
  for (const Wave& wave : trace.waves) {
    int64_t now = wave.begin;
    for (const StateSpan& span : wave.timeline) {
      if (span.state == state) ++changes[now], --changes[now + span.cycles];
      now += span.cycles;
    }
  }
  Json times = Json::array();
  Json counts = Json::array();
  int64_t count = 0;
  for (const auto& [time, change] : changes) {
    if (change == 0) continue;
    count += change;
    times.push_back(time);
    counts.push_back(count);
  }
  return {{"name", name_of(state)}, {"time", std::move(times)}, {"state", std::move(counts)}};
}

Json realtime_json(const Trace& trace) {
  Json json = {{"metadata", {{"frequency", kRealtimeHz}}}};
  std::map<uint32_t, int64_t> ends;
  for (const Wave& wave : trace.waves) ends[wave.se] = std::max(ends[wave.se], wave.end);
  const double ratio = trace.clock_hz > 0 ? kRealtimeHz / trace.clock_hz : 1;
  for (const auto& [se, end] : ends)
    json[fmt::format("SE{}", se)] = {{0, 0}, {end, static_cast<int64_t>(double(end) * ratio)}};
  return json;
}

std::set<std::string> source_files(const Trace& trace) {
  std::set<std::string> files;
  for (const CodeRow& row : trace.code)
    for (const codeobj::SourceFrame& place : places_of(row)) files.insert(place.file);
  return files;
}

// Copies of the source files, and the tree that says where they were.
Status write_sources(const Trace& trace, const std::string& folder) {
  Json tree = Json::object();
  size_t number = 0;
  for (const std::string& file : source_files(trace)) {
    std::error_code error;
    const std::filesystem::path path(file);
    if (!std::filesystem::is_regular_file(path, error)) continue;
    const std::string name = fmt::format("source_{}_{}", number, path.filename().string());
    std::filesystem::copy_file(path, folder + "/" + name,
                               std::filesystem::copy_options::overwrite_existing, error);
    if (error) continue;
    ++number;
    Json* at = &tree;
    for (const std::filesystem::path& part : path) {
      if (at->is_string()) break;  // a file and a folder of one name: cannot be
      at = &(*at)[part.string()];
    }
    *at = name;
  }
  if (number == 0) return {};
  return util::write_file(folder + "/snapshots.json", util::json_line(tree) + "\n");
}

}  // namespace

std::string ui_output_name(uint64_t agent, uint64_t dispatch) {
  return fmt::format("ui_output_agent_{}_dispatch_{}", agent, dispatch);
}

Status write_ui_output(const Trace& trace, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return errorf("%s: cannot be made: %s; name another folder with -o", folder.c_str(),
                  error.message().c_str());
  const auto write = [&](const std::string& name, const std::string& text) {
    return util::write_file(folder + "/" + name, text);
  };
  for (const Wave& wave : trace.waves)
    if (const Status done = write(wave_file(wave), wave_text(wave)); !done.ok()) return done;
  for (size_t i = 0; i < kWaveStates; ++i) {
    const Json states = states_json(trace, static_cast<WaveState>(i));
    if (const Status done = write(fmt::format("wstates{}.json", i), util::json_line(states) + "\n");
        !done.ok())
      return done;
  }
  const std::array<std::pair<const char*, std::string>, 4> files = {{
      {"code.json", code_text(trace)},
      {"occupancy.json", util::json_line(occupancy_json(trace)) + "\n"},
      {"realtime.json", util::json_line(realtime_json(trace)) + "\n"},
      // Last: readers take the folder for whole when it is there.
      {"filenames.json", util::json_line(filenames_json(trace)) + "\n"},
  }};
  if (const Status done = write_sources(trace, folder); !done.ok()) return done;
  for (const auto& [name, text] : files)
    if (const Status done = write(name, text); !done.ok()) return done;
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  return util::write_file(
      (path.parent_path() / ("stats_" + path.filename().string() + ".csv")).string(),
      stats_text(trace));
}

}  // namespace wavetap::itrace
