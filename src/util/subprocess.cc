// Signals are not handled in handlers: they are blocked and taken one by one with sigwaitinfo,
// SIGCHLD among them. So nothing is interrupted, nothing races with waitpid, and forwarding is a
// plain loop.
//
// A key such as ^C makes the kernel signal the whole foreground process group, the child included;
// passing that on would deliver it twice. Its si_code is SI_KERNEL, a kill() from elsewhere is not.
#include "util/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/scoped_fd.h"

namespace wavetap::util {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

Error start_failure(const std::string& program, int reason) {
  if (reason == ENOENT && program.find('/') == std::string::npos) {
    return errorf("%s: not found in PATH; check the name", program.c_str());
  }
  return errorf("%s: cannot start: %s; check the path and its permissions", program.c_str(),
                std::strerror(reason));
}

// In the child, or before replacing this process.
[[nodiscard]] int exec_command(const Command& command) {
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return errno;
}

// Blocks what run_in_foreground waits for and gives the mask back on leaving.
class SignalScope {
 public:
  SignalScope() {
    sigemptyset(&waited_);
    sigaddset(&waited_, SIGCHLD);
    for (const int signal : kForwarded) sigaddset(&waited_, signal);
    sigprocmask(SIG_BLOCK, &waited_, &before_);
    // Whoever started us may ignore SIGCHLD, which would make the kernel reap the child behind our
    // back.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, &child_before_);
  }
  ~SignalScope() { restore(); }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  // Also called in the child, which must start with what we were started with.
  void restore() {
    sigaction(SIGCHLD, &child_before_, nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  const sigset_t& waited() const { return waited_; }

 private:
  sigset_t waited_{};
  sigset_t before_{};
  struct sigaction child_before_ {};
};

// Debuggers, `setarch -R` and some containers switch it off for all that they start.
void allow_random_layout() {
  const int ours = personality(0xffffffff);
  if (ours != -1) personality(static_cast<unsigned>(ours) & ~unsigned{ADDR_NO_RANDOMIZE});
}

// Reads the errno a child that could not exec has written; 0 when exec closed the pipe.
int read_exec_failure(int fd) {
  int reason = 0;
  ssize_t got;
  do {
    got = read(fd, &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof reason) ? reason : 0;
}

}  // namespace

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int start_failure_status(int start_errno) {
  return start_errno == ENOENT || start_errno == ENOTDIR ? 127 : 126;
}

Result<int> run_in_foreground(const Command& command, RunDetails* details) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errorf("pipe: %s", std::strerror(errno));
  ScopedFd read_end(ends[0]);
  ScopedFd write_end(ends[1]);

  SignalScope signals;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return errorf("fork: %s", std::strerror(errno));
  if (child == 0) {
    signals.restore();
    if (command.ends_with_us) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(127);
    }
    if (command.random_layout) allow_random_layout();
    const int reason = exec_command(command);
    [[maybe_unused]] const ssize_t told = write(ends[1], &reason, sizeof reason);
    _exit(127);
  }
  write_end = ScopedFd();
  const int reason = read_exec_failure(read_end.get());

  int wait_status = 0;
  while (true) {
    siginfo_t info{};
    const pid_t ended = waitpid(child, &wait_status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) return errorf("waitpid: %s", std::strerror(errno));
    const int signal = sigwaitinfo(&signals.waited(), &info);
    if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL) kill(child, signal);
  }
  if (details != nullptr) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    *details = {child, now.tv_sec * 1'000'000'000LL + now.tv_nsec, reason};
  }
  if (reason != 0) return start_failure(command.arguments[0], reason);
  return shell_status(wait_status);
}

Error replace_process(const Command& command, int* start_errno) {
  const int reason = exec_command(command);
  if (start_errno != nullptr) *start_errno = reason;
  return start_failure(command.arguments[0], reason);
}

Result<std::string> output_of(const Command& command, size_t limit_bytes) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errorf("pipe: %s", std::strerror(errno));
  ScopedFd read_end(ends[0]);
  ScopedFd write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return errorf("fork: %s", std::strerror(errno));
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    _exit(exec_command(command) == ENOENT ? 127 : 126);
  }
  write_end = ScopedFd();
  std::string output;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(read_end.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const size_t room = limit_bytes - output.size();
    output.append(buffer, std::min(room, static_cast<size_t>(got)));
  }
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (wait_status != 0) {
    return errorf("%s: ended with status %d", command.arguments[0].c_str(),
                  shell_status(wait_status));
  }
  return output;
}

}  // namespace wavetap::util
