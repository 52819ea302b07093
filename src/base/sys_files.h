// Files as code inside other people's processes handles them: straight system calls (base/sys.h), no
// stream, no errno of the program's touched, no name that a library of ours interposes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys.h"

namespace wavetap::sys {

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

}  // namespace wavetap::sys
