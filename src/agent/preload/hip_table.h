// The HIP hooks, numbered, for the files that implement them.
#pragma once

#include <cstdint>

#include "agent/hip_types.h"
#include "agent/provider.h"
#include "agent/recording.h"

#define WT_UNPACK(...) __VA_ARGS__

namespace wavetap::agent {

enum HipIndex : uint32_t {
#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags) \
  kIndexOf_##symbol,
#include "agent/hip_api.inc"
#undef WT_HIP
  kHipCount
};

struct HipDescription {
  const char* symbol;
  const char* name;    // as programs know the function
  const char* layout;  // of its arguments: record/layout.h
  Provider provider;
  uint8_t result_type;  // FunctionFact::result_type
};
extern const HipDescription kHipDescriptions[kHipCount] WT_HIDDEN;

// Index of a symbol we export; kNoHipFunction when it is none of ours.
inline constexpr uint32_t kNoHipFunction = UINT32_MAX;
uint32_t hip_index(const char* symbol);

// Functions that tell us something we need even while recording is stopped.
constexpr bool is_always_watched(uint32_t index) {
  return index == kIndexOf___hipRegisterFunction || index == kIndexOf_hipModuleGetFunction ||
         index == kIndexOf_hipLibraryGetKernel || index == kIndexOf_hipGetProcAddress ||
         index == kIndexOf_hipGetDriverEntryPoint || index == kIndexOf_hipGetDriverEntryPoint_spt ||
         index == kIndexOf_hipGetDeviceProperties ||
         index == kIndexOf_hipGetDevicePropertiesR0000 ||
         index == kIndexOf_hipGetDevicePropertiesR0600;
}

// Finds the real function if need be and records the call.
#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags) \
  WT_HIDDEN WT_UNPACK R traced_##symbol parameters;
#include "agent/hip_api.inc"
#undef WT_HIP

}  // namespace wavetap::agent
