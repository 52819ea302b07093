// The CPU's counter of constant rate: CNTVCT_EL0, or a time stamp counter (TSC) that neither sleeps
// nor changes speed. It counts from boot on, the same for all cores and processes.
#pragma once

#include <cstdint>
#include <string_view>

namespace wavetap {

// Whether there is one. Asks the CPU and the system: not for a hot path.
bool has_constant_counter();

// Ticks in a second as the CPU or the hypervisor states it; 0: neither does. A statement, not a
// measurement: the true rate differs by some millionths, and by more where firmware is wrong.
uint64_t stated_counter_hz();

// Only where there is one.
inline uint64_t read_counter() {
#if defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#elif defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

// ---- what x86 makes of it, apart from the CPU at hand so that it can be tested -----------------

struct CpuidLeaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Leaf 0x15 (crystal and ratio), else the hypervisor's leaf 0x40000010 (kHz). Leaf 0x16 is a name
// plate in MHz, not the counter's rate, and is not used.
uint64_t tsc_hz(const CpuidLeaf& crystal, const CpuidLeaf& hypervisor);

// The kernel compares the TSC with other clocks and moves away from one that proves unsteady, which
// the CPU's own word ("invariant") does not tell. `clocksource` is what the kernel uses now, "" when
// it does not say.
bool is_steady_by_kernel(std::string_view clocksource);

}  // namespace wavetap
