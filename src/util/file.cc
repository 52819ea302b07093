#include "util/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/scoped_fd.h"
#include "util/text.h"

namespace wavetap::util {

Result<std::vector<std::byte>> read_file(const std::string& path) {
  const ScopedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return errorf("%s: %s; check the path", path.c_str(), std::strerror(errno));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return errorf("%s: %s", path.c_str(), std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return errorf("%s: is a directory; name a file", path.c_str());

  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(info.st_size) + 1);
  std::byte buffer[65536];
  while (true) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errorf("%s: %s", path.c_str(), std::strerror(errno));
    if (got == 0) return bytes;
    bytes.insert(bytes.end(), buffer, buffer + got);
  }
}

bool is_special(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Status write_file(const std::string& path, std::string_view content) {
  const bool in_place = is_special(path);
  const std::string temporary = in_place ? path : fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wbe");
  if (file == nullptr)
    return errorf("%s: %s; choose a writable place", path.c_str(), std::strerror(errno));
  const bool written =
      content.empty() || std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed && (in_place || std::rename(temporary.c_str(), path.c_str()) == 0))
    return {};
  const int reason = errno;
  if (!in_place) unlink(temporary.c_str());
  const bool is_full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return errorf("%s: %s; %s", path.c_str(), std::strerror(reason),
                is_full ? "free some space or choose another place" : "choose a writable place");
}

Status check_writable(const std::string& path) {
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return errorf("%s: is a folder; name a file", path.c_str());
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const bool can = exists && !S_ISREG(info.st_mode) ? access(path.c_str(), W_OK) == 0
                                                    : access(folder.c_str(), W_OK | X_OK) == 0;
  if (can) return {};
  return errorf("%s: %s; choose a writable place", path.c_str(), std::strerror(errno));
}

std::string find_program(const std::string& name) {
  const auto is_program = [](const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* path = std::getenv("PATH");
  for (const std::string& folder :
       split(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_program(candidate)) return candidate;
  }
  return "";
}

std::string cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder = cache != nullptr && *cache == '/' ? cache
                       : home != nullptr && *home == '/' ? std::string(home) + "/.cache"
                                                         : "";
  if (folder.empty()) return "";
  mkdir(folder.c_str(), 0700);
  folder += "/wavetap";
  mkdir(folder.c_str(), 0700);
  return folder;
}

std::string executable_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return ".";
  const std::string_view whole(path, static_cast<size_t>(length));
  return std::string(whole.substr(0, whole.rfind('/')));
}

}  // namespace wavetap::util
