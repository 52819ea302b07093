// Group 6: settings of the host that ROCm programs, capture and replay depend on. Advice, never an
// error.
#include <fmt/format.h>

#include "doctor/finding.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {

void check_host(const Machine& machine, Findings& findings) {
  const Root& root = machine.root;
  const size_t mark = findings.all().size();

  if (const auto huge = root.line("/sys/kernel/mm/transparent_hugepage/enabled");
      huge && huge->find("[never]") != std::string::npos) {
    findings.note("host.thp", "transparent huge pages are off")
        .saw("/sys/kernel/mm/transparent_hugepage/enabled", *huge)
        .because("Pinning and mapping large host buffers takes one entry per 4 KiB page.")
        .as_root("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
                 "echo never > /sys/kernel/mm/transparent_hugepage/enabled");
  }
  if (const auto balancing = root.number("/proc/sys/kernel/numa_balancing");
      balancing && *balancing != 0 && root.exists("/sys/devices/system/node/node1")) {
    findings.note("host.numa-balancing", "automatic NUMA balancing is on")
        .saw("/proc/sys/kernel/numa_balancing", std::to_string(*balancing))
        .because(
            "It unmaps pages to watch them; each time the GPU's mapping of host memory is rebuilt. "
            "AMD advises to switch it off on servers.")
        .as_root("sysctl kernel.numa_balancing=0", "sysctl kernel.numa_balancing=1");
  }
  if (const auto maps = root.number("/proc/sys/vm/max_map_count"); maps && *maps < 65530) {
    findings.note("host.max-map-count", fmt::format("a process may have {} mappings", *maps))
        .saw("/proc/sys/vm/max_map_count", std::to_string(*maps))
        .because("Every GPU allocation is at least one.")
        .as_root("sysctl vm.max_map_count=65530", fmt::format("sysctl vm.max_map_count={}", *maps));
  }
  if (const auto aslr = root.number("/proc/sys/kernel/randomize_va_space"); aslr && *aslr == 0) {
    findings.note("host.aslr", "address randomisation is off")
        .saw("/proc/sys/kernel/randomize_va_space", "0")
        .because("ROCm does not need that; it only makes the machine easier to attack.")
        .as_root("sysctl kernel.randomize_va_space=2", "sysctl kernel.randomize_va_space=0");
  }
  if (const auto pages = root.number("/proc/sys/vm/nr_hugepages"); pages && *pages != 0) {
    findings.note("host.hugepages", fmt::format("{} huge pages are set aside", *pages))
        .saw("/proc/sys/vm/nr_hugepages", std::to_string(*pages))
        .because("ROCm does not use them; the memory is missing elsewhere.")
        .as_root("sysctl vm.nr_hugepages=0", fmt::format("sysctl vm.nr_hugepages={}", *pages));
  }
  if (findings.all().size() == mark) {
    if (root.exists("/proc/sys/vm"))
      findings.ok("host", "memory settings are ordinary").saw("/proc/sys/vm", "readable");
    else
      findings.unknown("host", "the kernel's settings cannot be read")
          .saw("/proc/sys/vm", "not there");
  }
}

}  // namespace wavetap::doctor
