#include "util/json.h"

#include <nlohmann/json.hpp>

namespace wavetap::util {
namespace {

template <class Json>
uint64_t count_of_member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number_integer()) return 0;
  return found->is_number_unsigned() || found->template get<int64_t>() >= 0
             ? found->template get<uint64_t>()
             : 0;
}

template <class Json>
double number_of_member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? found->template get<double>() : 0;
}

template <class Json>
std::string text_of_member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->template get<std::string>() : "";
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text) {
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error& error) {
    return errorf("byte %zu: is not JSON", error.byte);
  } catch (const nlohmann::json::out_of_range&) {
    return errorf("has a number that is too large");  // 1e999, which JSON allows
  }
}

nlohmann::json read_json(std::string_view text) {
  return nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

nlohmann::ordered_json read_ordered_json(std::string_view text) {
  return nlohmann::ordered_json::parse(text.begin(), text.end(), nullptr,
                                       /*allow_exceptions=*/false);
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

uint64_t count_in(const nlohmann::json& object, const char* key) {
  return count_of_member(object, key);
}
uint64_t count_in(const nlohmann::ordered_json& object, const char* key) {
  return count_of_member(object, key);
}
double number_in(const nlohmann::json& object, const char* key) {
  return number_of_member(object, key);
}
double number_in(const nlohmann::ordered_json& object, const char* key) {
  return number_of_member(object, key);
}
std::string text_in(const nlohmann::json& object, const char* key) {
  return text_of_member(object, key);
}
std::string text_in(const nlohmann::ordered_json& object, const char* key) {
  return text_of_member(object, key);
}

}  // namespace wavetap::util
