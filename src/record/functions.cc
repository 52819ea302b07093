#include "record/functions.h"

#include <atomic>

#include "record/facts.h"

namespace wavetap::record {
namespace {

constexpr int kMaxFamilies = 8;
std::atomic<const FunctionFamily*> g_families[kMaxFamilies];

}  // namespace

void add_function_family(const FunctionFamily* family) {
  for (auto& slot : g_families) {
    const FunctionFamily* empty = nullptr;
    if (slot.compare_exchange_strong(empty, family, std::memory_order_release) || empty == family)
      return;
  }
}

const char* function_name(uint32_t number) {
  for (auto& slot : g_families) {
    const FunctionFamily* const family = slot.load(std::memory_order_acquire);
    if (family != nullptr && number >= family->first && number - family->first < family->count)
      return family->name(number - family->first);
  }
  return "?";
}

void write_function_fact(format::Api api, uint32_t number, uint32_t result_type, const char* name,
                         const char* layout) {
  format::FunctionFact function{};
  function.number = number;
  function.result_type = result_type;
  fact(function, format::Kind::kFunction, static_cast<uint8_t>(api), {name, layout});
}

}  // namespace wavetap::record
