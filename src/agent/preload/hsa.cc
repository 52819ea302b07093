// The HSA runtime loads the library named by HSA_TOOLS_LIB and calls OnLoad with its tables of
// functions, every time it is initialised, and OnUnload when it is shut down. A virtual GPU in the same
// process asks where its dispatches come from, and its memory.
#include "agent/allocations.h"
#include "agent/hsa_load.h"
#include "agent/hsa_queue.h"
#include "agent/hsa_table.h"

using namespace wavetap;

extern "C" {

__attribute__((visibility("default"))) bool OnLoad(void* tables, uint64_t, uint64_t,
                                                   const char* const*) {
  agent::on_hsa_load(static_cast<const agent::HsaTables*>(tables));
  return true;
}

__attribute__((visibility("default"))) void OnUnload() { agent::on_hsa_unload(); }

// format::LaunchContextFunction
__attribute__((visibility("default"))) int wavetap_launch_context(uint64_t queue, uint64_t packet,
                                                                  format::LaunchContext* context) {
  return agent::is_hsa_loaded() && agent::Queue::launch_context(queue, packet, context) ? 1 : 0;
}

// format::HipAllocationsFunction
__attribute__((visibility("default"))) void wavetap_each_hip_allocation(
    format::HipAllocationVisitor visit, void* context) {
  agent::each_hip_allocation(visit, context);
}
}
