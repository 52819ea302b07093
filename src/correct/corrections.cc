#include "correct/corrections.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace wavetap::correct {
namespace {

constexpr const char* kNames[kFieldCount] = {"multiprocessors", "clock-mhz", "wave-size",
                                             "lds-bytes", "arch"};
constexpr const char* kTraceNames[kFieldCount] = {"multiprocessors", "clock_mhz", "wave_size",
                                                  "lds_bytes", "arch"};

// hipDeviceAttribute_t, the same numbers since HIP 5; CUdevice_attribute.
constexpr int kHipClockRate = 5, kHipMultiprocessors = 63, kHipWarpSize = 87, kHipSharedMemory = 74;
constexpr int kCudaSharedMemory = 8, kCudaWarpSize = 10, kCudaClockRate = 13,
              kCudaMultiprocessors = 16;

void say(const Report& report, Field field, unsigned long long before, unsigned long long after) {
  if (report.function == nullptr || before == after) return;
  char old_text[32], new_text[32];
  std::snprintf(old_text, sizeof old_text, "%llu", before);
  std::snprintf(new_text, sizeof new_text, "%llu", after);
  report.function(report.context, field, old_text, new_text);
}

template <class T>
void put(void* properties, size_t offset, Field field, T value, T unit, const Report& report) {
  T before;
  std::memcpy(&before, static_cast<char*>(properties) + offset, sizeof before);
  const T after = value * unit;
  std::memcpy(static_cast<char*>(properties) + offset, &after, sizeof after);
  say(report, field, static_cast<unsigned long long>(before / unit),
      static_cast<unsigned long long>(value));
}

}  // namespace

const char* field_name(Field field) {
  return field < Field::kCount ? kNames[static_cast<size_t>(field)] : "";
}

const char* trace_name(Field field) {
  return field < Field::kCount ? kTraceNames[static_cast<size_t>(field)] : "";
}

bool Corrections::any() const {
  for (const bool one : has) {
    if (one) return true;
  }
  return false;
}

const Corrections& CorrectionTable::find(const char* pci) const {
  static constexpr Corrections kNone;
  const Corrections* everywhere = &kNone;
  for (size_t i = 0; i < count; ++i) {
    if (sets[i].pci[0] == '\0') everywhere = &sets[i].corrections;
    else if (std::strcmp(sets[i].pci, pci) == 0) return sets[i].corrections;
  }
  return pci[0] == '\0' && count == 1 ? sets[0].corrections : *everywhere;
}

namespace {

bool parse_set(const char* text, const char* stop, Corrections& corrections) {
  while (text < stop) {
    const char* comma =
        static_cast<const char*>(std::memchr(text, ',', static_cast<size_t>(stop - text)));
    const char* const end = comma == nullptr ? stop : comma;
    const char* const equals =
        static_cast<const char*>(std::memchr(text, '=', static_cast<size_t>(end - text)));
    if (equals == nullptr) return false;
    const size_t name_length = static_cast<size_t>(equals - text);
    size_t field = 0;
    while (field < kFieldCount && (std::strlen(kNames[field]) != name_length ||
                                   std::memcmp(kNames[field], text, name_length) != 0))
      ++field;
    if (field == kFieldCount) return false;
    const size_t value_length = static_cast<size_t>(end - equals) - 1;
    if (static_cast<Field>(field) == Field::kArch) {
      if (value_length == 0 || value_length >= sizeof corrections.arch) return false;
      std::memcpy(corrections.arch, equals + 1, value_length);
      corrections.arch[value_length] = '\0';
    } else {
      char* after = nullptr;
      const unsigned long value = std::strtoul(equals + 1, &after, 10);
      if (value_length == 0 || after != end || value == 0 || value > INT32_MAX) return false;
      corrections.number[field] = static_cast<uint32_t>(value);
    }
    corrections.has[field] = true;
    text = comma == nullptr ? stop : comma + 1;
  }
  return true;
}

}  // namespace

bool parse_corrections(const char* text, Corrections& corrections) {
  return text == nullptr || parse_set(text, text + std::strlen(text), corrections);
}

bool parse_corrections(const char* text, CorrectionTable& table) {
  while (text != nullptr && *text != '\0') {
    if (table.count == CorrectionTable::kMaxSets) return false;
    CorrectionTable::Set& set = table.sets[table.count++];
    const char* const semicolon = std::strchr(text, ';');
    const char* const stop = semicolon == nullptr ? text + std::strlen(text) : semicolon;
    if (*text == '@') {
      const char* const space =
          static_cast<const char*>(std::memchr(text, ' ', static_cast<size_t>(stop - text)));
      const size_t length = space == nullptr ? 0 : static_cast<size_t>(space - text) - 1;
      if (length == 0 || length >= sizeof set.pci) return false;
      std::memcpy(set.pci, text + 1, length);
      text = space + 1;
    }
    if (!parse_set(text, stop, set.corrections)) return false;
    text = semicolon == nullptr ? stop : semicolon + 1;
  }
  return true;
}

void correct_properties(const Corrections& corrections, const amd::HipPropertiesLayout& at,
                        void* properties, const Report& report) {
  const auto number = [&](Field field) { return corrections.number[static_cast<size_t>(field)]; };
  const auto has = [&](Field field) { return corrections.has[static_cast<size_t>(field)]; };
  if (has(Field::kMultiprocessors))
    put<uint32_t>(properties, at.multiprocessors, Field::kMultiprocessors,
                  number(Field::kMultiprocessors), 1, report);
  if (has(Field::kClockMhz))
    put<uint32_t>(properties, at.clock_khz, Field::kClockMhz, number(Field::kClockMhz), 1000,
                  report);
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
    if (report.function != nullptr && std::strcmp(before, name) != 0)
      report.function(report.context, Field::kArch, before, name);
  }
}

Field field_of_hip_attribute(int attribute) {
  switch (attribute) {
    case kHipMultiprocessors: return Field::kMultiprocessors;
    case kHipClockRate: return Field::kClockMhz;
    case kHipWarpSize: return Field::kWaveSize;
    case kHipSharedMemory: return Field::kLdsBytes;
    default: return Field::kCount;
  }
}

Field field_of_cuda_attribute(int attribute) {
  switch (attribute) {
    case kCudaMultiprocessors: return Field::kMultiprocessors;
    case kCudaClockRate: return Field::kClockMhz;
    case kCudaWarpSize: return Field::kWaveSize;
    case kCudaSharedMemory: return Field::kLdsBytes;
    default: return Field::kCount;
  }
}

void correct_attribute(const Corrections& corrections, Field field, int* value,
                       const Report& report) {
  if (field >= Field::kArch || !corrections.has[static_cast<size_t>(field)]) return;
  const int unit = field == Field::kClockMhz ? 1000 : 1;
  const uint32_t right = corrections.number[static_cast<size_t>(field)];
  say(report, field, static_cast<unsigned long long>(*value / unit), right);
  *value = static_cast<int>(right) * unit;
}

}  // namespace wavetap::correct
