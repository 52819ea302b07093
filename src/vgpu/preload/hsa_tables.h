// The tables of functions that ROCr hands to tools (OnLoad in hsa_sizes.cc), and putting ours into them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wavetap::vgpu::front {

// The head of each table; `size` is that of the whole table, pointers to functions follow.
struct TableVersion {
  uint32_t major;
  uint32_t size;
  uint32_t step;
  uint32_t reserved;
};
struct Tables {
  TableVersion version;
  TableVersion* core;
  TableVersion* amd_ext;
};

// Puts ours in the place of an entry, once. Of several runtimes in a process the first has it: the functions of one must not be
// called with what another made.
template <class Function>
void replace(TableVersion* table, size_t place, Function ours, std::atomic<Function>& real) {
  if (table->size < sizeof *table + (place + 1) * sizeof(void*)) return;
  Function& entry = reinterpret_cast<Function*>(table + 1)[place];
  if (entry == ours || entry == nullptr) return;
  Function before = nullptr;
  if (!real.compare_exchange_strong(before, entry, std::memory_order_acq_rel) && before != entry)
    return;
  entry = ours;
}
template <class Function>
Function next(const std::atomic<Function>& function) {
  return function.load(std::memory_order_acquire);
}

// Whoever waits for a signal sleeps (hsa_waits.cc).
void sleep_in_waits(TableVersion* core);

}  // namespace wavetap::vgpu::front
