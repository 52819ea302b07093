// GPU faults as the runtime reports them. Our handler is one of several and leaves the event
// unhandled, so that the program's own, or the runtime's message and abort, follow as without us.
#include <cstdio>

#include "agent/hsa_facts.h"
#include "agent/hsa_hooks.h"
#include "agent/hsa_queue.h"
#include "agent/hsa_table.h"
#include "agent/probe_policy.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

const char* describe(const HsaEvent& event) {
  switch (event.type) {
    case kEventMemoryFault:
      if (event.reason & 1) return "memory fault: page not present";
      if (event.reason & 2) return "memory fault: write to a read-only page";
      if (event.reason & 4) return "memory fault: execution of a page without that right";
      if (event.reason & 8) return "memory fault: memory of the host only";
      return "memory fault";
    case kEventHardwareException: return "hardware exception";
    case kEventMemoryError: return "memory error";
    default: return nullptr;
  }
}

HsaStatus on_event(const void* data, void*) {
  const auto& event = *static_cast<const HsaEvent*>(data);
  const char* what = describe(event);
  if (what == nullptr) return kHsaError;
  const bool has_address = event.type == kEventMemoryFault || event.type == kEventMemoryError;
  const format::FaultFact fault{.header = {},
                                .time = ticks(),
                                .address = has_address ? event.address : 0,
                                .agent = agent_number(event.agent),
                                .reason = has_address ? event.reason : 0,
                                .queue = 0,
                                .reserved = 0};
  fact(fault, format::Kind::kFault, 0, {what});
  // The process is about to end: what has finished so far is worth knowing.
  Queue::harvest_all(true);
  drain_probes(/*faulted=*/true);
  return kHsaError;
}

}  // namespace

void watch_faults() {
  if (hsa().hsa_amd_register_system_event_handler != nullptr) {
    hsa().hsa_amd_register_system_event_handler(reinterpret_cast<void*>(&on_event), nullptr);
  }
}

}  // namespace wavetap::agent
