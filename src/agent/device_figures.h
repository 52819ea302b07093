// What the layers say of each GPU, as facts for comparison offline: the driver's files, HSA, HIP,
// and the variables that change their answers. Nothing is initialised for it that the program has
// not initialised itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/recording.h"
#include "amd/hip_properties.h"
#include "format/record.h"

namespace wavetap::agent {

// When the HSA runtime is there. The driver's files are read anew each time.
void write_driver_figures();
void write_hsa_figures(const format::AgentFact& agent, uint64_t lds_bytes, uint64_t l2_bytes);

// The program asked HIP and this is the answer. The first answer for each device is kept.
void note_hip_figures(const amd::HipPropertiesLayout& layout, const void* properties, int device);

// HIP was called by the program, other than to register kernels.
extern std::atomic<bool> g_hip_was_called WT_HIDDEN;
// A queue is being made. When HIP was called by then, HIP is up, and the helper thread asks it
// about devices the program has not asked about: one call per device that reads what HIP keeps.
void want_hip_figures();

// A figure was corrected on its way to the program (libwavetap_correct.so). `layer` is "hip" or
// "cuda", `pci` as in "0000:03:00.0".
void note_correction(const char* layer, int device, const char* pci, const char* field,
                     const char* before, const char* after);

}  // namespace wavetap::agent
