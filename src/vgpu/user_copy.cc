// The kernel does the checking: process_vm_readv(2) and process_vm_writev(2) on ourselves report
// EFAULT for addresses that are not there. Where a sandbox forbids the calls, the copy is made
// unchecked.
#include "vgpu/user_copy.h"

#include <sys/uio.h>

#include <atomic>
#include <cstring>

#include "base/sys_files.h"

namespace wavetap::vgpu {
namespace {

std::atomic<bool> g_checked{true};

// True when the kernel moved all bytes; *refused when it would not look at all.
bool transfer(long number, void* local, uint64_t remote, size_t size, bool* refused) {
  iovec mine{local, size};
  iovec theirs{reinterpret_cast<void*>(remote), size};
  const int64_t moved = sys::call(number, sys::pid(), &mine, 1ul, &theirs, 1ul, 0ul);
  *refused = moved == -ENOSYS || moved == -EPERM || moved == -ESRCH;
  return moved == static_cast<int64_t>(size);
}

bool checked_copy(long number, void* local, uint64_t remote, size_t size, bool* refused) {
  *refused = !g_checked.load(std::memory_order_relaxed);
  if (*refused) return false;
  const bool moved = transfer(number, local, remote, size, refused);
  if (*refused) g_checked.store(false, std::memory_order_relaxed);
  return moved;
}

}  // namespace

bool copy_from_user(void* to, uint64_t user_address, size_t size) noexcept {
  if (size == 0) return true;
  if (user_address == 0) return false;
  bool refused = false;
  if (checked_copy(SYS_process_vm_readv, to, user_address, size, &refused)) return true;
  if (!refused) return false;
  std::memcpy(to, reinterpret_cast<const void*>(user_address), size);
  return true;
}

bool copy_to_user(uint64_t user_address, const void* from, size_t size) noexcept {
  if (size == 0) return true;
  if (user_address == 0) return false;
  bool refused = false;
  if (checked_copy(SYS_process_vm_writev, const_cast<void*>(from), user_address, size, &refused))
    return true;
  if (!refused) return false;
  std::memcpy(reinterpret_cast<void*>(user_address), from, size);
  return true;
}

}  // namespace wavetap::vgpu
