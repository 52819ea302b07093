// What the exported OnLoad and OnUnload (preload/hsa.cc) do.
#pragma once

#include "agent/hsa_abi.h"

namespace wavetap::agent {

void on_hsa_load(const HsaTables* tables);
void on_hsa_unload();

// Whether this process loaded the runtime: a child of fork() inherits our queues and signals but
// not the memory behind them.
bool is_hsa_loaded();

}  // namespace wavetap::agent
