// Calls of HIP that the virtual GPU is told of, for what it cannot see itself: small copies that the runtime makes with loads
// and stores of its own, and what its pools (hipMallocAsync) hand out and take back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::agent {

// Around the call, on its thread. The number that the first one gives is for the second; 0: nobody wants to know.
uint64_t host_copy_began();
void host_copied(uint64_t number, const void* to, const void* from, size_t bytes);

// Whether there is a virtual GPU with a tool that wants to be told of pools: else their calls cost nothing and ask nothing of the runtime.
bool is_told_of_pools();
// After memory was handed out, and before it is given back. Nothing happens to an address that was not handed out.
void pool_block_began(const void* address, size_t bytes);
void pool_block_ended(const void* address);

}  // namespace wavetap::agent
