#include "agent/hsa_table.h"

#include <cstring>

#include "record/sys.h"

namespace wavetap::agent {
namespace {

constexpr uint16_t kCore = 0;

// Per function: the size of AMD's table when it came, or kCore.
constexpr uint16_t kEntries[] = {
#define WT_HSA_CORE(name, result, parameters, layout) kCore,
#define WT_HSA_AMD(entries, name, result, parameters, layout) entries,
#include "agent/hsa_api.inc"
#undef WT_HSA_CORE
#undef WT_HSA_AMD
};
static_assert(sizeof kEntries / sizeof kEntries[0] == kHsaFunctions);

size_t slots(const HsaTableVersion* table) {
  if (table == nullptr || table->size < sizeof(HsaTableVersion)) return 0;
  return (table->size - sizeof(HsaTableVersion)) / sizeof(void*);
}

void** first_slot(HsaTableVersion* table) { return reinterpret_cast<void**>(table + 1); }

}  // namespace

constinit HsaTable g_hsa_table{};

namespace {

// A child of fork() has none loaded, whatever it inherited.
constinit std::atomic<uint32_t> g_loaded_in{0};

}  // namespace

bool is_hsa_loaded() {
  const uint32_t pid = g_loaded_in.load(std::memory_order_acquire);
  return pid != 0 && pid == record::sys::pid();
}

void set_hsa_loaded(uint32_t pid) { g_loaded_in.store(pid, std::memory_order_release); }

void HsaTable::open(const HsaTables& tables) {
  const size_t core_slots = slots(tables.core);
  const size_t amd_slots = slots(tables.amd_ext);
  size_t core = 0;
  size_t amd = 0;
  for (size_t i = 0; i < kHsaFunctions; ++i) {
    void** entry = nullptr;
    if (kEntries[i] == kCore) {
      if (core < core_slots) entry = first_slot(tables.core) + core;
      ++core;
    } else if (kEntries[i] <= amd_slots) {
      entry = first_slot(tables.amd_ext) + amd;
      ++amd;
    }
    if (entry != nullptr && *entry == nullptr) entry = nullptr;
    entries_[i] = entry;
    void* const function = entry == nullptr ? nullptr : *entry;
    std::memcpy(reinterpret_cast<char*>(&next_) + i * sizeof(void*), &function, sizeof function);
  }
}

}  // namespace wavetap::agent
