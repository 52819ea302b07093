#include "doctor/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/scoped_fd.h"

extern char** environ;

namespace wavetap::doctor {
namespace {

constexpr size_t kMaxKept = 64 << 10;
using Clock = std::chrono::steady_clock;

std::vector<std::string> child_environment(const ChildOptions& options) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool dropped =
        std::find(options.unset.begin(), options.unset.end(), name) != options.unset.end() ||
        std::any_of(options.set.begin(), options.set.end(),
                    [&](const auto& pair) { return pair.first == name; });
    if (!dropped) entries.push_back(text);
  }
  for (const auto& [name, value] : options.set) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// Appends what is there; false at the end of the stream.
bool drain(int fd, std::string& kept) {
  char buffer[4096];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  if (got <= 0) return got < 0 && (errno == EINTR || errno == EAGAIN);
  kept.append(buffer,
              std::min(static_cast<size_t>(got), kMaxKept - std::min(kept.size(), kMaxKept)));
  return true;
}

}  // namespace

Result<ChildResult> run_child(const ChildOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> entries = child_environment(options);
  const std::vector<char*> argv = pointers(arguments), envp = pointers(entries);

  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return errorf("pipe: %s", std::strerror(errno));
  ScopedFd out_read(out[0]), out_write(out[1]);
  if (pipe2(err, O_CLOEXEC) != 0) return errorf("pipe: %s", std::strerror(errno));
  ScopedFd err_read(err[0]), err_write(err[1]);
  const ScopedFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));

  const pid_t child = fork();
  if (child < 0) return errorf("fork: %s", std::strerror(errno));
  if (child == 0) {
    setpgid(0, 0);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(null.get(), STDIN_FILENO);
    dup2(out_write.get(), STDOUT_FILENO);
    dup2(err_write.get(), STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  setpgid(child, child);
  out_write = ScopedFd();
  err_write = ScopedFd();

  ChildResult result;
  const Clock::time_point deadline = Clock::now() + options.limit;
  bool out_open = true, err_open = true;
  while (out_open || err_open) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      result.timed_out = true;
      break;
    }
    pollfd fds[2] = {{out_open ? out_read.get() : -1, POLLIN, 0},
                     {err_open ? err_read.get() : -1, POLLIN, 0}};
    if (poll(fds, 2, static_cast<int>(std::min<long long>(left, 1000))) < 0 && errno != EINTR)
      break;
    if (fds[0].revents != 0) out_open = drain(out_read.get(), result.output);
    if (fds[1].revents != 0) err_open = drain(err_read.get(), result.errors);
  }
  // Closed streams are the end of all but the oddest children; those get until the deadline.
  int status = 0;
  pid_t reaped = 0;
  while (!result.timed_out && (reaped = waitpid(child, &status, WNOHANG)) == 0) {
    if (Clock::now() > deadline) result.timed_out = true;
    else usleep(1000);
  }
  kill(-child, SIGKILL);  // and whatever it left behind
  while (reaped != child && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status) && !result.timed_out) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace wavetap::doctor
