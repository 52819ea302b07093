// Interposed calls on descriptors: the device's ioctl and mmap, and calls that could destroy files
// we hold at numbers the program never opened.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "amd/drm_abi.h"
#include "amd/kfd_abi.h"
#include "base/sys_files.h"
#include "vgpu/own_fds.h"
#include "vgpu/preload/front.h"

namespace wavetap::vgpu::front {
namespace {

// Where reserved ranges are placed when the run asks for addresses below 2^47, or for guards: where the
// first of these has no room, in the second. The four terabytes below the first are the heap of
// AddressSanitizer on x86-64, which programs may have with them; ThreadSanitizer on arm64 takes all of it,
// and leaves the second.
struct PlacedRange {
  uint64_t begin;
  uint64_t end;
  constexpr uint64_t size() const { return end - begin; }
};
constexpr PlacedRange kPlaced[] = {{0x6400'0000'0000, 0x7e00'0000'0000},
                                   {0x0100'0000'0000, 0x0900'0000'0000}};
constexpr uint64_t kPlacedAlign = 0x20'0000;
// Between two allocations that are kept apart: further than most wrong indexes reach, and room for
// four hundred thousand allocations.
constexpr uint64_t kGuardBytes = 0x400'0000;
// What is skipped at most where a place is taken: by all doublings of the step.
constexpr uint64_t kMostSkipped = 0x10'0000'0000;
constexpr int kMostDoublings = 10;

int device_ioctl(int fd, unsigned long request, void* arg, bool* handled) {
  Driver* owner = nullptr;
  DeviceFile file;
  *handled = is_device(fd, &owner, &file);
  if (!*handled) return 0;
  // A descriptor inherited from the parent of a fork belongs to the parent's driver, as with the
  // real one.
  if (owner->pid() != sys::pid()) return fail(EBADF);
  const uint64_t user_args = reinterpret_cast<uint64_t>(arg);
  const uint32_t number = static_cast<uint32_t>(request);
  const int error = file.gpu == nullptr ? kfd_ioctl(*owner, number, user_args)
                                        : drm_ioctl(*owner, *file.gpu, number, user_args);
  return error == 0 ? 0 : fail(error);
}

void* raw_mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  const int64_t result = sys::call(SYS_mmap, at, length, protection, flags, fd, offset);
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(result);
}

void* device_mmap(Driver& device, void* at, size_t length, int protection, int flags,
                  uint64_t offset) {
  if (protection == PROT_NONE && !device.config().strict_cpu_access) {
    protection = PROT_READ | PROT_WRITE;
    flags = (flags & ~MAP_PRIVATE) | MAP_SHARED;
  }
  void* result = nullptr;
  const int error = device.store().cpu_map(at, length, protection, flags, offset, &result);
  if (error == 0) return result;
  errno = error;
  return MAP_FAILED;
}

// A reservation of address space with no place in mind, as the thunk makes.
bool is_reservation(const void* at, int protection, int flags) {
  return at == nullptr && protection == PROT_NONE &&
         (flags & (MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED)) == (MAP_ANONYMOUS | MAP_NORESERVE);
}

// The next place for a reservation, never given before; null, the kernel's choice, when all are used
// or the run asks for nothing special. The more places in a row were `taken`, the further away the next.
void* place_reservation(const Config& config, size_t length, int taken) {
  if (!config.low_va && !config.guard_allocations) return nullptr;
  static std::atomic<uint64_t> next{0};  // in all ranges, one behind the other
  const uint64_t gap = config.guard_allocations ? kGuardBytes : kPlacedAlign;
  const uint64_t step = ((length + kPlacedAlign - 1) & ~(kPlacedAlign - 1)) + gap;
  if (length > kPlaced[0].size()) return nullptr;
  const uint64_t skipped = std::min(step << std::min(taken, kMostDoublings), kMostSkipped);
  for (;;) {
    uint64_t offset = next.fetch_add(std::max(step, skipped), std::memory_order_relaxed);
    const PlacedRange* range = std::begin(kPlaced);
    while (range != std::end(kPlaced) && offset >= range->size()) offset -= (range++)->size();
    if (range == std::end(kPlaced)) return nullptr;
    if (range->size() - offset > step) return reinterpret_cast<void*>(range->begin + offset);
  }
}

// At the first such place where nothing is. Where the kernel chooses, ranges lie beside each other and freed
// addresses come back: overruns would hit a neighbour, and what is new would look written.
void* reserve(const Config& config, size_t length, int protection, int flags, int fd,
              off_t offset) {
  const int saved = errno;
  int taken = 0;
  while (void* const place = place_reservation(config, length, taken)) {
    void* const got = raw_mmap(place, length, protection, flags | MAP_FIXED_NOREPLACE, fd, offset);
    if (got == MAP_FAILED && errno != EEXIST) return got;
    errno = saved;
    if (got == place) return got;
    if (got != MAP_FAILED) sys::unmap(got, length);  // of a kernel that does not know the flag
    ++taken;
  }
  return raw_mmap(nullptr, length, protection, flags, fd, offset);
}

void* do_mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  // No ordinary file is mapped a terabyte out, so nothing else is asked about other mappings.
  if (fd >= 0 && static_cast<uint64_t>(offset) >= kFirstMmapOffset) {
    Driver* owner = nullptr;
    DeviceFile file;
    if (is_device(fd, &owner, &file) && file.gpu != nullptr && owner->pid() == sys::pid())
      return device_mmap(*owner, at, length, protection, flags, static_cast<uint64_t>(offset));
  }
  if (is_reservation(at, protection, flags)) {
    if (const Driver* device = running_driver())
      return reserve(device->config(), length, protection, flags, fd, offset);
  }
  return raw_mmap(at, length, protection, flags, fd, offset);
}

