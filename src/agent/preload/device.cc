// For libwavetap_correct.so, which looks the function up by name.
#include "agent/device_figures.h"

extern "C" __attribute__((visibility("default"))) void wavetap_device_corrected(const char* layer, int device,
                                                                                const char* pci, const char* field,
                                                                                const char* before, const char* after) {
  wavetap::agent::note_correction(layer, device, pci, field, before, after);
}
