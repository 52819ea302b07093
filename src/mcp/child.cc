#include "mcp/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace wavetap::mcp {
namespace {

// Between asking it to end and ending it.
constexpr std::chrono::seconds kGrace{2};

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& folder,
                         int output, int errors, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  dup2(output, 1);
  dup2(errors, 2);
  setenv("NO_COLOR", "1", 1);
  if (chdir(folder.c_str()) != 0) _exit(126);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& words, const std::string& folder,
                           size_t most_bytes) {
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0) return errorf("mcp: no pipe: %s", std::strerror(errno));
  if (pipe2(errors, O_CLOEXEC) != 0) {
    close(output[0]);
    close(output[1]);
    return errorf("mcp: no pipe: %s", std::strerror(errno));
  }
  const pid_t parent = getpid();
  Child child;
  child.most_bytes_ = most_bytes;
  child.started_ = Clock::now();
  child.pid_ = fork();
  if (child.pid_ == 0) become(words, folder, output[1], errors[1], parent);
  close(output[1]);
  close(errors[1]);
  child.output_.fd = output[0];
  child.errors_.fd = errors[0];
  if (child.pid_ < 0) return errorf("mcp: no process: %s", std::strerror(errno));
  setpgid(child.pid_, child.pid_);
  fcntl(output[0], F_SETFL, O_NONBLOCK);
  fcntl(errors[0], F_SETFL, O_NONBLOCK);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, Stream{})),
      errors_(std::exchange(other.errors_, Stream{})),
      most_bytes_(other.most_bytes_),
      status_(other.status_),
      started_(other.started_),
      told_(other.told_),
      is_told_(other.is_told_) {}

Child::~Child() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (output_.fd >= 0) close(output_.fd);
  if (errors_.fd >= 0) close(errors_.fd);
}

double Child::seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void Child::take(Stream& stream) const {
  char buffer[65536];
  while (stream.fd >= 0) {
    const ssize_t count = read(stream.fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      close(stream.fd);
      stream.fd = -1;
      return;
    }
    const size_t left = most_bytes_ - stream.text.size();
    stream.text.append(buffer, std::min(left, static_cast<size_t>(count)));
    if (static_cast<size_t>(count) > left) stream.is_cut = true;
  }
}

bool Child::look() {
  take(output_);
  take(errors_);
  if (is_told_ && Clock::now() - told_ >= kGrace) kill(-pid_, SIGKILL);
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  kill(-pid_, SIGKILL);  // what it left behind
  pid_ = -1;
  take(output_);
  take(errors_);
  return true;
}

void Child::end() {
  if (is_told_ || pid_ <= 0) return;
  is_told_ = true;
  told_ = Clock::now();
  kill(-pid_, SIGTERM);
}

}  // namespace wavetap::mcp
