#include "cli/live_process.h"

#include <dirent.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/scoped_fd.h"
#include "format/session.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr int kPatienceMs = 5000;
constexpr int kConnectTries = 100;
constexpr useconds_t kConnectPauseUs = 20'000;

struct Stat {
  char state = '?';
  uint64_t start = 0;
};

std::optional<Stat> read_stat(uint32_t pid) {
  const Result<std::vector<std::byte>> bytes = util::read_file(fmt::format("/proc/{}/stat", pid));
  if (!bytes.ok()) return std::nullopt;
  const std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  // The second field is the program's name in parentheses and may hold anything.
  const size_t close = text.rfind(')');
  if (close == std::string::npos || close + 2 >= text.size()) return std::nullopt;
  const std::vector<std::string> fields =
      util::split(std::string_view(text).substr(close + 2), ' ');
  if (fields.size() < 20) return std::nullopt;
  return Stat{fields[0][0], std::strtoull(fields[19].c_str(), nullptr, 10)};
}

std::vector<std::string> socket_paths(uint32_t pid) {
  std::vector<std::string> paths;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    paths.push_back(fmt::format("{}/wavetap/{}{}", runtime, pid, format::kSocketSuffix));
  paths.push_back(fmt::format("/tmp/wavetap-{}/{}{}", geteuid(), pid, format::kSocketSuffix));
  return paths;
}

// The first socket of the process that can be connected to; an invalid descriptor and errno when
// there is none.
ScopedFd try_connect(uint32_t pid) {
  int reason = ENOENT;
  for (const std::string& path : socket_paths(pid)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) continue;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    // A socket of somebody else under our name is not one.
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode) || info.st_uid != geteuid())
      continue;
    ScopedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.valid() &&
        connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return fd;
    reason = errno;
  }
  errno = reason;
  return ScopedFd();
}

bool has_recorder(uint32_t pid) {
  const Result<std::vector<std::byte>> maps = util::read_file(fmt::format("/proc/{}/maps", pid));
  if (!maps.ok()) return false;
  return std::string_view(reinterpret_cast<const char*>(maps->data()), maps->size())
             .find("/libwavetap.so") != std::string_view::npos;
}

Result<ScopedFd> connect_to(uint32_t pid) {
  // The recorder of a program that has just begun opens its socket a moment after its first event.
  for (int tries = 0;; ++tries) {
    ScopedFd fd = try_connect(pid);
    if (fd.valid()) return fd;
    const int reason = errno;
    if (!read_stat(pid))
      return errorf("process %u: does not exist; see wavetap status without a number", pid);
    struct stat owner {};
    if (stat(fmt::format("/proc/{}", pid).c_str(), &owner) == 0 && owner.st_uid != geteuid())
      return errorf("process %u: belongs to another user; only its owner can control the recording",
                    pid);
    if (tries >= kConnectTries || !has_recorder(pid)) {
      if (const std::string problem = socket_folder_problem();
          !problem.empty() && has_recorder(pid))
        return errorf("process %u: its recorder cannot be reached: %s", pid, problem.c_str());
      return errorf("process %u: no recorder answers (%s); start the program with wavetap run", pid,
                    std::strerror(reason));
    }
    usleep(kConnectPauseUs);
  }
}

}  // namespace

