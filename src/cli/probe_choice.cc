#include "cli/probe_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "cli/gpu_start.h"
#include "cli/usage.h"
#include "format/launch_choice.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr std::string_view kRandom = "random";

// Short enough to be typed again.
uint64_t made_up_seed() {
  std::random_device source;
  return 1 + source() % 999'999;
}

Result<uint64_t> one_in(const std::string& dispatches) {
  if (dispatches == kRandom) return kOmniprobesOneIn;
  const std::optional<uint64_t> number =
      dispatches.starts_with("random=") ? util::parse_unsigned(dispatches.substr(7)) : std::nullopt;
  if (!number || *number == 0)
    return errorf(
        "-d %s: not all, first, random or random=N; single launches are chosen by --launch",
        util::escape_control(dispatches).c_str());
  return *number;
}

// A glob of theirs as an extended pattern: ** goes over folders, * and ? do not.
std::string pattern_of(std::string_view glob) {
  std::string pattern;
  for (size_t i = 0; i < glob.size(); ++i) {
    const char c = glob[i];
    if (c == '*') {
      const bool is_double = glob.substr(i).starts_with("**");
      pattern += is_double ? ".*" : "[^/]*";
      i += is_double ? 1 : 0;
    } else if (c == '?') {
      pattern += "[^/]";
    } else {
      if (std::string_view(".[]{}()\\+|^$").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  return pattern;
}

}  // namespace

Status choose_launches(const std::string& dispatches, uint64_t seed, ProbeRunOptions& probe) {
  if (!probe.launches.empty() && probe.every != 0)
    return errorf("probe: --launch and --every exclude each other; leave out one of them");
  if (const auto list = parse_launches(probe.launches); !list.ok()) return list.error();
  const bool is_chosen = !dispatches.empty() && dispatches != "all";
  if (is_chosen && (!probe.launches.empty() || probe.every != 0))
    return errorf("probe: -d %s and --launch or --every exclude each other; leave out one of them",
                  util::escape_control(dispatches).c_str());
  if (dispatches == "first" || dispatches == "1") {
    probe.launches = format::LaunchChoice::kFirst;
  } else if (is_chosen) {
    const Result<uint64_t> chance = one_in(dispatches);
    if (!chance.ok()) return chance.error();
    const format::RandomLaunches random{*chance, seed != 0 ? seed : made_up_seed()};
    probe.launches = random.text();
    fmt::print(stderr,
               "wavetap: probe: each launch has a chance of one in {}, by seed {}; "
               "--dispatch-seed {} chooses the same again\n",
               random.one_in, random.seed, random.seed);
    return {};
  }
  if (seed != 0) return errorf("probe: --dispatch-seed: nothing is left to chance; add -d random");
  return {};
}

Status use_library_filter(const std::string& path, ProbeRunOptions& probe) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  const auto* const text = reinterpret_cast<const char*>(bytes->data());
  const auto json = util::read_json({text, bytes->size()});
  if (!json.is_object())
    return errorf(R"(%s: not a filter of libraries; write {"exclude": ["/path/with/*", …]})",
                  path.c_str());
  std::string patterns;
  if (const auto list = json.find("exclude"); list != json.end()) {
    const bool are_texts = list->is_array() && std::all_of(list->begin(), list->end(),
                                                           [](const nlohmann::ordered_json& item) {
                                                             return item.is_string();
                                                           });
    if (!are_texts)
      return errorf("%s: exclude: not a list of paths; write [\"…\", …]", path.c_str());
    for (const nlohmann::ordered_json& glob : *list)
      patterns += (patterns.empty() ? "" : "|") + pattern_of(glob.get<std::string>());
  }
  if (!patterns.empty()) probe.not_libraries = "^(" + patterns + ")$";
  return {};
}

}  // namespace wavetap::cli
