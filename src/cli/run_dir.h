#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/scoped_fd.h"

namespace wavetap::cli {

// The folder a run shares with the library in the program: $TMPDIR/wavetap-<pid>-XXXXXX; without
// TMPDIR in memory (/dev/shm) where that has room and the files are small, else in /tmp. Removed when
// this object goes. Its owner holds a lock on the folder, which the kernel drops however the
// owner dies, so a folder left behind by a killed run is recognised and removed by the next one,
// unless a process of that run still lives: its virtual GPU is in there.
class RunDir {
 public:
  // Removes what dead runs left, then makes a fresh folder, readable by this user only.
  enum class Use : uint8_t { kAnyFiles, kSmallFiles };
  static Result<RunDir> create(Use use = Use::kAnyFiles);

  RunDir(RunDir&& other) noexcept : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  RunDir& operator=(RunDir&&) = delete;
  ~RunDir();

  const std::string& path() const { return path_; }
  // Leaves the folder to processes that go on using it.
  void keep() { path_.clear(); }

 private:
  RunDir(std::string path, ScopedFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  ScopedFd lock_;
};

}  // namespace wavetap::cli
