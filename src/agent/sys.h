// The system calls the agent makes for itself. They go straight to the kernel: the libc names may be
// interposed (libwavetap_gpu.so does), and the program's errno must stay what it was. Each returns the
// call's result, or -errno.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wavetap::agent::sys {

template <class... Args>
inline int64_t call(long number, Args... args) {
  const int saved = errno;
  const long result = ::syscall(number, args...);
  if (result != -1) return result;
  const int error = errno;
  errno = saved;
  return -static_cast<int64_t>(error);
}

inline int open(const char* path, int flags, mode_t mode = 0) {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}
inline int close(int fd) { return static_cast<int>(call(SYS_close, fd)); }
inline int64_t read(int fd, void* buffer, size_t size) { return call(SYS_read, fd, buffer, size); }
inline int64_t write(int fd, const void* buffer, size_t size) { return call(SYS_write, fd, buffer, size); }
inline int fstat(int fd, struct stat* st) { return static_cast<int>(call(SYS_fstat, fd, st)); }
inline int unlink(const char* path) { return static_cast<int>(call(SYS_unlinkat, AT_FDCWD, path, 0)); }
inline int rename(const char* from, const char* to) {
  return static_cast<int>(call(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
inline int make_directory(const char* path, mode_t mode) {
  return static_cast<int>(call(SYS_mkdirat, AT_FDCWD, path, mode));
}
// Null on failure.
inline char* map(size_t size, int protection, int flags, int fd) {
  const int64_t result = call(SYS_mmap, nullptr, size, protection, flags, fd, 0);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<char*>(result);
}
inline void unmap(void* at, size_t size) { call(SYS_munmap, at, size); }
inline int advise(void* at, size_t size, int advice) { return static_cast<int>(call(SYS_madvise, at, size, advice)); }
inline uint32_t pid() { return static_cast<uint32_t>(call(SYS_getpid)); }
inline uint32_t tid() { return static_cast<uint32_t>(call(SYS_gettid)); }

// Sleeps while `word` is `value`, at most `timeout_ns` (0: for ever).
inline void futex_wait(const std::atomic<uint32_t>* word, uint32_t value, int64_t timeout_ns) {
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  call(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns == 0 ? nullptr : &timeout, nullptr, 0);
}
inline void futex_wake(const std::atomic<uint32_t>* word, int threads) {
  call(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

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

}  // namespace wavetap::agent::sys
