// Finding the function behind one of our symbols.
//
// There may be several libraries of one name in a process: a Python wheel brings its own
// libamdhip64, opened RTLD_LOCAL, besides the system's. All their users bind to our symbol, because
// a preloaded library comes first, so the right library must be found as the loader would have
// found it: the first that everybody can see (what the program was linked with, what was opened
// RTLD_GLOBAL), else the one that the caller's own dependencies lead to. With one library loaded,
// which is nearly always so, the caller does not matter and the answer can be kept.
#pragma once

#include <cstdint>

#include "agent/provider.h"

namespace wavetap::agent {

// ---- a function of a provider ------------------------------------------------------------------

struct RealFunction {
  void* function = nullptr;  // null: no loaded library has it
  // The same for every caller, as long as no library is loaded or unloaded.
  bool for_everyone = false;
};

// Thread-safe. `caller`: an address in the code that calls.
RealFunction find_real(const char* symbol, Provider provider, const void* caller);

// True when the caller's own dependencies lead to a library that has the function.
bool depends_on_real(const char* symbol, Provider provider, const void* caller);

// While the loader binds somebody to a symbol of ours: the real function for whoever that is, when
// several libraries have it and only one of them can be meant; null otherwise. A function that
// jumps to ours instead of calling it leaves no trace of itself, so the moment of binding is the
// better one to ask.
void* find_real_while_binding(const char* symbol, Provider provider);

// The program opens a library for everybody to see (RTLD_GLOBAL). Called before it is loaded.
void note_global_library(const char* name);

// ---- any function ------------------------------------------------------------------------------

// Who defines a symbol, this library excepted.
struct Definition {
  void* function = nullptr;  // null: nobody does
  // False: several do, and who gets which depends on the caller.
  bool is_unambiguous = false;
};
Definition find_definition(const char* symbol);

// The definition that a symbol of ours hides: the first behind this library in the loader's order, or
// the first of all when there is none, as for a library that came last.
void* find_next(const char* symbol);

// ---- when to ask again -------------------------------------------------------------------------

// Number of changes to what is loaded or bound that we know of: what find_real() said under an
// older number may be outdated.
extern uint64_t g_binding_epoch __attribute__((visibility("hidden")));
inline uint64_t binding_epoch() { return __atomic_load_n(&g_binding_epoch, __ATOMIC_SEQ_CST); }
// Always inlined: resolvers call it before any function of another file can be called.
[[gnu::always_inline]] inline void count_binding() {
  __atomic_fetch_add(&g_binding_epoch, 1, __ATOMIC_SEQ_CST);
}

}  // namespace wavetap::agent
