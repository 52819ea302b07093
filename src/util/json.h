// JSON, ours and of unknown origin.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wavetap::util {

// The error says where and what, "byte 17: is not JSON", and leaves it to the caller to name the file.
Result<nlohmann::json> parse_json(std::string_view text);

// What is not JSON gives a value that is_discarded(), and so no object, no list, no number and no text.
nlohmann::json read_json(std::string_view text);
nlohmann::ordered_json read_ordered_json(std::string_view text);

// An indented document that ends with a newline. What is not UTF-8 in it is replaced.
std::string json_text(const nlohmann::ordered_json& json);

// A member of an object; 0 and "" when there is none, when it is something else, or when `object` is no
// object.
uint64_t count_in(const nlohmann::json& object, const char* key);
uint64_t count_in(const nlohmann::ordered_json& object, const char* key);
double number_in(const nlohmann::json& object, const char* key);
double number_in(const nlohmann::ordered_json& object, const char* key);
std::string text_in(const nlohmann::json& object, const char* key);
std::string text_in(const nlohmann::ordered_json& object, const char* key);

}  // namespace wavetap::util
