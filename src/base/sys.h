// System calls that code inside other people's processes makes for itself. They go straight to the
// kernel: the libc names may be interposed (libwavetap_gpu.so does it), and the program's errno
// must stay what it was. Each returns the call's result, or -errno.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wavetap::sys {

// syscall() reads whole registers: of a narrower argument only the low half is defined, on the
// stack most of all.
template <class Arg>
inline long register_of(Arg arg) {
  if constexpr (std::is_null_pointer_v<Arg>) {
    return 0;
  } else if constexpr (std::is_pointer_v<Arg>) {
    return reinterpret_cast<long>(arg);
  } else {
    return static_cast<long>(arg);
  }
}

template <class... Args>
inline int64_t call(long number, Args... args) {
  const int saved = errno;
  const long result = ::syscall(number, register_of(args)...);
  if (result != -1) return result;
  const int error = errno;
  errno = saved;
  return -static_cast<int64_t>(error);
}

inline int open(const char* path, int flags, mode_t mode = 0) {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}
inline int close(int fd) { return static_cast<int>(call(SYS_close, fd)); }
inline int fstat(int fd, struct stat* st) { return static_cast<int>(call(SYS_fstat, fd, st)); }
inline int64_t read(int fd, void* buffer, size_t size) { return call(SYS_read, fd, buffer, size); }
inline int64_t write(int fd, const void* buffer, size_t size) {
  return call(SYS_write, fd, buffer, size);
}
// Null on failure.
inline std::byte* map(void* at, size_t size, int protection, int flags, int fd, uint64_t offset) {
  const int64_t result = call(SYS_mmap, at, size, protection, flags, fd, offset);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<std::byte*>(result);
}
inline void unmap(void* at, size_t size) { call(SYS_munmap, at, size); }
inline int pid() { return static_cast<int>(call(SYS_getpid)); }
inline int tid() { return static_cast<int>(call(SYS_gettid)); }

}  // namespace wavetap::sys
