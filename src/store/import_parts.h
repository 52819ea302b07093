// The parts of importing a process, in the order of import_process.cc (import_context.h lists them).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "store/import_context.h"

namespace wavetap::store {

// A call that gave the program memory, or took it back. Both succeeded.
struct MemoryCall {
  int64_t api = 0;  // id of the call
  int64_t start = 0, end = 0;
  uint64_t pointer = 0;
  uint64_t bytes = 0;     // asked for; 0 with `is_free`, or when the arguments do not say
  format::Owner owner{};  // the call, as records name it
  bool is_free = false;
  int64_t device = 0;  // where HIP would take it from; -1: the host
};

// Code objects and kernels; fills ImportContext::kernels.
void import_kernels(ImportContext& import);
// Gives operations of HIP's own threads to the calls that asked for them (queue_order.h).
void find_owners_by_order(ImportContext& import);
// Calls with what they launched and copied, in the order they began. Returns those that matter to
// import_memory(), in the same order.
std::vector<MemoryCall> import_calls(ImportContext& import,
                                     const std::function<void(double)>& progress);
void import_markers(ImportContext& import);
void import_operations(ImportContext& import);
// Kernels that ran as other code, and how often.
void import_swaps(ImportContext& import);
// What virtual GPUs counted of them.
void import_counters(ImportContext& import);
// Allocations; fills ImportContext::memory.
void import_memory(ImportContext& import, const std::vector<MemoryCall>& calls);
// Faults, with whose memory they were about.
void import_faults(ImportContext& import);
// The process, its threads, libraries, losses: everything that is not an event.
void import_facts(ImportContext& import);
void import_device_figures(ImportContext& import);
// What the process did past the recorder, as far as the rest gives it away.
void import_unseen(ImportContext& import);

}  // namespace wavetap::store
