// What an op is, from its type string. RPD's sources name the same thing differently.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace wavetap::store {

class Trace;

enum class OpKind : uint8_t { kKernel, kCopy, kFill, kBarrier, kOther };

const char* op_kind_name(OpKind kind);
OpKind op_kind_of(std::string_view op_type);

// Looks each distinct type string up once.
class OpKinds {
 public:
  explicit OpKinds(const Trace& trace);
  OpKind operator[](size_t op_row) const;

 private:
  const Trace& trace_;
  std::vector<OpKind> of_type_;  // by Str
};

}  // namespace wavetap::store
