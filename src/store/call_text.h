// Argument words of a recorded call, as the text of rocpd_ustring: "dst = 0x7f00 | sizeBytes = 4096
// | kind = hipMemcpyHostToDevice". FunctionFact::layout says what the words are; docs/format.md
// describes it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/record.h"

namespace wavetap::store {

enum class ArgCode : uint8_t {
  kPointer,
  kSize,  // 64 bits, unsigned
  kUnsigned32,
  kSigned32,
  kUnsigned64,
  kSigned64,
  kFloat,
  kDouble,
  kBool,
  kEnum,
  kString,
  kDim3,
  kStructure,
};

struct ArgSpec {
  std::string name;
  ArgCode code = ArgCode::kPointer;
  uint32_t words = 1;  // kString: at least
  std::string type;    // kEnum: its type
};

class CallLayout {
 public:
  // What cannot be understood ends the layout: the words behind it are not shown.
  static CallLayout parse(std::string_view text);

  const std::vector<ArgSpec>& args() const { return args_; }
  struct Place {
    size_t word = 0;  // the argument's first
    const ArgSpec* spec = nullptr;
  };
  // Nothing when there is none of that name, or only behind a string.
  std::optional<Place> find(std::string_view name) const;

 private:
  std::vector<ArgSpec> args_;
};

// The words of one call, safely.
class CallWords {
 public:
  CallWords() = default;
  explicit CallWords(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::optional<uint64_t> at(std::optional<size_t> word) const {
    if (!word || bytes_.size() / 8 <= *word) return std::nullopt;
    uint64_t value;
    std::memcpy(&value, bytes_.data() + *word * 8, sizeof value);
    return value;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// What follows a call's fixed part. The record must be whole, as the reader hands them out.
class RecordedCall {
 public:
  explicit RecordedCall(const format::CallRecord& call);
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;

  uint64_t duration() const { return duration_; }
  // Valid as long as this object.
  const CallWords& arguments() const { return arguments_; }
  // The arguments as they were recorded: equal when the arguments are.
  std::span<const std::byte> recorded() const { return recorded_; }

 private:
  void unpack();

  static constexpr size_t kFewWords = 24;
  uint64_t duration_ = 0;
  std::span<const std::byte> recorded_;
  CallWords arguments_;
  uint64_t few_[kFewWords];
  std::vector<uint64_t> many_;
};

// Appends the text of the arguments; nothing when there are no words.
void append_arguments(std::string& out, const CallLayout& layout, const CallWords& words);

// "hipErrorInvalidValue" for (hipError_t, 1); "" when the name is not known.
std::string_view enum_name(std::string_view type, int64_t value);

void append_hex(std::string& out, uint64_t value);  // with 0x
void append_decimal(std::string& out, int64_t value);

}  // namespace wavetap::store
