// What an op is, from its type string. RPD's sources name the same thing differently.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "store/trace.h"

namespace wavetap::analysis {

enum class OpKind : uint8_t { kKernel, kCopy, kFill, kBarrier, kOther };

const char* op_kind_name(OpKind kind);
OpKind op_kind_of(std::string_view op_type);

// Looks each distinct type string up once.
class OpKinds {
 public:
  explicit OpKinds(const store::Trace& trace);
  OpKind operator[](size_t op_row) const { return of_type_[trace_.ops.type[op_row]]; }

 private:
  const store::Trace& trace_;
  std::vector<OpKind> of_type_;  // by Str
};

// Calls that return only when the GPU has finished something.
bool is_synchronising_call(std::string_view api_name);

}  // namespace wavetap::analysis
