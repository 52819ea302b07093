#include "cli/optimize_ranking.h"

#include <algorithm>
#include <map>

#include "cli/run_dir.h"
#include "util/file.h"
#include "util/isolated.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/pattern.h"

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;
using optimize::RankedKernel;

// "void ns::scale<float>(float*, int)" is written as `scale` in its source.
std::string written_name(const std::string& demangled) {
  std::string name = demangled.substr(0, demangled.find_first_of("(<"));
  if (const size_t at = name.find_last_of(" :"); at != std::string::npos) name.erase(0, at + 1);
  return name;
}

bool is_written_in(const optimize::Sources& sources, const std::string& demangled) {
  const std::string name = written_name(demangled);
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_") != std::string::npos)
    return false;
  const Result<util::Pattern> definition = util::compile_pattern("\\b" + name + "\\s*\\(");
  return std::any_of(sources.begin(), sources.end(), [&](const auto& source) {
    return source.second.find("__global__") != std::string::npos &&
           definition->is_in(source.second);
  });
}

Result<Json> profile_of(const std::string& gpu, const std::vector<std::string>& program) {
  const Result<RunDir> folder = RunDir::create();
  if (!folder.ok()) return folder.error();
  std::vector<std::string> words = {
      util::executable_folder() + "/wavetap", "profile", "--gpu", gpu, "-o", folder->path(), "--"};
  words.insert(words.end(), program.begin(), program.end());
  const Result<util::ShellResult> ran = util::run_words(words, {});
  if (!ran.ok()) return ran.error();
  if (ran->status != 0)
    return errorf("%s: profiling it ended with exit status %d: %s", program[0].c_str(), ran->status,
                  ran->output.c_str());
  const Result<std::vector<std::byte>> bytes = util::read_file(folder->path() + "/profile.json");
  if (!bytes.ok()) return bytes.error();
  Json json = util::read_json(
      std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  if (!json.is_object()) return errorf("%s: its profile is not understood", program[0].c_str());
  return json;
}

}  // namespace

std::string exact_regex(const std::string& name) {
  std::string made = "^";
  for (const char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) made += '\\';
    made += c;
  }
  return made + "$";
}

Result<std::vector<RankedKernel>> rank_kernels(const std::string& gpu,
                                               const std::vector<std::string>& program,
                                               const optimize::Sources& sources) {
  const Result<Json> profile = profile_of(gpu, program);
  if (!profile.ok()) return profile.error();
  std::map<std::string, double> times;  // on the critical path
  double sum = 0;
  try {
    for (const Json& kernel : profile->at("kernels")) {
      const Json path = kernel.value("critical_path", Json::object());
      const double time = path.value("critical_share", 1.0) *
                          kernel.at("runtime_ms").get<double>() *
                          kernel.at("stability").at("runs").get<double>();
      times[kernel.at("kernel").at("name").get<std::string>()] += time;
      sum += time;
    }
  } catch (const Json::exception&) {
    return errorf("%s: its profile is not understood", program[0].c_str());
  }
  std::vector<RankedKernel> ranked;
  for (const auto& [name, time] : times)
    ranked.push_back({name, sum > 0 ? time / sum : 0, is_written_in(sources, name)});
  std::stable_sort(ranked.begin(), ranked.end(), [](const RankedKernel& a, const RankedKernel& b) {
    return a.critical_part > b.critical_part;
  });
  return ranked;
}

}  // namespace wavetap::cli
