#include "base/cpu_counter.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/sys.h"

namespace wavetap {

uint64_t tsc_hz(const CpuidLeaf& crystal, const CpuidLeaf& hypervisor) {
  if (crystal.eax != 0 && crystal.ebx != 0 && crystal.ecx != 0)
    return uint64_t{crystal.ecx} * crystal.ebx / crystal.eax;
  return uint64_t{hypervisor.eax} * 1000;
}

bool is_steady_by_kernel(std::string_view clocksource) {
  // Clocks the kernel falls back to when it distrusts the TSC.
  for (const std::string_view other : {"hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit"})
    if (clocksource == other) return false;
  return true;
}

#if defined(__aarch64__)

bool has_constant_counter() { return true; }

uint64_t stated_counter_hz() {
  uint64_t hz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz;
}

#elif defined(__x86_64__)

namespace {

CpuidLeaf leaf_of(uint32_t number, uint32_t highest) {
  CpuidLeaf leaf;
  if (number <= highest) __cpuid_count(number, 0, leaf.eax, leaf.ebx, leaf.ecx, leaf.edx);
  return leaf;
}

std::string_view clocksource(char* buffer, size_t size) {
  const int fd =
      sys::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY);
  if (fd < 0) return {};
  const int64_t count = sys::read(fd, buffer, size);
  sys::close(fd);
  std::string_view text(buffer, count > 0 ? static_cast<size_t>(count) : 0);
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return text;
}

}  // namespace

bool has_constant_counter() {
  constexpr uint32_t kPower = 0x80000007u;
  const bool invariant =
      (leaf_of(kPower, __get_cpuid_max(0x80000000u, nullptr)).edx & (1u << 8)) != 0;
  char buffer[64];
  return invariant && is_steady_by_kernel(clocksource(buffer, sizeof buffer));
}

uint64_t stated_counter_hz() {
  const uint32_t highest = __get_cpuid_max(0, nullptr);
  const bool virtualised = (leaf_of(1, highest).ecx & (1u << 31)) != 0;
  uint32_t highest_virtual = 0;
  if (virtualised) highest_virtual = leaf_of(0x40000000u, UINT32_MAX).eax;
  return tsc_hz(leaf_of(0x15, highest), leaf_of(0x40000010u, highest_virtual));
}

#else

bool has_constant_counter() { return false; }
uint64_t stated_counter_hz() { return 0; }

#endif

}  // namespace wavetap
