#include "util/json.h"

#include <nlohmann/json.hpp>

namespace wavetap::util {

Result<nlohmann::json> parse_json(std::string_view text) {
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error& error) {
    return errorf("byte %zu: is not JSON", error.byte);
  } catch (const nlohmann::json::out_of_range&) {
    return errorf("has a number that is too large");  // 1e999, which JSON allows
  }
}

}  // namespace wavetap::util
