// Mirrors of the types that HIP functions take by value. No HIP header is used: the table
// (hip_api.inc) spans releases, and what counts is size, alignment and class of a type in the
// calling convention.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::agent {

// As a reference points to it; by value it is taken as two words.
struct Dim3 {
  uint32_t x, y, z;
};

// A structure of integers and pointers.
template <size_t kSize, size_t kAlignment>
struct alignas(kAlignment) Opaque {
  unsigned char bytes[kSize];
};

// Flags of a table row.
inline constexpr uint32_t kEssential = 1;   // arguments are always recorded
inline constexpr uint32_t kBlocking = 2;    // returns when the GPU has done something
inline constexpr uint32_t kUnrecorded = 4;  // only looked at

// What a call answers when the loaded library does not have the function.
inline constexpr int32_t kHipErrorNotSupported = 801;
inline constexpr int32_t kHiprtcErrorInternal = 11;

}  // namespace wavetap::agent
