#include "correct/corrections.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace wavetap::correct {
namespace {

constexpr const char* kNames[kFieldCount] = {"multiprocessors", "clock-mhz", "wave-size", "lds-bytes",
                                             "arch"};

// Offsets of the structures' fields; 0 for arch: the structure has none.
struct Offsets {
  size_t multiprocessors, clock_khz, wave_size, lds_bytes, arch;
};
constexpr Offsets kOffsets[] = {
    {336, 308, 276, 264, 396},   // hipDeviceProp_t of HIP 5
    {388, 348, 308, 296, 1160},  // hipDeviceProp_tR0600
    {388, 348, 308, 296, 0},     // cudaDeviceProp
};

// hipDeviceAttribute_t, the same numbers since HIP 5; CUdevice_attribute.
constexpr int kHipClockRate = 5, kHipMultiprocessors = 63, kHipWarpSize = 87, kHipSharedMemory = 74;
constexpr int kCudaSharedMemory = 8, kCudaWarpSize = 10, kCudaClockRate = 13, kCudaMultiprocessors = 16;

void say(Report report, Field field, unsigned long long before, unsigned long long after) {
  if (report == nullptr || before == after) return;
  char old_text[32], new_text[32];
  std::snprintf(old_text, sizeof old_text, "%llu", before);
  std::snprintf(new_text, sizeof new_text, "%llu", after);
  report(field, old_text, new_text);
}

template <class T>
void put(void* properties, size_t offset, Field field, T value, T unit, Report report) {
  T before;
  std::memcpy(&before, static_cast<char*>(properties) + offset, sizeof before);
  const T after = value * unit;
  std::memcpy(static_cast<char*>(properties) + offset, &after, sizeof after);
  say(report, field, static_cast<unsigned long long>(before / unit), static_cast<unsigned long long>(value));
}

}  // namespace

const char* field_name(Field field) {
  return field < Field::kCount ? kNames[static_cast<size_t>(field)] : "";
}

bool Corrections::any() const {
  for (const bool one : has) {
    if (one) return true;
  }
  return false;
}

bool parse_corrections(const char* text, Corrections& corrections) {
  while (text != nullptr && *text != '\0') {
    const char* end = std::strchr(text, ',');
    const size_t length = end == nullptr ? std::strlen(text) : static_cast<size_t>(end - text);
    const char* equals = static_cast<const char*>(std::memchr(text, '=', length));
    if (equals == nullptr) return false;
    const size_t name_length = static_cast<size_t>(equals - text);
    size_t field = 0;
    while (field < kFieldCount &&
           (std::strlen(kNames[field]) != name_length || std::memcmp(kNames[field], text, name_length) != 0))
      ++field;
    if (field == kFieldCount) return false;
    const size_t value_length = length - name_length - 1;
    if (static_cast<Field>(field) == Field::kArch) {
      if (value_length == 0 || value_length >= sizeof corrections.arch) return false;
      std::memcpy(corrections.arch, equals + 1, value_length);
      corrections.arch[value_length] = '\0';
    } else {
      char* stop = nullptr;
      const unsigned long value = std::strtoul(equals + 1, &stop, 10);
      if (value_length == 0 || stop != equals + 1 + value_length || value == 0 || value > INT32_MAX)
        return false;
      corrections.number[field] = static_cast<uint32_t>(value);
    }
    corrections.has[field] = true;
    text += length + (end == nullptr ? 0 : 1);
  }
  return true;
}

void correct_properties(const Corrections& corrections, PropertyLayout layout, void* properties,
                        Report report) {
  const Offsets& at = kOffsets[static_cast<size_t>(layout)];
  const auto number = [&](Field field) { return corrections.number[static_cast<size_t>(field)]; };
  const auto has = [&](Field field) { return corrections.has[static_cast<size_t>(field)]; };
  if (has(Field::kMultiprocessors))
    put<uint32_t>(properties, at.multiprocessors, Field::kMultiprocessors, number(Field::kMultiprocessors), 1,
                  report);
  if (has(Field::kClockMhz))
    put<uint32_t>(properties, at.clock_khz, Field::kClockMhz, number(Field::kClockMhz), 1000, report);
  if (has(Field::kWaveSize))
    put<uint32_t>(properties, at.wave_size, Field::kWaveSize, number(Field::kWaveSize), 1, report);
  if (has(Field::kLdsBytes))
    put<uint64_t>(properties, at.lds_bytes, Field::kLdsBytes, number(Field::kLdsBytes), 1, report);
  if (has(Field::kArch) && at.arch != 0) {
    // Features behind the name, ":sramecc+:xnack-", are kept.
    char* name = static_cast<char*>(properties) + at.arch;
    char before[256];
    std::snprintf(before, sizeof before, "%.255s", name);
    const char* colon = std::strchr(before, ':');
    std::snprintf(name, sizeof before, "%s%.180s", corrections.arch, colon == nullptr ? "" : colon);
    if (report != nullptr && std::strcmp(before, name) != 0) report(Field::kArch, before, name);
  }
}

Field field_of_hip_attribute(int attribute) {
  switch (attribute) {
    case kHipMultiprocessors:
      return Field::kMultiprocessors;
    case kHipClockRate:
      return Field::kClockMhz;
    case kHipWarpSize:
      return Field::kWaveSize;
    case kHipSharedMemory:
      return Field::kLdsBytes;
    default:
      return Field::kCount;
  }
}

Field field_of_cuda_attribute(int attribute) {
  switch (attribute) {
    case kCudaMultiprocessors:
      return Field::kMultiprocessors;
    case kCudaClockRate:
      return Field::kClockMhz;
    case kCudaWarpSize:
      return Field::kWaveSize;
    case kCudaSharedMemory:
      return Field::kLdsBytes;
    default:
      return Field::kCount;
  }
}

void correct_attribute(const Corrections& corrections, Field field, int* value, Report report) {
  if (field >= Field::kArch || !corrections.has[static_cast<size_t>(field)]) return;
  const int unit = field == Field::kClockMhz ? 1000 : 1;
  const uint32_t right = corrections.number[static_cast<size_t>(field)];
  say(report, field, static_cast<unsigned long long>(*value / unit), right);
  *value = static_cast<int>(right) * unit;
}

}  // namespace wavetap::correct
