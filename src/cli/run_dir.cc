#include "cli/run_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "cli/live_process.h"
#include "vgpu/run_directory.h"

namespace wavetap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "wavetap-";
constexpr std::string_view kUnique = "XXXXXX";  // mkdtemp() puts letters and digits here
// A folder is made before it can be locked; one younger than this may be in between.
constexpr time_t kNewbornSeconds = 10;

// A file system in memory: making the some two hundred files of a virtual GPU takes milliseconds
// there, and up to half a second on a busy disk. Containers may have little room in it.
constexpr const char* kMemoryFolder = "/dev/shm";
constexpr uint64_t kMemoryRoomBytes = 16 << 20;

bool has_memory_folder() {
  struct statfs info {};
  return access(kMemoryFolder, W_OK | X_OK) == 0 && statfs(kMemoryFolder, &info) == 0 &&
         info.f_type == TMPFS_MAGIC &&
         static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_bsize) >=
             kMemoryRoomBytes;
}

std::string temporary_folder(RunDir::Use use) {
  const char* folder = std::getenv("TMPDIR");
  std::error_code ignored;
  if (folder != nullptr && *folder != '\0')
    return fs::absolute(folder, ignored).lexically_normal();  // the program may go elsewhere
  return use == RunDir::Use::kSmallFiles && has_memory_folder() ? kMemoryFolder : "/tmp";
}

ScopedFd open_locked(const std::string& path) {
  ScopedFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return ScopedFd();
  return fd;
}

// wavetap-<pid>-XXXXXX. People keep their own things in folders called wavetap-something.
bool is_name_of_run(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  const size_t pid = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view rest = name.substr(pid);
  return pid > 0 && rest.size() == 1 + kUnique.size() && rest[0] == '-' &&
         std::all_of(rest.begin() + 1, rest.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

void sweep(const std::string& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (!is_name_of_run(entry.path().filename().string())) continue;
    struct stat info {};
    if (lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
        info.st_uid != getuid() || (info.st_mode & 07777) != S_IRWXU)
      continue;
    if (time(nullptr) - info.st_mtime < kNewbornSeconds) continue;
    const ScopedFd lock = open_locked(entry.path());
    if (lock.valid() && !vgpu::is_run_dir_held(entry.path()) &&
        processes_with(vgpu::kRunDirVariable, entry.path()).empty())
      fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Result<RunDir> RunDir::create(Use use) {
  const std::string folder = temporary_folder(use);
  sweep(folder);
  std::string path = fmt::format("{}/{}{}-{}", folder, kPrefix, getpid(), kUnique);
  if (mkdtemp(path.data()) == nullptr) {
    return errorf("%s: cannot make a folder: %s; set TMPDIR to a writable one", folder.c_str(),
                  std::strerror(errno));
  }
  return RunDir(path, open_locked(path));
}

RunDir::~RunDir() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace wavetap::cli
