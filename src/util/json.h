// JSON, ours and of unknown origin. Of nlohmann's two kinds everybody takes the one that keeps its members in order: each kind
// that a unit uses is compiled into it. So is each kind of writing, which is why texts are made here.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wavetap::util {

// The error says where and what, "byte 17: is not JSON", and leaves it to the caller to name the file.
Result<nlohmann::ordered_json> parse_json(std::string_view text);

// What is not JSON gives a value that is_discarded(), and so no object, no list, no number and no text.
nlohmann::ordered_json read_json(std::string_view text);

// An indented document that ends with a newline. What is not UTF-8 in it is replaced.
std::string json_text(const nlohmann::ordered_json& json);
// The same in one line, without its end.
std::string json_line(const nlohmann::ordered_json& json);

// A member of an object; 0 and "" when there is none, when it is something else, or when `object` is no
// object.
uint64_t count_in(const nlohmann::ordered_json& object, const char* key);
double number_in(const nlohmann::ordered_json& object, const char* key);
std::string text_in(const nlohmann::ordered_json& object, const char* key);

}  // namespace wavetap::util