// Closes [first, last] around our own descriptors.
int close_around(unsigned first, unsigned last, int flags) {
  unsigned at = first;
  const unsigned lowest = static_cast<unsigned>(own_fds::lowest());
  const unsigned highest = static_cast<unsigned>(own_fds::highest());
  for (unsigned fd = std::max(first, lowest);
       own_fds::highest() >= 0 && fd <= std::min(last, highest); ++fd) {
    if (!own_fds::contains(static_cast<int>(fd))) continue;
    if (at < fd) {
      const int64_t result = sys::call(SYS_close_range, at, fd - 1, flags);
      if (result < 0) return fail(static_cast<int>(-result));
    }
    at = fd + 1;
  }
  if (at > last) return 0;
  const int64_t result = sys::call(SYS_close_range, at, last, flags);
  return result < 0 ? fail(static_cast<int>(-result)) : 0;
}

// The program wants a number we sit on.
bool make_room(int fd) {
  if (!own_fds::contains(fd)) return true;
  Driver* device = running_driver();
  if (device == nullptr) {
    // Inherited from the parent's driver, which this process does not use.
    own_fds::forget(fd);
    return true;
  }
  return device->vacate_fd(fd);
}

}  // namespace
}  // namespace wavetap::vgpu::front

using namespace wavetap::vgpu;         // NOLINT: the functions below are libc's
using namespace wavetap::vgpu::front;  // NOLINT
namespace sys = wavetap::sys;

WT_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list args;
  va_start(args, request);
  void* arg = va_arg(args, void*);
  va_end(args);
  const uint32_t type = (request >> 8) & 0xff;
  if (type == wavetap::amd::kKfdIoctlType || type == wavetap::amd::kDrmIoctlType) {
    bool handled = false;
    const int result = device_ioctl(fd, request, arg, &handled);
    if (handled) return result;
  }
  const int64_t result = sys::call(SYS_ioctl, fd, request, arg);
  return result < 0 ? fail(static_cast<int>(-result)) : static_cast<int>(result);
}

WT_EXPORT void* mmap(void* at, size_t length, int protection, int flags, int fd,
                     off_t offset) noexcept {
  return do_mmap(at, length, protection, flags, fd, offset);
}
WT_EXPORT void* mmap64(void* at, size_t length, int protection, int flags, int fd,
                       off64_t offset) noexcept {
  return do_mmap(at, length, protection, flags, fd, offset);
}

WT_EXPORT int munmap(void* at, size_t length) noexcept {
  if (Driver* device = running_driver_unless_idle())
    device->host_unmapped(reinterpret_cast<uint64_t>(at), length);
  const int64_t result = sys::call(SYS_munmap, at, length);
  return result < 0 ? fail(static_cast<int>(-result)) : 0;
}

WT_EXPORT int close(int fd) {
  if (own_fds::contains(fd)) return fail(EBADF);
  if (auto* next = WT_NEXT(close)) return next(fd);
  const int result = sys::close(fd);
  return result < 0 ? fail(-result) : 0;
}

WT_EXPORT int dup2(int from, int to) noexcept {
  if (own_fds::contains(from)) return fail(EBADF);
  if (from != to && !make_room(to)) return fail(EMFILE);
  // arm64 has no dup2; dup3 refuses equal numbers.
  const int64_t result =
      from == to ? sys::call(SYS_fcntl, from, F_GETFD) : sys::call(SYS_dup3, from, to, 0);
  if (result < 0) return fail(static_cast<int>(-result));
  return to;
}

WT_EXPORT int dup3(int from, int to, int flags) noexcept {
  if (own_fds::contains(from)) return fail(EBADF);
  if (!make_room(to)) return fail(EMFILE);
  const int64_t result = sys::call(SYS_dup3, from, to, flags);
  return result < 0 ? fail(static_cast<int>(-result)) : static_cast<int>(result);
}

WT_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (first > last) return fail(EINVAL);
  return close_around(first, last, flags);
}

WT_EXPORT void closefrom(int first) noexcept {
  close_around(static_cast<unsigned>(std::max(first, 0)), ~0u, 0);
}
