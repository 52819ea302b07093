// What the functions of a recorded process mean to import: amd/hip_calls.inc, laid over the argument
// words that the process recorded. Each is looked up once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "amd/hip_calls.h"
#include "store/call_text.h"
#include "store/queue_order.h"
#include "store/raw_facts.h"

namespace wavetap::store {

class SessionTexts;

class ImportFunction {
 public:
  ImportFunction() = default;
  // `raw` may be null: a function that nobody described.
  ImportFunction(const RawFunction* raw, int64_t name, int64_t domain);

  const RawFunction* raw = nullptr;
  int64_t name_id = 0;
  int64_t domain_id = 0;
  amd::HipDoes does = amd::HipDoes::kPlain;

  bool has(amd::HipFlag flag) const { return hip_ != nullptr && hip_->has(flag); }
  // Whether the arguments say it at all.
  bool has(amd::HipRole role) const { return place(role).is_known(); }
  // Nothing when the call did not record it.
  std::optional<uint64_t> value(amd::HipRole role, const CallWords& words) const {
    return place(role).value(words);
  }
  // Bytes that are copied or allocated, as one number or as a box.
  std::optional<uint64_t> bytes(const CallWords& words) const;
  // Of a launch, as the program asked for it.
  LaunchShape shape(const CallWords& words) const;
  // A call that returned this failed. Functions that return a pointer or nothing do not say.
  bool failed(int32_t result) const {
    return result != 0 && raw != nullptr && raw->result_type == format::ResultType::kErrorCode;
  }

 private:
  struct Place {
    uint8_t count = 0;               // of words; the first that is not 0 counts
    bool is_dim3 = false;            // three numbers in two words
    std::array<uint32_t, 2> word{};  // of the call's
    std::optional<uint64_t> constant;

    bool is_known() const { return count > 0 || constant; }
    std::optional<uint64_t> value(const CallWords& words) const;
  };
  static constexpr size_t kRoles = static_cast<size_t>(amd::HipRole::kDevice) + 1;

  const Place& place(amd::HipRole role) const { return places_[static_cast<size_t>(role)]; }
  Place find_place(std::string_view text) const;
  std::array<uint32_t, 3> three(amd::HipRole role, const CallWords& words) const;

  const amd::HipCall* hip_ = nullptr;
  std::array<Place, kRoles> places_{};
};

class ImportFunctions {
 public:
  ImportFunctions(const RawFacts& facts, SessionTexts& texts) : facts_(facts), texts_(texts) {}

  const ImportFunction& operator[](uint32_t number) {
    if (number < by_number_.size() && by_number_[number] != nullptr) return *by_number_[number];
    return add(number);
  }

 private:
  const ImportFunction& add(uint32_t number);

  const RawFacts& facts_;
  SessionTexts& texts_;
  std::map<uint32_t, ImportFunction> functions_;
  std::vector<const ImportFunction*> by_number_;
};

}  // namespace wavetap::store
