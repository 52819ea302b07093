#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unordered_map>

#include "itrace/ui_output.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::itrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostFileBytes = size_t{2} << 30;

// Reads one folder. Every number is somebody else's: each is checked, and what is wrong is named with
// its file and its place in it.
class Reader {
 public:
  Reader(const FileSource& files, const std::string& shown) : files_(files), shown_(shown) {}

  Result<Trace> read() {
    for (const Status& step : {read_names(), read_code(), read_occupancy()})
      if (!step.ok()) return step.error();
    for (const std::string& name : wave_files_)
      if (const Status step = read_wave(name); !step.ok()) return step.error();
    if (trace_.waves.empty() && trace_.code.empty())
      return errorf("%s: neither waves nor code in it; record it again", shown_.c_str());
    // What rocprofv3 counted is kept: it has seen waves that it did not write down.
    if (trace_.is_modelled) add_up(trace_);
    if (unplaced_ != 0)
      trace_.notes.push_back(util::count_of(unplaced_, "instruction") +
                             " of the waves lie in no known code and are left out");
    return std::move(trace_);
  }

 private:
  Error wrong(const std::string& name, const std::string& place, const char* what) const {
    return errorf("%s/%s: %s: %s; record it again", shown_.c_str(), name.c_str(), place.c_str(),
                  what);
  }

  Result<Json> parse(const std::string& name) const {
    const std::optional<std::string> text = files_(name);
    if (!text)
      return errorf("%s/%s: is not there; copy the whole folder", shown_.c_str(), name.c_str());
    Result<Json> json = util::parse_json(*text);
    if (json.ok()) return json;
    return errorf("%s/%s: %s; record it again", shown_.c_str(), name.c_str(),
                  json.error().message.c_str());
  }

  static uint64_t number(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? whole(*found) : 0;
  }
  static uint64_t whole(const Json& json) {
    if (json.is_number_unsigned()) return json.get<uint64_t>();
    if (json.is_number_integer()) return static_cast<uint64_t>(json.get<int64_t>());
    if (!json.is_number_float()) return 0;
    const double value = json.get<double>();
    return value >= 0 && value < 1.8e19 ? static_cast<uint64_t>(value) : 0;
  }
  static std::string string(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  }

  Status read_names() {
    const Result<Json> names = parse("filenames.json");
    if (!names.ok()) return names.error();
    if (!names->is_object()) return wrong("filenames.json", "top", "is not an object");
    const uint64_t major = number(*names, "gfxip");
    if (major != 0) trace_.gfx_major = static_cast<uint32_t>(std::min<uint64_t>(major, 99));
    if (const auto ours = names->find("wavetap"); ours != names->end() && ours->is_object())
      take_ours(*ours);
    const auto waves = names->find("wave_filenames");
    if (waves == names->end() || waves->is_null()) return {};
    return find_waves(*waves, "wave_filenames", 0);
  }

  // {se:{simd:{slot:{id:[file,begin,end]}}}}
  Status find_waves(const Json& level, const std::string& place, int depth) {
    if (depth == 4) {
      if (!level.is_array() || level.empty() || !level[0].is_string())
        return wrong("filenames.json", place, "is not [file, begin, end]");
      const auto name = level[0].get<std::string>();
      if (name.empty() || name.find('/') != std::string::npos || name == "..")
        return wrong("filenames.json", place, "names a file outside the folder");
      wave_files_.push_back(name);
      return {};
    }
    if (!level.is_object()) return wrong("filenames.json", place, "is not an object");
    for (const auto& [key, value] : level.items())
      if (const Status step = find_waves(value, place + "." + key, depth + 1); !step.ok())
        return step;
    return {};
  }

  void take_ours(const Json& ours) {
    trace_.kernel = string(ours, "kernel");
    trace_.gpu = string(ours, "gpu");
    trace_.target = string(ours, "target");
    if (const auto modelled = ours.find("modelled"); modelled != ours.end())
      trace_.is_modelled = modelled->is_boolean() && modelled->get<bool>();
    if (const auto clock = ours.find("clock_hz"); clock != ours.end() && clock->is_number())
      trace_.clock_hz = clock->get<double>();
    trace_.entry_row = number(ours, "entry_line");
    trace_.losses.waves_elsewhere = number(ours, "waves_elsewhere");
    trace_.losses.waves_left_out = number(ours, "waves_left_out");
    trace_.losses.waves_cut = number(ours, "waves_cut");
    trace_.losses.instructions_lost = number(ours, "instructions_lost");
    if (const auto notes = ours.find("notes"); notes != ours.end() && notes->is_array())
      for (const Json& note : *notes)
        if (note.is_string()) trace_.notes.push_back(note.get<std::string>());
  }

