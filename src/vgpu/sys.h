// The system calls this folder makes on its own behalf. They go straight to the kernel: inside
// libwavetap_gpu.so the libc names (open, close, mmap, ...) are the interposed ones, and our own files
// must never come back to us. Each returns the call's result, or -errno.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::vgpu::sys {

// Linux returns errors of raw calls through errno in syscall(); fold them into the value.
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
inline int fstat(int fd, struct stat* st) { return static_cast<int>(call(SYS_fstat, fd, st)); }
inline int64_t read(int fd, void* buffer, size_t size) { return call(SYS_read, fd, buffer, size); }
inline int64_t write(int fd, const void* buffer, size_t size) { return call(SYS_write, fd, buffer, size); }
// Gives a fresh file its size. 0 or -errno; never raises SIGXFSZ, whatever `ulimit -f` says.
int set_file_size(int fd, uint64_t size);
// Duplicates onto the lowest free descriptor not below `at_least`, close-on-exec when asked.
inline int dup_above(int fd, int at_least, bool cloexec = true) {
  return static_cast<int>(call(SYS_fcntl, fd, cloexec ? F_DUPFD_CLOEXEC : F_DUPFD, at_least));
}
inline int memfd(const char* name) {
  return static_cast<int>(call(SYS_memfd_create, name, 1u /*MFD_CLOEXEC*/));
}
inline int punch_hole(int fd, uint64_t offset, uint64_t size) {
  return static_cast<int>(call(SYS_fallocate, fd, 3 /*KEEP_SIZE | PUNCH_HOLE*/, offset, size));
}
// Null on failure.
inline std::byte* map(void* at, size_t size, int protection, int flags, int fd, uint64_t offset) {
  const int64_t result = call(SYS_mmap, at, size, protection, flags, fd, offset);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<std::byte*>(result);
}
inline void unmap(void* at, size_t size) { call(SYS_munmap, at, size); }
inline int pid() { return static_cast<int>(call(SYS_getpid)); }

uint64_t page_size();

// The whole of a small file, or nothing. At most `limit` bytes.
std::optional<std::string> read_file(const std::string& path, size_t limit = 1 << 20);
// Creates missing parent directories. 0 or errno.
int write_file(const std::string& path, std::string_view content);
int make_directories(const std::string& path);
int make_symlink(const std::string& target, const std::string& path);
// Names in a directory except . and .., sorted.
std::vector<std::string> list_directory(const std::string& path);
// Removes the tree below and including `path`; symbolic links are removed, not followed.
void remove_tree(const std::string& path);

}  // namespace wavetap::vgpu::sys
