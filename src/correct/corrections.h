// Corrections: figures of a device that `wavetap run --correct-device` puts in place of what HIP
// and CUDA-named entry points answer, and where those figures are in their structures.
//
// The variable WAVETAP_CORRECT holds sets of `field=value` pairs, separated by commas; sets are
// separated by semicolons. A set that begins with `@0000:03:00.0 ` is for the GPU in that place,
// another for every GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "amd/hip_properties.h"

namespace wavetap::correct {

inline constexpr char kVariable[] = "WAVETAP_CORRECT";

enum class Field : uint8_t { kMultiprocessors, kClockMhz, kWaveSize, kLdsBytes, kArch, kCount };
inline constexpr size_t kFieldCount = static_cast<size_t>(Field::kCount);

// "multiprocessors", "clock-mhz", "wave-size", "lds-bytes", "arch".
const char* field_name(Field field);
// The same as a trace names them: "clock_mhz".
const char* trace_name(Field field);

struct Corrections {
  bool has[kFieldCount] = {};
  uint32_t number[kFieldCount] = {};
  char arch[64] = {};  // "gfx1030"

  bool any() const;
};

// The sets of the variable.
struct CorrectionTable {
  static constexpr size_t kMaxSets = 64;
  struct Set {
    char pci[16] = {};  // "0000:03:00.0"; "": every GPU
    Corrections corrections;
  };
  Set sets[kMaxSets];
  size_t count = 0;

  // For the GPU in this place; "": not known, which is enough where there is only one set. Never
  // null.
  const Corrections& find(const char* pci) const;
};

// False when a field is unknown or a value is no number; the result is then incomplete.
bool parse_corrections(const char* text, Corrections& corrections);
bool parse_corrections(const char* text, CorrectionTable& table);

// Told of each figure that is changed: what was there and what is there now.
struct Report {
  void (*function)(void* context, Field field, const char* before, const char* after) = nullptr;
  void* context = nullptr;
};
void correct_properties(const Corrections& corrections, const amd::HipPropertiesLayout& layout,
                        void* properties, const Report& report);

// The field behind an attribute number of hipDeviceGetAttribute or cuDeviceGetAttribute; kCount
// when we have none.
Field field_of_hip_attribute(int attribute);
Field field_of_cuda_attribute(int attribute);
// `value` is in the attribute's own unit.
void correct_attribute(const Corrections& corrections, Field field, int* value,
                       const Report& report);

}  // namespace wavetap::correct
