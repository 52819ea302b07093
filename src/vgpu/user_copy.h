// Copies between ioctl arguments and the caller's memory that fail instead of crashing: what
// copy_from_user() and copy_to_user() are to the kernel driver.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::vgpu {

// False when any byte is not readable (writable). `size` 0 always succeeds.
bool copy_from_user(void* to, uint64_t user_address, size_t size) noexcept;
bool copy_to_user(uint64_t user_address, const void* from, size_t size) noexcept;

}  // namespace wavetap::vgpu
