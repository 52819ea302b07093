#include "store/import_functions.h"

#include <fmt/format.h>

#include <charconv>

#include "base/check.h"
#include "store/trace_writer.h"

namespace wavetap::store {

using amd::HipRole;

std::optional<uint64_t> ImportFunction::Place::value(const CallWords& words) const {
  if (constant) return constant;
  std::optional<uint64_t> found;
  for (size_t i = 0; i < count && found.value_or(0) == 0; ++i) {
    const std::optional<uint64_t> here = words.at(word[i]);
    if (here) found = here;
  }
  return found;
}

ImportFunction::ImportFunction(const RawFunction* function, int64_t name, int64_t domain)
    : raw(function), name_id(name), domain_id(domain) {
  if (raw == nullptr || raw->api != format::Api::kHip) return;
  hip_ = amd::find_hip_call(raw->name);
  if (hip_ == nullptr) return;
  does = hip_->does;
  for (size_t role = 0; role < kRoles; ++role)
    places_[role] = find_place(amd::argument_of(*hip_, static_cast<HipRole>(role)));
}

// One of the forms that hip_calls.inc describes. What the process recorded may lack an argument.
ImportFunction::Place ImportFunction::find_place(std::string_view text) const {
  Place place;
  const auto number = [](std::string_view digits) {
    uint32_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  if (text.starts_with('=')) {
    place.constant = number(text.substr(1));
    return place;
  }
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find('|'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    uint32_t within = 0;
    if (const size_t bracket = item.find('['); bracket != std::string_view::npos) {
      within = number(item.substr(bracket + 1));
      item = item.substr(0, bracket);
    }
    const std::optional<CallLayout::Place> found = raw->layout.find(item);
    if (!found || within >= found->spec->words) continue;
    WT_CHECK(place.count < place.word.size(), "an argument of HIP is in one of two places");
    place.word[place.count++] = static_cast<uint32_t>(found->word) + within;
    place.is_dim3 = found->spec->code == ArgCode::kDim3;
  }
  return place;
}

std::optional<uint64_t> ImportFunction::bytes(const CallWords& words) const {
  if (const std::optional<uint64_t> whole = value(HipRole::kBytes, words)) return whole;
  const std::optional<uint64_t> width = value(HipRole::kWidth, words),
                                height = value(HipRole::kHeight, words);
  if (!width || !height) return std::nullopt;
  return *width * *height * value(HipRole::kDepth, words).value_or(1);
}

std::array<uint32_t, 3> ImportFunction::three(HipRole role, const CallWords& words) const {
  std::array<uint32_t, 3> out{};
  const Place& at = place(role);
  for (size_t i = 0; at.count > 0 && i < 3; ++i) {
    const uint64_t value = words.at(at.word[0] + (at.is_dim3 ? i / 2 : i)).value_or(0);
    out[i] = static_cast<uint32_t>(at.is_dim3 && i == 1 ? value >> 32 : value);
  }
  return out;
}

LaunchShape ImportFunction::shape(const CallWords& words) const {
  LaunchShape shape;
  shape.workgroup = three(HipRole::kBlock, words);
  const bool in_items = has(HipRole::kItems);
  const std::array<uint32_t, 3> grid = three(in_items ? HipRole::kItems : HipRole::kGrid, words);
  for (size_t i = 0; i < 3; ++i)
    shape.grid[i] = uint64_t{grid[i]} * (in_items ? 1 : shape.workgroup[i]);
  return shape;
}

const ImportFunction& ImportFunctions::add(uint32_t number) {
  const RawFunction* const raw = facts_.function(number);
  const int64_t name =
      texts_.string(raw == nullptr ? fmt::format("function {}", number) : raw->name);
  const int64_t domain = raw == nullptr ? texts_.no_string() : texts_.string(api_name(raw->api));
  const ImportFunction& added =
      functions_.insert_or_assign(number, ImportFunction(raw, name, domain)).first->second;
  if (by_number_.size() <= number) by_number_.resize(number + 1);
  by_number_[number] = &added;
  return added;
}

}  // namespace wavetap::store
