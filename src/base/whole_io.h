// All of it or nothing: reads and writes that go on where the system stopped early, by straight system calls as
// base/sys_files.h makes them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "base/sys.h"

namespace wavetap::sys {

// False when the file ends before that many bytes, or cannot be read.
inline bool read_whole(int fd, void* to, size_t size_bytes) {
  auto* at = static_cast<char*>(to);
  while (size_bytes > 0) {
    const int64_t got = sys::read(fd, at, size_bytes);
    if (got == -EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size_bytes -= static_cast<size_t>(got);
  }
  return true;
}

// In one call where the system lets us. False when something was not written.
inline bool write_whole(int fd, const void* from, size_t size_bytes) {
  const auto* at = static_cast<const char*>(from);
  while (size_bytes > 0) {
    const int64_t put = sys::write(fd, at, size_bytes);
    if (put == -EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size_bytes -= static_cast<size_t>(put);
  }
  return true;
}
inline bool write_whole(int fd, std::string_view bytes) {
  return write_whole(fd, bytes.data(), bytes.size());
}

}  // namespace wavetap::sys