bool is_running(format::ProcessId id) {
  // The top byte of the start time counts exec().
  const std::optional<Stat> stat = read_stat(id.pid);
  return stat && stat->state != 'Z' && stat->state != 'X' &&
         stat->start == (id.start & 0x00ff'ffff'ffff'ffff);
}

namespace {

std::string proc_text(const std::string& path) {
  const Result<std::vector<std::byte>> bytes = util::read_file("/proc/" + path);
  return bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
                    : std::string();
}

// The number given last to a process; the last word of a short file.
std::string newest_process() {
  const std::string text = proc_text("loadavg");
  return text.substr(text.rfind(' ') + 1);
}

// `wanted`: NAME=VALUE between two zero bytes; a variable that merely contains it is another one.
std::vector<Inheritor> look_for_variable(const std::string& wanted) {
  std::vector<Inheritor> found;
  DIR* listing = opendir("/proc");
  if (listing == nullptr) return found;
  while (const dirent* entry = readdir(listing)) {
    const Result<uint32_t> pid = parse_pid(entry->d_name);
    if (!pid.ok() || *pid == static_cast<uint32_t>(getpid())) continue;
    const std::string folder = std::to_string(*pid);
    const std::string environment = std::string(1, '\0') + proc_text(folder + "/environ");
    if (environment.find(wanted) == std::string::npos) continue;
    const std::optional<Stat> stat = read_stat(*pid);
    if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
    std::string name = proc_text(folder + "/comm");
    while (!name.empty() && name.back() == '\n') name.pop_back();
    found.push_back({*pid, name});
  }
  closedir(listing);
  return found;
}

}  // namespace

std::vector<Inheritor> processes_with(const std::string& name, const std::string& value) {
  const std::string zero(1, '\0');
  std::vector<Inheritor> found;
  // A process that forks and ends while the list is read is not in it, and its child neither.
  constexpr int kLooks = 8;
  for (int look = 0; look < kLooks && found.empty(); ++look) {
    const std::string newest = newest_process();
    found = look_for_variable(zero + name + "=" + value + zero);
    if (newest_process() == newest) break;
  }
  return found;
}

Result<Answer> ask(uint32_t pid, const std::string& request) {
  Result<ScopedFd> fd = connect_to(pid);
  if (!fd.ok()) return fd.error();
  const std::string line = request + "\n";
  if (send(fd->get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return errorf("process %u: the recorder hung up: %s", pid, std::strerror(errno));
  std::string text;
  char buffer[4096];
  while (true) {
    pollfd wait{fd->get(), POLLIN, 0};
    const int ready = poll(&wait, 1, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0)
      return errorf(
          "process %u: the recorder does not answer; the process may be stopped (SIGSTOP) or in a "
          "debugger",
          pid);
    const ssize_t got = read(fd->get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  Answer answer;
  for (const std::string& item : util::split(text, '\n')) {
    const size_t blank = item.find(' ');
    const std::string key = item.substr(0, blank),
                      rest = blank == std::string::npos ? "" : item.substr(blank + 1);
    if (key == "ok") return answer;
    if (key == "error") return errorf("process %u: %s", pid, rest.c_str());
    answer.emplace_back(key, rest);
  }
  return errorf("process %u: the recorder's answer was cut off; ask again", pid);
}

std::string value_of(const Answer& answer, const std::string& key) {
  for (const auto& [name, value] : answer)
    if (name == key) return value;
  return "";
}

std::string socket_folder_problem() {
  std::string problem;
  for (const std::string& path : socket_paths(0)) {
    const std::string folder = path.substr(0, path.rfind('/'));
    struct stat info {};
    if (lstat(folder.c_str(), &info) != 0) {
      // The first recorder makes it, where it can.
      if (access(folder.substr(0, folder.rfind('/')).c_str(), W_OK) == 0) return "";
      continue;
    }
    const char* what = !S_ISDIR(info.st_mode)       ? "is not a folder"
                       : info.st_uid != geteuid()   ? "belongs to another user"
                       : (info.st_mode & 0077) != 0 ? "is open to other users"
                                                    : nullptr;
    if (what == nullptr) return "";  // recorders use this one
    problem = fmt::format(
        "{} {}; remove it, or set XDG_RUNTIME_DIR to a folder of your own before "
        "the program starts",
        util::escape_control(folder), what);
  }
  return problem;
}

void remove_stale_socket(uint32_t pid) {
  if (read_stat(pid)) return;  // the number is in use, perhaps by another
  for (const std::string& path : socket_paths(pid)) {
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) && info.st_uid == geteuid())
      unlink(path.c_str());
  }
}

Result<uint32_t> parse_pid(const std::string& text) {
  const std::optional<uint64_t> number = util::parse_unsigned(text);
  if (!number || *number == 0 || *number > INT32_MAX)
    return errorf("%s: not a process number; give the PID of a recorded program",
                  util::escape_control(text).c_str());
  return static_cast<uint32_t>(*number);
}

Result<std::string> find_session(const std::string& target) {
  struct stat info {};
  if (stat(target.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return target;
  if (target.find_first_not_of("0123456789") != std::string::npos)
    return errorf("%s: neither a folder nor a process number; give one of them",
                  util::escape_control(target).c_str());
  const Result<uint32_t> pid = parse_pid(target);
  if (!pid.ok()) return pid.error();
  const Result<Answer> answer = ask(*pid, "status");
  if (!answer.ok()) return answer.error();
  const std::string folder = value_of(*answer, "session");
  if (folder.empty())
    return errorf("process %u: records nowhere yet; wavetap start %u begins", *pid, *pid);
  return folder;
}

}  // namespace wavetap::cli
