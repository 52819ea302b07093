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

Status use_logduration_variables(ProbeRunOptions& probe, std::string& json) {
  say_not_used("LOGDUR_HANDLERS", "name handlers on the command line: memory, blocks, heatmap, …");
  say_not_used("LOGDUR_LIBRARY_FILTER", "choose libraries by their path with --library REGEX");
  if (const std::string filter = variable("LOGDUR_FILTER");
      !filter.empty() && probe.kernels.empty()) {
    say_used("LOGDUR_FILTER", filter, "-k");
    probe.kernels = filter;
  }
  if (const std::string dispatches = variable("LOGDUR_DISPATCHES");
      !dispatches.empty() && probe.launches.empty() && probe.every == 0) {
    if (dispatches == "random") {
      // There it is each with a chance of one in a hundred.
      say_used("LOGDUR_DISPATCHES", dispatches, "--every 100");
      probe.every = 100;
    } else if (dispatches == "1") {
      say_used("LOGDUR_DISPATCHES", dispatches, "--launch 1");
      probe.launches = "1";
    } else if (dispatches != "all") {
      return errorf("LOGDUR_DISPATCHES=%s: not all, random or 1; use --launch or --every",
                    dispatches.c_str());
    }
  }
  const std::string where = variable("LOGDUR_LOG_LOCATION");
  if (variable("LOGDUR_LOG_FORMAT") == "json" && json.empty() && !where.empty() &&
      where != "console") {
    say_used("LOGDUR_LOG_LOCATION", where, "--json");
    json = where;
  }
  return {};
}

}  // namespace wavetap::cli
