#include "cli/counters_report.h"

#include <unistd.h>

#include "emu/counters.h"
#include "profile/workload.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr int kCountersVersion = 1;  // bumped when the meaning of an existing key changes

}  // namespace

Status write_counters(const std::string& lines_path, const std::string& path) {
  std::string text;
  if (access(lines_path.c_str(), F_OK) == 0) {
    const Result<std::vector<std::byte>> bytes = util::read_file(lines_path);
    if (!bytes.ok()) return bytes.error();
    text.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  if (path.ends_with(".csv")) {
    uint64_t unreadable = 0;
    const std::vector<profile::Sample> samples = profile::samples_of_lines(text, unreadable);
    return util::write_file(path, profile::pmc_perf_csv(samples, /*with_registers=*/false));
  }
  nlohmann::ordered_json dispatches = nlohmann::ordered_json::array();
  nlohmann::ordered_json totals;
  uint64_t losses = 0;
#define WT_COUNTER(name, help) totals[#name] = uint64_t{0};
#include "emu/counters.inc"
#undef WT_COUNTER
  for (const std::string& line : util::split(text, '\n')) {
    if (line.empty()) continue;
    nlohmann::ordered_json dispatch = util::read_json(line);
    if (!dispatch.is_object() || !dispatch.contains("counters")) {
      ++losses;
      continue;
    }
    for (const auto& [name, value] : dispatch["counters"].items())
      totals[name] = totals.value(name, uint64_t{0}) + value.get<uint64_t>();
    dispatches.push_back(std::move(dispatch));
  }
  const nlohmann::ordered_json document = {
      {"version", kCountersVersion}, {"emulated", true}, {"ticks_per_second", 100'000'000},
      {"dispatches", dispatches},    {"totals", totals}, {"losses", losses}};
  return util::write_file(path, util::json_text(document));
}

}  // namespace wavetap::cli
