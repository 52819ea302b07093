#include "base/scoped_fd.h"

#include <sys/syscall.h>

namespace wavetap {

ScopedFd::~ScopedFd() {
  if (fd_ >= 0) syscall(SYS_close, fd_);
}

}  // namespace wavetap
