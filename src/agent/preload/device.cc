// For libwavetap_correct.so, which looks these up by name.
#include "agent/device_figures.h"
#include "agent/recording.h"

#define WT_EXPORT extern "C" __attribute__((visibility("default")))

// What a program is told in place of the answer. See note_correction().
WT_EXPORT void wavetap_device_corrected(const char* layer, int device, const char* pci,
                                        const char* field, const char* before, const char* after) {
  wavetap::agent::note_correction(layer, device, pci, field, before, after);
}

// Calls this thread makes between +1 and -1 are not the program's and are not recorded.
WT_EXPORT void wavetap_aside(int change) {
  wavetap::record::t_thread.inside += static_cast<uint32_t>(change);
}

#undef WT_EXPORT
