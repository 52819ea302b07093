// What the exported OnLoad and OnUnload (preload/hsa.cc) do.
#pragma once

#include "agent/hsa_abi.h"

namespace wavetap::agent {

void on_hsa_load(const HsaTables* tables);
void on_hsa_unload();

}  // namespace wavetap::agent
