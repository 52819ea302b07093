#include "cli/engine_counters.h"

#include <fmt/format.h>
#include <unistd.h>

#include "emu/amd_counters.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

template <class Visitor>
void for_each_counter(const emu::Counters& counters, Visitor&& visit) {
#define WT_COUNTER(name, help) visit(#name, counters.name, help);
#include "emu/counters.inc"
#undef WT_COUNTER
}

}  // namespace

void print_counters(const emu::Counters& counters) {
  util::Table table({{"COUNTER"},
                     {"VALUE", util::Align::kRight},
                     {"MEANING", util::Align::kLeft, /*may_shrink=*/true}});
  for_each_counter(counters, [&](const char* name, uint64_t value, const char* help) {
    if (value != 0) table.add({name, util::group_digits(value), help});
  });
  fmt::print("{}", table.text(util::output_columns(STDOUT_FILENO)));
}

void add_counters(nlohmann::ordered_json& json, const emu::Counters& counters) {
  for_each_counter(counters, [&](const char* name, uint64_t value, const char*) {
    json["counters"][name] = value;
  });
  emu::for_each_amd_counter(
      counters, [&](const char* name, uint64_t value, const char*) { json["amd"][name] = value; });
}

std::optional<emu::Counters> counters_of_line(std::string_view line) {
  const auto parsed = util::read_json(line);
  if (!parsed.is_object() || !parsed.contains("counters")) return {};
  const nlohmann::ordered_json& counted = parsed["counters"];
  emu::Counters counters;
#define WT_COUNTER(name, help) counters.name = counted.value(#name, uint64_t{0});
#include "emu/counters.inc"
#undef WT_COUNTER
  return counters;
}

}  // namespace wavetap::cli
