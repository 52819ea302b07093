// The key of a block in the cache on disk: all that its code is made from.
#pragma once

#include <string_view>

#include "jit/backend.h"
#include "jit/object_cache.h"

namespace wavetap::jit {

// `maker` names who compiles: the library, and the processor it compiles for.
BlockKey key_of(const BlockRequest& request, std::string_view maker);

}  // namespace wavetap::jit
