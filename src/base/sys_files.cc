#include "base/sys_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>

namespace wavetap::sys {
namespace {

// The kernel's record of getdents64(2).
struct DirectoryEntry {
  uint64_t inode;
  int64_t offset;
  uint16_t record_length;
  uint8_t type;
  char name[];
};

std::vector<std::string> names_of(int fd) {
  std::vector<std::string> names;
  alignas(DirectoryEntry) char buffer[4096];
  for (;;) {
    const int64_t count = call(SYS_getdents64, fd, buffer, sizeof buffer);
    if (count <= 0) break;
    for (int64_t at = 0; at < count;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      if (std::strcmp(entry->name, ".") != 0 && std::strcmp(entry->name, "..") != 0)
        names.emplace_back(entry->name);
      at += entry->record_length;
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

uint64_t page_size() {
  static const uint64_t size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

int set_file_size(int fd, uint64_t size) {
  // Our files are sparse memory, not what the limit is about: lift it for the moment where we may.
  struct rlimit limit {};
  call(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit);
  const bool limited = limit.rlim_cur < size;
  if (limited) {
    if (limit.rlim_max < size) return -EFBIG;
    const struct rlimit lifted { limit.rlim_max, limit.rlim_max };
    if (const int64_t result = call(SYS_prlimit64, 0, RLIMIT_FSIZE, &lifted, nullptr); result != 0)
      return static_cast<int>(result);
  }
  const int64_t result = call(SYS_ftruncate, fd, size);
  if (limited) call(SYS_prlimit64, 0, RLIMIT_FSIZE, &limit, nullptr);
  return static_cast<int>(result);
}

std::optional<std::string> read_file(const std::string& path, size_t limit) {
  const int fd = open(path.c_str(), O_RDONLY);
  if (fd < 0) return std::nullopt;
  std::string content;
  char buffer[4096];
  int64_t count = 0;
  while (content.size() < limit && (count = read(fd, buffer, sizeof buffer)) > 0)
    content.append(buffer, static_cast<size_t>(count));
  close(fd);
  if (count < 0) return std::nullopt;
  if (content.size() > limit) content.resize(limit);
  return content;
}

int make_directories(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    const int64_t result = call(SYS_mkdirat, AT_FDCWD, part.c_str(), 0755);
    if (result < 0 && result != -EEXIST) return static_cast<int>(-result);
    if (slash == std::string::npos) return 0;
  }
}

int write_file(const std::string& path, std::string_view content) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  int fd = open(path.c_str(), flags, 0644);
  if (fd == -ENOENT) {
    const int error = make_directories(path.substr(0, path.rfind('/')));
    if (error != 0) return error;
    fd = open(path.c_str(), flags, 0644);
  }
  if (fd < 0) return -fd;
  int error = 0;
  while (!content.empty() && error == 0) {
    const int64_t count = write(fd, content.data(), content.size());
    if (count < 0 && count != -EINTR) error = static_cast<int>(-count);
    if (count > 0) content.remove_prefix(static_cast<size_t>(count));
  }
  close(fd);
  return error;
}

int make_symlink(const std::string& target, const std::string& path) {
  int64_t result = call(SYS_symlinkat, target.c_str(), AT_FDCWD, path.c_str());
  if (result == -ENOENT) {
    const int error = make_directories(path.substr(0, path.rfind('/')));
    if (error != 0) return error;
    result = call(SYS_symlinkat, target.c_str(), AT_FDCWD, path.c_str());
  }
  return result < 0 ? static_cast<int>(-result) : 0;
}

std::vector<std::string> list_directory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return {};
  std::vector<std::string> names = names_of(fd);
  close(fd);
  return names;
}

void remove_tree(const std::string& path) {
  if (call(SYS_unlinkat, AT_FDCWD, path.c_str(), 0) == 0) return;
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd >= 0) {
    for (const std::string& name : names_of(fd)) remove_tree(path + "/" + name);
    close(fd);
  }
  call(SYS_unlinkat, AT_FDCWD, path.c_str(), AT_REMOVEDIR);
}

}  // namespace wavetap::sys
