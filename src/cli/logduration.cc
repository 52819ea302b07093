#include "cli/logduration.h"

#include <fmt/format.h>

#include <cstdlib>

#include "util/text.h"

namespace wavetap::cli {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What a variable does is said: it may have been set for another tool.
void say_used(const char* name, const std::string& value, const std::string& as) {
  fmt::print(stderr, "wavetap: {}={} is used as {}\n", name, util::escape_control(value), as);
}

void say_not_used(const char* name, const char* instead) {
  if (const std::string value = variable(name); !value.empty())
    fmt::print(stderr, "wavetap: {}={} is not used; {}\n", name, util::escape_control(value),
               instead);
}

}  // namespace

void use_logduration_variables(RecordingOptions& recording, SwapOptions& swap) {
  if (const std::string where = variable("LOGDUR_LOG_LOCATION");
      !where.empty() && recording.durations.empty()) {
    say_used("LOGDUR_LOG_LOCATION", where, "--durations");
    recording.durations = where;
  }
  if (const std::string cache = variable("LOGDUR_KERNEL_CACHE");
      !cache.empty() && swap.source.empty()) {
    say_used("LOGDUR_KERNEL_CACHE", cache, "--swap");
    swap.source = cache;
  }
}

Status use_logduration_variables(const LogdurationDefaults& options) {
  ProbeRunOptions& probe = options.probe;
  say_not_used("LOGDUR_HANDLERS", "name handlers on the command line: memory, blocks, heatmap, …");
  if (const std::string filter = variable("LOGDUR_FILTER");
      !filter.empty() && probe.kernels.empty()) {
    say_used("LOGDUR_FILTER", filter, "-k");
    probe.kernels = filter;
  }
  if (const std::string filter = variable("LOGDUR_LIBRARY_FILTER");
      !filter.empty() && options.library_filter.empty()) {
    say_used("LOGDUR_LIBRARY_FILTER", filter, "--library-filter");
    options.library_filter = filter;
  }
  if (const std::string dispatches = variable("LOGDUR_DISPATCHES");
      !dispatches.empty() && probe.launches.empty() && probe.every == 0 &&
      options.dispatches.empty()) {
    if (dispatches != "all" && dispatches != "random" && dispatches != "1")
      return errorf("LOGDUR_DISPATCHES=%s: not all, random or 1; use --launch or --every",
                    util::escape_control(dispatches).c_str());
    options.dispatches = dispatches == "1" ? "first" : dispatches;
    if (dispatches != "all") say_used("LOGDUR_DISPATCHES", dispatches, "-d " + options.dispatches);
  }
  const std::string where = variable("LOGDUR_LOG_LOCATION");
  if (variable("LOGDUR_LOG_FORMAT") == "json" && options.json.empty() && !where.empty() &&
      where != "console") {
    say_used("LOGDUR_LOG_LOCATION", where, "--json");
    options.json = where;
  }
  return {};
}

}  // namespace wavetap::cli