  Status read_code() {
    const Result<Json> json = parse("code.json");
    if (!json.ok()) return json.error();
    const auto rows = json->is_object() ? json->find("code") : json->end();
    if (!json->is_object() || rows == json->end())
      return wrong("code.json", "top", "has no list named code");
    if (rows->is_null()) return {};
    if (!rows->is_array()) return wrong("code.json", "code", "is not a list");
    for (size_t i = 0; i < rows->size(); ++i) {
      const Json& row = (*rows)[i];
      const std::string place = fmt::format("code[{}]", i);
      if (!row.is_array() || row.size() < 10 || !row[0].is_string() || !row[3].is_string())
        return wrong("code.json", place, "is not a row of ten fields");
      for (size_t field = 4; field < 10; ++field)
        if (!row[field].is_number())
          return wrong("code.json", place, "has a field that is no number");
      if (!row[2].is_number_integer()) return wrong("code.json", place, "has no line number");
      if (!row_of_line_.try_emplace(row[2].get<int64_t>(), trace_.code.size()).second)
        return wrong("code.json", place, "repeats a line number");
      CodeRow made;
      made.text = row[0].get<std::string>();
      made.source = row[3].get<std::string>();
      made.code_object = whole(row[4]);
      made.address = whole(row[5]);
      made.hits = whole(row[6]);
      made.latency = whole(row[7]);
      made.stall = whole(row[8]);
      made.idle = whole(row[9]);
      trace_.code.push_back(std::move(made));
    }
    if (trace_.entry_row >= trace_.code.size()) trace_.entry_row = 0;
    return {};
  }

  // The kernel's name, of folders that do not say it elsewhere.
  Status read_occupancy() {
    if (!trace_.kernel.empty() || !files_("occupancy.json")) return {};
    const Result<Json> json = parse("occupancy.json");
    if (!json.ok()) return json.error();
    if (!json->is_object()) return wrong("occupancy.json", "top", "is not an object");
    const auto dispatches = json->find("dispatches");
    if (dispatches == json->end() || !dispatches->is_object()) return {};
    for (const auto& [id, name] : dispatches->items())
      if (id != "0" && name.is_string()) trace_.kernel = name.get<std::string>();
    return {};
  }

  Status read_wave(const std::string& name) {
    const Result<Json> json = parse(name);
    if (!json.ok()) return json.error();
    const auto found = json->is_object() ? json->find("wave") : json->end();
    if (!json->is_object() || found == json->end() || !found->is_object())
      return wrong(name, "top", "has no object named wave");
    const Json& described = *found;
    Wave wave;
    const std::string se = string(*json, "name");
    if (se.starts_with("SE")) wave.se = static_cast<uint32_t>(std::atoi(se.c_str() + 2));
    wave.cu = static_cast<uint32_t>(number(described, "cu"));
    wave.simd = static_cast<uint32_t>(number(described, "simd"));
    wave.slot = static_cast<uint32_t>(number(described, "slot"));
    wave.id = static_cast<uint32_t>(number(described, "id"));
    wave.begin = static_cast<int64_t>(number(described, "begin"));
    wave.end = static_cast<int64_t>(number(described, "end"));
    if (described.contains("workgroup_id")) wave.workgroup = number(described, "workgroup_id");
    wave.wave_in_group = static_cast<uint32_t>(number(described, "wave_in_group"));
    wave.is_cut = described.contains("cut");
    for (const Status& step :
         {read_issues(name, described, wave), read_timeline(name, described, wave),
          read_waits(name, described, wave)})
      if (!step.ok()) return step;
    trace_.waves.push_back(std::move(wave));
    return {};
  }

