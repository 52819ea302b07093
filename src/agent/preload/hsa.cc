// The HSA runtime loads the library named by HSA_TOOLS_LIB and calls OnLoad with its tables of
// functions, every time it is initialised, and OnUnload when it is shut down.
#include "agent/hsa_load.h"

using namespace wavetap;

extern "C" {

__attribute__((visibility("default"))) bool OnLoad(void* tables, uint64_t, uint64_t,
                                                   const char* const*) {
  agent::on_hsa_load(static_cast<const agent::HsaTables*>(tables));
  return true;
}

__attribute__((visibility("default"))) void OnUnload() { agent::on_hsa_unload(); }
}
