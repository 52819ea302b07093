// Calls of HIP that copy memory, for the virtual GPU's race detector: small copies the runtime makes with loads and stores of
// its own, which nobody else sees.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::agent {

// Around the call, on its thread. The number that the first one gives is for the second; 0: nobody wants to know.
uint64_t host_copy_began();
void host_copied(uint64_t number, const void* to, const void* from, size_t bytes);

}  // namespace wavetap::agent