  // A list of the wave; null when it is not there.
  static const Json* list(const Json& described, const char* key) {
    const auto found = described.find(key);
    return found == described.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<uint32_t> row_at(const Json& line) const {
    if (!line.is_number_integer()) return std::nullopt;
    const auto found = row_of_line_.find(line.get<int64_t>());
    if (found == row_of_line_.end()) return std::nullopt;
    return static_cast<uint32_t>(found->second);
  }

  Status read_issues(const std::string& name, const Json& described, Wave& wave) {
    const Json* issues = list(described, "instructions");
    if (issues == nullptr) return {};
    if (!issues->is_array()) return wrong(name, "instructions", "is not a list");
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < issues->size(); ++i) {
      const Json& row = (*issues)[i];
      const auto place = [&] { return fmt::format("instructions[{}]", i); };
      if (!row.is_array() || row.size() < 5)
        return wrong(name, place(), "is not a row of five numbers");
      for (size_t field = 0; field < 5; ++field)
        if (!row[field].is_number_integer())
          return wrong(name, place(), "has a field that is no number");
      Issue issue;
      issue.time = row[0].get<int64_t>();
      const auto category = row[1].get<int64_t>();
      if (category < 0 || category >= static_cast<int64_t>(kCategories))
        return wrong(name, place(), "has an unknown category");
      issue.category = static_cast<Category>(category);
      const auto stall = row[2].get<int64_t>();
      const auto duration = row[3].get<int64_t>();
      if (stall < 0 || duration < 0 || stall > UINT32_MAX || duration > UINT32_MAX)
        return wrong(name, place(), "has a time that cannot be");
      issue.stall = static_cast<uint32_t>(stall);
      issue.duration = static_cast<uint32_t>(duration);
      if (issue.time < last) return wrong(name, place(), "begins before the one in front of it");
      last = issue.time;
      // rocprofv3 writes line 0 for what its decoder could not place.
      const std::optional<uint32_t> line = row_at(row[4]);
      if (!line) {
        ++unplaced_;
        continue;
      }
      issue.row = *line;
      wave.issues.push_back(issue);
    }
    return {};
  }

  Status read_timeline(const std::string& name, const Json& described, Wave& wave) const {
    const Json* spans = list(described, "timeline");
    if (spans == nullptr) return {};
    if (!spans->is_array()) return wrong(name, "timeline", "is not a list");
    for (size_t i = 0; i < spans->size(); ++i) {
      const Json& span = (*spans)[i];
      if (!span.is_array() || span.size() < 2 || !span[0].is_number_integer() ||
          !span[1].is_number_integer() || span[0].get<int64_t>() < 0 ||
          span[0].get<int64_t>() >= static_cast<int64_t>(kWaveStates))
        return wrong(name, fmt::format("timeline[{}]", i), "is not [state, cycles]");
      wave.timeline.push_back(
          {static_cast<WaveState>(span[0].get<int64_t>()), span[1].get<int64_t>()});
    }
    return {};
  }

  // [[line, [[line, 0]…]]…]
  Status read_waits(const std::string& name, const Json& described, Wave& wave) const {
    const Json* waits = list(described, "waitcnt");
    if (waits == nullptr) return {};
    if (!waits->is_array()) return wrong(name, "waitcnt", "is not a list");
    for (size_t i = 0; i < waits->size(); ++i) {
      const Json& row = (*waits)[i];
      const auto place = [&] { return fmt::format("waitcnt[{}]", i); };
      if (!row.is_array() || row.size() < 2 || !row[1].is_array())
        return wrong(name, place(), "is not [line, producers]");
      const std::optional<uint32_t> line = row_at(row[0]);
      if (!line) return wrong(name, place(), "names a line that code.json does not have");
      Wait wait{*line, {}};
      for (const Json& producer : row[1]) {
        const std::optional<uint32_t> from =
            producer.is_array() && !producer.empty() ? row_at(producer[0]) : std::nullopt;
        if (!from) return wrong(name, place(), "names a producer that code.json does not have");
        wait.producers.push_back(*from);
      }
      if (std::find(wave.waits.begin(), wave.waits.end(), wait) == wave.waits.end())
        wave.waits.push_back(std::move(wait));
    }
    return {};
  }

  const FileSource& files_;
  const std::string shown_;
  Trace trace_;
  std::vector<std::string> wave_files_;
  std::unordered_map<int64_t, size_t> row_of_line_;
  uint64_t unplaced_ = 0;
};

}  // namespace

Result<Trace> read_ui_output(const FileSource& files, const std::string& shown) {
  return Reader(files, shown).read();
}

Result<Trace> read_ui_output(const std::string& folder) {
  const FileSource files = [&](const std::string& name) -> std::optional<std::string> {
    const std::string path = folder + "/" + name;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error) ||
        std::filesystem::file_size(path, error) > kMostFileBytes)
      return std::nullopt;
    const Result<std::vector<std::byte>> bytes = util::read_file(path);
    if (!bytes.ok()) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  };
  return read_ui_output(files, folder);
}

bool is_ui_output(const std::string& folder) {
  std::error_code error;
  return std::filesystem::is_regular_file(folder + "/filenames.json", error);
}

}  // namespace wavetap::itrace
