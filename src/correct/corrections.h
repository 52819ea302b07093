// Corrections: figures of a device that `wavetap run --correct-device` puts in place of what HIP and
// CUDA-named entry points answer, and where those figures are in their structures.
//
// The variable WAVETAP_CORRECT holds `field=value` pairs, separated by commas. One set for all devices: a
// layer that lies does so about each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::correct {

inline constexpr char kVariable[] = "WAVETAP_CORRECT";

enum class Field : uint8_t { kMultiprocessors, kClockMhz, kWaveSize, kLdsBytes, kArch, kCount };
inline constexpr size_t kFieldCount = static_cast<size_t>(Field::kCount);

// "multiprocessors", "clock-mhz", "wave-size", "lds-bytes", "arch".
const char* field_name(Field field);

struct Corrections {
  bool has[kFieldCount] = {};
  uint32_t number[kFieldCount] = {};
  char arch[64] = {};  // "gfx1030"

  bool any() const;
};

// False when a field is unknown or a value is no number; `corrections` is then incomplete.
bool parse_corrections(const char* text, Corrections& corrections);

// hipDeviceProp_t before HIP 6, and from HIP 6 on; cudaDeviceProp of CUDA 11 and 12 agrees with the latter as
// far as it is touched here.
enum class PropertyLayout : uint8_t { kHip5, kHip6, kCuda };

// Tells what was there and what was put there, once per difference.
using Report = void (*)(Field field, const char* before, const char* after);
void correct_properties(const Corrections& corrections, PropertyLayout layout, void* properties,
                        Report report);

// The field behind an attribute number of hipDeviceGetAttribute or cuDeviceGetAttribute; kCount when we have
// none.
Field field_of_hip_attribute(int attribute);
Field field_of_cuda_attribute(int attribute);
// `value` is in the attribute's own unit.
void correct_attribute(const Corrections& corrections, Field field, int* value, Report report);

}  // namespace wavetap::correct
