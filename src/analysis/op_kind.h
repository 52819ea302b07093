// What an op is (store/op_kind.h), and which calls wait for one.
#pragma once

#include <string_view>

#include "store/op_kind.h"

namespace wavetap::analysis {

using store::op_kind_name;
using store::op_kind_of;
using store::OpKind;
using store::OpKinds;

// Calls that return only when the GPU has finished something.
bool is_synchronising_call(std::string_view api_name);

}  // namespace wavetap::analysis
