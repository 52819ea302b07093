// JSON of unknown origin.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace wavetap::util {

// The error says where and what, "byte 17: is not JSON", and leaves it to the caller to name the file.
Result<nlohmann::json> parse_json(std::string_view text);

}  // namespace wavetap::util
