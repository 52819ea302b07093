#include "agent/preload/hip_table.h"

#include <string.h>

#include <type_traits>

namespace wavetap::agent {
namespace {

template <class R>
constexpr uint8_t result_type_of() {
  return std::is_void_v<R> ? 2 : std::is_pointer_v<R> ? 1 : 0;
}

}  // namespace

const HipDescription kHipDescriptions[kHipCount] = {
#define WT_HIP(symbol, name, family, result, parameters, arguments, packed, layout, flags) \
  {#symbol, #name, layout, Provider::family, result_type_of<WT_UNPACK result>()},
#include "agent/hip_api.inc"
#undef WT_HIP
};

uint32_t hip_index(const char* symbol) {
  for (uint32_t i = 0; i < kHipCount; ++i)
    if (strcmp(kHipDescriptions[i].symbol, symbol) == 0) return i;
  return kNoHipFunction;
}

}  // namespace wavetap::agent
