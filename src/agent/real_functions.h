// Finding the function behind one of our symbols.
//
// There may be several libraries of one name in a process: a Python wheel brings its own libamdhip64, opened
// RTLD_LOCAL, besides the system's. All their users bind to our symbol, because a preloaded library comes first,
// so the right library must be found per caller: the one that the caller's own dependencies lead to. With one
// library loaded, which is nearly always so, the caller does not matter and the answer can be kept.
#pragma once

#include <cstdint>

namespace wavetap::agent {

// Whose functions they are.
enum class Provider : uint8_t { kHip, kHiprtc, kRoctx };

struct RealFunction {
  void* function = nullptr;  // null: no loaded library has it
  bool for_everyone = false; // the same for every caller, as long as no library is loaded or unloaded
};

// Thread-safe. `caller`: an address in the code that calls.
RealFunction find_real(const char* symbol, Provider provider, const void* caller);

// True when `address` lies in a library of that provider.
bool is_in_provider(Provider provider, const void* address);

// The definition that a symbol of ours hides: the first behind this library in the loader's order.
void* find_next(const char* symbol);

// Number of changes to what is loaded or bound that we know of: what find_real() said under an older number may
// be outdated.
uint64_t binding_epoch();
void count_binding();

}  // namespace wavetap::agent
