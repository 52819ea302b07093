#include "cli/shared_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

#include "store/append.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr off_t kMembers = 0;
constexpr off_t kMutex = 1;
constexpr char kGenerationTag[] = "generation";
constexpr char kAppendWord[] = " append";

// Locks of the open file, not of the process: nothing that closes another descriptor drops them.
int lock_byte(int fd, off_t byte, short type, bool wait) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  int result;
  do {
    result = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result;
}

bool others_hold(int fd, off_t byte) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

class ByteLocked {
 public:
  ByteLocked(int fd, off_t byte) : fd_(fd), byte_(byte) {
    held_ = lock_byte(fd_, byte_, F_WRLCK, true) == 0;
  }
  ~ByteLocked() {
    if (held_) lock_byte(fd_, byte_, F_UNLCK, false);
  }
  ByteLocked(const ByteLocked&) = delete;
  ByteLocked& operator=(const ByteLocked&) = delete;
  bool held() const { return held_; }

 private:
  int fd_;
  off_t byte_;
  bool held_ = false;
};

bool is_the_file(int fd, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

std::string read_all(int fd) {
  char text[256];
  const ssize_t count = pread(fd, text, sizeof text, 0);
  return std::string(text, count > 0 ? static_cast<size_t>(count) : 0);
}

// The old text goes last: where there is no room for the new one, the file stays as it was.
bool write_all(int fd, const std::string& text) {
  return pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         ftruncate(fd, static_cast<off_t>(text.size())) == 0;
}

std::string random_word() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}", source(), source());
}

}  // namespace

SharedOutput SharedOutput::join(const std::string& path, bool append) {
  SharedOutput output(path, append);
  if (!output.open_lock()) {
    output.problem_ = fmt::format(
        "{}: cannot be locked: {}; a run into the same file at the same time would replace this "
        "one",
        util::escape_control(output.lock_path()), std::strerror(errno));
    output.lock_ = ScopedFd();
  }
  return output;
}

bool SharedOutput::open_lock() {
  for (;;) {
    lock_ = ScopedFd(open(lock_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!lock_.valid()) return false;
    const ByteLocked mutex(lock_.get(), kMutex);
    if (!mutex.held()) return false;
    // The last run of another generation has removed it meanwhile.
    if (!is_the_file(lock_.get(), lock_path())) continue;
    std::string text = others_hold(lock_.get(), kMembers) ? read_all(lock_.get()) : "";
    const bool fresh = text.empty();
    if (fresh) text = random_word();
    if (append_ && !text.ends_with(kAppendWord)) text += kAppendWord;
    if ((!(fresh || append_) || write_all(lock_.get(), text)) &&
        lock_byte(lock_.get(), kMembers, F_RDLCK, false) == 0) {
      generation_ = text.substr(0, text.find(' '));
      return true;
    }
    const int cause = errno;
    remove_unused_lock();
    errno = cause;
    return false;
  }
}

void SharedOutput::remove_unused_lock() {
  if (!others_hold(lock_.get(), kMembers) && is_the_file(lock_.get(), lock_path()))
    unlink(lock_path().c_str());
}

Result<Placed> SharedOutput::place(const std::string& staged) {
  const bool locked = lock_.valid();
  std::optional<ByteLocked> mutex;
  if (locked) mutex.emplace(lock_.get(), kMutex);
  const bool exists = access(path_.c_str(), F_OK) == 0;
  const bool append = append_ || (locked && read_all(lock_.get()).ends_with(kAppendWord));
  const bool ours =
      !generation_.empty() && store::metadata_of(path_, kGenerationTag) == generation_;
  if (exists && (append || ours)) {
    const Result<store::AppendResult> added = store::append_trace(path_, staged);
    if (!added.ok()) return added.error();
    return Placed{true, added->calls_before + added->ops_before};
  }
  if (!generation_.empty())
    if (Status s = store::set_metadata(staged, kGenerationTag, generation_); !s.ok())
      return s.error();
  if (std::rename(staged.c_str(), path_.c_str()) != 0)
    return errorf("%s: cannot be put in place: %s; name another file with -o", path_.c_str(),
                  std::strerror(errno));
  return Placed{};
}

void SharedOutput::leave() {
  if (!lock_.valid()) return;
  const ByteLocked mutex(lock_.get(), kMutex);
  lock_byte(lock_.get(), kMembers, F_UNLCK, false);
  if (mutex.held()) remove_unused_lock();
}

}  // namespace wavetap::cli
