#include "util/json.h"

#include <vector>

#include "util/json_library.h"

namespace wavetap::util {
namespace {

// Members in order are found by going through them: what somebody else wrote must not make that long.
constexpr size_t kMostMembers = 10'000;
constexpr size_t kSmallestMember = std::string_view(R"("":0,)").size();

// Stops at an object with more than kMostMembers.
class MemberCount : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  bool is_too_many() const { return too_many_; }

  bool start_object(size_t) override {
    members_.push_back(0);
    return true;
  }
  bool key(string_t&) override {
    too_many_ = ++members_.back() > kMostMembers;
    return !too_many_;
  }
  bool end_object() override {
    members_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  std::vector<size_t> members_;  // of the objects that are open
  bool too_many_ = false;
};

bool has_too_many_members(std::string_view text) {
  if (text.size() <= kMostMembers * kSmallestMember) return false;
  MemberCount count;
  nlohmann::ordered_json::sax_parse(text.begin(), text.end(), &count);
  return count.is_too_many();
}

}  // namespace

Result<nlohmann::ordered_json> parse_json(std::string_view text) {
  if (has_too_many_members(text))
    return errorf("has an object with more than %zu members", kMostMembers);
  try {
    return nlohmann::ordered_json::parse(text.begin(), text.end());
  } catch (const nlohmann::ordered_json::parse_error& error) {
    return errorf("byte %zu: is not JSON", error.byte);
  } catch (const nlohmann::ordered_json::out_of_range&) {
    return errorf("has a number that is too large");  // 1e999, which JSON allows
  }
}

nlohmann::ordered_json read_json(std::string_view text) {
  if (has_too_many_members(text)) return nlohmann::ordered_json::value_t::discarded;
  return nlohmann::ordered_json::parse(text.begin(), text.end(), nullptr,
                                       /*allow_exceptions=*/false);
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

uint64_t count_in(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number_integer()) return 0;
  return found->is_number_unsigned() || found->get<int64_t>() >= 0 ? found->get<uint64_t>() : 0;
}

double number_in(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text_in(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace wavetap::util
