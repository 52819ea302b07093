// HSA's function tables: where each entry lies in the table of the runtime at hand, what it held
// before us, and putting hooks in.
//
// The tables carry their own size, and an entry is touched only when the runtime's table has it.
// Entries were put into the middle of AMD's extension table twice in its life; hsa_api.inc says
// with which size each came, and that settles its place in a table of any size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/hsa_abi.h"

namespace wavetap::agent {

// Every function we know; null where the runtime has none.
struct Hsa {
#define WT_HSA_CORE(name, result, parameters, layout) result(*name) parameters;
#define WT_HSA_AMD(entries, name, result, parameters, layout) result(*name) parameters;
#include "agent/hsa_api.inc"
#undef WT_HSA_CORE
#undef WT_HSA_AMD
};
inline constexpr size_t kHsaFunctions = sizeof(Hsa) / sizeof(void*);

class HsaTable {
 public:
  // Finds the entries and notes what they hold as `next()`.
  void open(const HsaTables& tables);

  // Everything the hooks use is in place. A thread that comes from a hook sees it after
  // see_published(); the runtime orders the two as well, but by means of its own.
  void publish() { published_.store(true, std::memory_order_release); }
  void see_published() const { (void)published_.load(std::memory_order_acquire); }

  const Hsa& next() const {
    see_published();
    return next_;
  }

  template <class Function>
  void install(Function Hsa::*which, Function hook) {
    const size_t index = index_of(which);
    if (entries_[index] != nullptr) *entries_[index] = reinterpret_cast<void*>(hook);
  }

  // The entry with number `index` in Hsa's order; null when the runtime lacks it.
  void** entry(size_t index) const { return entries_[index]; }

  template <class Function>
  size_t index_of(Function Hsa::*which) const {
    const ptrdiff_t offset =
        reinterpret_cast<const char*>(&(next_.*which)) - reinterpret_cast<const char*>(&next_);
    return static_cast<size_t>(offset) / sizeof(void*);
  }

 private:
  Hsa next_{};
  void** entries_[kHsaFunctions]{};
  std::atomic<bool> published_{false};
};

extern HsaTable g_hsa_table;

// Whether this process loaded the runtime: a child of fork() inherits our queues and signals but
// not the memory behind them.
bool is_hsa_loaded();
// `pid`: the process whose runtime is loaded; 0: none.
void set_hsa_loaded(uint32_t pid);

// The functions below our hooks. Valid between OnLoad and OnUnload.
inline const Hsa& hsa() { return g_hsa_table.next(); }

}  // namespace wavetap::agent
