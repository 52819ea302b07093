// Libraries that look among their own dependencies before they look here (RTLD_DEEPBIND): they call
// HIP, hipRTC and roctx past us.
#pragma once

#include <cstdint>

namespace wavetap::agent {

// The program opens a library so. Called before it is loaded.
void note_deepbind_library(const char* name);
bool has_deepbind_libraries();

// Whether the image that begins at this address came with such a library and reaches a provider past
// us.
bool bypasses_us(uintptr_t image_begin);

}  // namespace wavetap::agent
