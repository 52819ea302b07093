// The hooks behind HSA's function tables, by what they watch. Each is called by OnLoad
// (hsa_load.cc) once the table is open, and takes its entries.
#pragma once

namespace wavetap::agent {

void install_queue_hooks();
void install_signal_hooks();
void install_memory_hooks();
void install_copy_hooks();
void install_executable_hooks();
void install_call_hooks();  // last: every function, around the others (`--hsa`)

void watch_faults();

}  // namespace wavetap::agent
