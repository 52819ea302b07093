// A lock on a file, that a folder is used by one process at a time. It is a process's own: processes that
// it makes do not have it, and it ends with the process, however that ends.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/scoped_fd.h"

namespace wavetap::util {

// Makes the file where it is not there. Nothing: another process has the lock.
Result<std::optional<ScopedFd>> lock_file(const std::string& path);
// Whether another process has it; makes nothing, and needs no right to write.
bool is_locked_file(const std::string& path);

}  // namespace wavetap::util
