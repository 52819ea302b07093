#include "base/scoped_fd.h"

#include "base/sys.h"

namespace wavetap {

ScopedFd::~ScopedFd() {
  if (fd_ >= 0) sys::close(fd_);
}

}  // namespace wavetap
