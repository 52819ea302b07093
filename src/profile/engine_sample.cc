#include "profile/engine_sample.h"

#include <string>

#include "emu/amd_counters.h"

namespace wavetap::profile {

void add_counters(const emu::Counters& counters, Sample& sample) {
#define WT_COUNTER(name, help) \
  if (counters.name != 0) sample.counters[#name] = static_cast<double>(counters.name);
#include "emu/counters.inc"
#undef WT_COUNTER
  emu::for_each_amd_counter(counters, [&](const char* name, uint64_t value, const char*) {
    if (value != 0) sample.counters[name] = static_cast<double>(value);
  });
}

void add_memory(const cachesim::MemoryResult& result, amd::GfxTarget target, Sample& sample) {
  const auto put = [&](const std::string& name, uint64_t value) {
    if (value != 0) sample.counters[name] = static_cast<double>(value);
  };
  cachesim::for_each_instruction_counter(
      result.instructions,
      [&](const char* name, uint64_t value, const char*) { put(name, value); });
  cachesim::for_each_memory_counter(result.memory,
                                    [&](const char* name, uint64_t value, const char*) {
                                      put(std::string("modelled.") + name, value);
                                    });
  cachesim::for_each_amd_memory_counter(
      target, result.memory,
      [&](const char* name, uint64_t value, const char*) { put(name, value); });
}

}  // namespace wavetap::profile
