// The engine's counters of one dispatch, for people and programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "emu/counters.h"

namespace wavetap::cli {

// Those that counted something, as a table on standard output.
void print_counters(const emu::Counters& counters);
// Fills json["counters"], and json["amd"] with AMD's names.
void add_counters(nlohmann::ordered_json& json, const emu::Counters& counters);

// The other way, from a line of the virtual GPU (docs/counters.md). Nothing: it is not one.
std::optional<emu::Counters> counters_of_line(std::string_view line);

}  // namespace wavetap::cli
