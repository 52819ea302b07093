// The system calls the agent makes for itself (base/sys.h), and what only the agent needs of them.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/futex.h"
#include "base/sys.h"

namespace wavetap::record::sys {

using wavetap::sys::call;
using wavetap::sys::close;
using wavetap::sys::fstat;
using wavetap::sys::futex_wait;
using wavetap::sys::futex_wake;
using wavetap::sys::open;
using wavetap::sys::read;
using wavetap::sys::unmap;
using wavetap::sys::write;

inline int unlink(const char* path) {
  return static_cast<int>(call(SYS_unlinkat, AT_FDCWD, path, 0));
}
inline int rename(const char* from, const char* to) {
  return static_cast<int>(call(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
inline int make_directory(const char* path, mode_t mode) {
  return static_cast<int>(call(SYS_mkdirat, AT_FDCWD, path, mode));
}
// Null on failure.
inline char* map(size_t size, int protection, int flags, int fd) {
  return reinterpret_cast<char*>(wavetap::sys::map(nullptr, size, protection, flags, fd, 0));
}
inline int advise(void* at, size_t size, int advice) {
  return static_cast<int>(call(SYS_madvise, at, size, advice));
}
inline uint32_t pid() { return static_cast<uint32_t>(wavetap::sys::pid()); }
inline uint32_t tid() { return static_cast<uint32_t>(wavetap::sys::tid()); }

// The first bytes of a small file, zero-terminated; the number of bytes, or -errno.
inline int64_t read_file(const char* path, char* buffer, size_t size) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return fd;
  size_t used = 0;
  while (used + 1 < size) {
    const int64_t count = read(fd, buffer + used, size - 1 - used);
    if (count == -EINTR) continue;
    if (count <= 0) break;
    used += static_cast<size_t>(count);
  }
  buffer[used] = '\0';
  close(fd);
  return static_cast<int64_t>(used);
}

}  // namespace wavetap::record::sys
