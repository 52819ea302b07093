#include "util/file_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace wavetap::util {
namespace {

struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

}  // namespace

Result<std::optional<ScopedFd>> lock_file(const std::string& path) {
  ScopedFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file.valid())
    return errorf("%s: cannot be made: %s; check its rights", path.c_str(), std::strerror(errno));
  const struct flock whole = whole_file();
  if (fcntl(file.get(), F_SETLK, &whole) == 0) return std::optional(std::move(file));
  if (errno == EACCES || errno == EAGAIN) return std::optional<ScopedFd>();
  return errorf("%s: cannot be locked: %s", path.c_str(), std::strerror(errno));
}

bool is_locked_file(const std::string& path) {
  const ScopedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct flock whole = whole_file();
  return file.valid() && fcntl(file.get(), F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

}  // namespace wavetap::util
