#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "store/import_parts.h"

namespace wavetap::store {
namespace {

std::string describe(const HeldMemory& held) {
  return fmt::format("{} bytes of {} memory at {:#x}", held.bytes, memory_kind_name(held.kind),
                     held.address);
}

// Whose memory an address was in at that time, or which lies before it.
std::string owner_of(const std::vector<HeldMemory>& memory, uint64_t address, int64_t time) {
  // The youngest allocation that holds the address wins over one that was freed before it.
  const HeldMemory* best = nullptr;
  const HeldMemory* below = nullptr;
  for (const HeldMemory& held : memory) {
    if (held.start > time) continue;
    if (address >= held.address && address - held.address < held.bytes) {
      if (best == nullptr || held.start >= best->start) best = &held;
    } else if (held.address <= address && (below == nullptr || held.address > below->address) &&
               (held.end == 0 || held.end > time)) {
      below = &held;
    }
  }
  if (best != nullptr && best->end != 0 && best->end <= time)
    return fmt::format("inside {}, freed {:.3f} ms before", describe(*best),
                       static_cast<double>(time - best->end) / 1e6);
  if (best != nullptr)
    return fmt::format("inside {}, {} bytes from its start", describe(*best),
                       address - best->address);
  if (below != nullptr)
    return fmt::format("in no allocation; {} bytes past the end of {}",
                       address - below->address - below->bytes, describe(*below));
  return "in no allocation";
}

}  // namespace

void import_faults(ImportContext& import) {
  for (const RawFault& fault : import.facts.faults) {
    const int64_t time = import.ns(fault.fact.time);
    const std::string owner = owner_of(import.memory, fault.fact.address, time);
    import.writer.put(rows::FaultEvent{
        .pid = import.pid(),
        .time = time,
        .gpu = std::max<int64_t>(import.device_of_agent(fault.fact.agent), 0),
        .queue = fault.fact.queue == 0 ? std::nullopt
                                       : std::optional(import.lanes.of_queue(fault.fact.queue)),
        .address = fault.fact.address,
        .reason = fault.fact.reason,
        .what = fault.what,
        .owner = owner});
    ++import.result.faults;
  }
}

}  // namespace wavetap::store
