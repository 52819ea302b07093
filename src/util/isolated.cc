#include "util/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "base/whole_io.h"
#include "util/process_tree.h"
#include "util/subprocess.h"

namespace wavetap::util {
namespace {

using Clock = std::chrono::steady_clock;

// How often the processes of a command are counted.
constexpr double kCrowdSeconds = 0.05;

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  size_t piece = 0;
  Clock::time_point started;
  std::string text;
  bool ended = false;
  bool timed_out = false;
  bool is_crowd = false;
  int status = 0;
};

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// A process group of its own, that goes when its parent goes.
void become_child(pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

[[noreturn]] void run_piece(const std::function<std::string()>& piece, int fd,
                            const IsolationLimits& limits) {
  if (limits.memory_bytes != 0) {
    const rlimit limit{limits.memory_bytes, limits.memory_bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::string text;
  try {
    text = piece();
  } catch (const std::exception&) {
    _exit(70);
  }
  sys::write_whole(fd, text);
  _exit(0);
}

Child start_piece(const std::function<std::string()>& piece, size_t number,
                  const IsolationLimits& limits) {
  Child child;
  child.piece = number;
  child.started = Clock::now();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return child;
  const pid_t parent = getpid();
  child.pid = fork();
  if (child.pid == 0) {
    close(ends[0]);
    become_child(parent);
    run_piece(piece, ends[1], limits);
  }
  close(ends[1]);
  if (child.pid < 0) {
    close(ends[0]);
    return child;
  }
  child.pipe = ends[0];
  return child;
}

// Kills what the child started as well.
void end_child(Child& child) {
  if (child.pid > 0) {
    kill(-child.pid, SIGKILL);
    kill(child.pid, SIGKILL);
    while (waitpid(child.pid, &child.status, 0) < 0 && errno == EINTR) {
    }
  }
  if (child.pipe >= 0) close(child.pipe);
  child.pipe = -1;
  child.ended = true;
}

// The child has closed its end of the pipe: it is over, or will be at once.
void reap_child(Child& child) {
  while (waitpid(child.pid, &child.status, 0) < 0 && errno == EINTR) {
  }
  kill(-child.pid, SIGKILL);  // what it left behind
  close(child.pipe);
  child.pipe = -1;
  child.ended = true;
}

void read_child(Child& child, size_t keep) {
  char buffer[65536];
  const ssize_t count = read(child.pipe, buffer, sizeof buffer);
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) return reap_child(child);
  child.text.append(buffer, static_cast<size_t>(count));
  if (keep != 0 && child.text.size() > 2 * keep) child.text.erase(0, child.text.size() - keep);
}

// Waits for something to read from the children, or for one's time to be over; `longest` at most.
void wait_for(std::vector<Child*> children, double limit_seconds, size_t keep = 0,
              double longest = 3600) {
  std::vector<pollfd> polled;
  double left = longest;
  for (const Child* child : children) {
    polled.push_back({child->pipe, POLLIN, 0});
    if (limit_seconds > 0)
      left = std::min(left, std::max(0.0, limit_seconds - seconds_since(child->started)));
  }
  poll(polled.data(), polled.size(), static_cast<int>(std::ceil(left * 1e3)));
  for (size_t i = 0; i < children.size(); ++i) {
    if (polled[i].revents != 0) read_child(*children[i], keep);
    else if (limit_seconds > 0 && seconds_since(children[i]->started) >= limit_seconds) {
      children[i]->timed_out = true;
      end_child(*children[i]);
    }
  }
}

Isolated answer_of(Child& child, double limit_seconds) {
  if (child.pid < 0) return {Ending::kCrashed, "no process could be made for it"};
  if (child.timed_out) {
    char text[64];
    std::snprintf(text, sizeof text, "not done after %g seconds", limit_seconds);
    return {Ending::kTimedOut, text};
  }
  if (WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGALRM)
    return {Ending::kTimedOut, "not done in the time it had"};
  if (WIFSIGNALED(child.status))
    return {Ending::kCrashed, "killed by signal " + std::to_string(WTERMSIG(child.status)) + " (" +
                                  strsignal(WTERMSIG(child.status)) + ")"};
  if (WEXITSTATUS(child.status) == 70) return {Ending::kCrashed, "out of memory"};
  if (WEXITSTATUS(child.status) != 0)
    return {Ending::kCrashed, "exit status " + std::to_string(WEXITSTATUS(child.status))};
  return {Ending::kDone, std::move(child.text)};
}

[[noreturn]] void exec_words(const std::vector<std::string>& words, const ShellOptions& options,
                             int out) {
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  dup2(out, 1);
  dup2(out, 2);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
  if (options.instead) {
    options.instead();
    _exit(126);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  dprintf(2, "%s: %s\n", arguments[0], std::strerror(errno));
  _exit(errno == ENOENT ? 127 : 126);
}

// What the kernel tells a guard when its parent is gone.
int parent_is_gone() { return SIGRTMAX; }

[[noreturn]] void end_as(int status) {
  if (WIFSIGNALED(status)) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 126);
}

// The leader of a command's process group, which waits for the command and ends as it does. A command may
// start others, of which nobody tells the kernel that they are to go with us: the guard ends the group.
[[noreturn]] void guard_words(const std::vector<std::string>& words, const ShellOptions& options,
                              int out, pid_t parent) {
  signal(parent_is_gone(), [](int) { kill(0, SIGKILL); });
  prctl(PR_SET_PDEATHSIG, parent_is_gone());
  if (getppid() != parent) _exit(1);
  const pid_t command = fork();
  if (command == 0) {
    signal(parent_is_gone(), SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    exec_words(words, options, out);
  }
  close(out);
  if (command < 0) _exit(126);
  // What the whole group is sent is the command's business.
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2})
    signal(number, SIG_IGN);
  int status = 0;
  while (waitpid(command, &status, 0) < 0 && errno == EINTR) {
  }
  end_as(status);
}

}  // namespace

std::vector<Isolated> run_isolated(const std::vector<std::function<std::string()>>& pieces,
                                   size_t jobs, const IsolationLimits& limits,
                                   const std::function<bool(size_t, const Isolated&)>& done) {
  std::vector<Isolated> answers(pieces.size());
  std::vector<bool> is_known(pieces.size());
  std::vector<Child> running;
  size_t next = 0;
  size_t told = 0;
  bool go_on = true;
  while (go_on && told < pieces.size()) {
    while (next < pieces.size() && running.size() < std::max<size_t>(jobs, 1)) {
      running.push_back(start_piece(pieces[next], next, limits));
      if (running.back().pid < 0) running.back().ended = true;
      ++next;
    }
    std::vector<Child*> open;
    for (Child& child : running)
      if (!child.ended) open.push_back(&child);
    if (!open.empty()) wait_for(open, limits.seconds);
    for (Child& child : running) {
      if (!child.ended) continue;
      answers[child.piece] = answer_of(child, limits.seconds);
      is_known[child.piece] = true;
    }
    std::erase_if(running, [](const Child& child) { return child.ended; });
    for (; go_on && told < pieces.size() && is_known[told]; ++told)
      if (done) go_on = done(told, answers[told]);
  }
  for (Child& child : running) end_child(child);
  answers.resize(told);
  return answers;
}

Result<ShellResult> run_words(const std::vector<std::string>& words, const ShellOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return errorf("%s: cannot start: %s", words[0].c_str(), std::strerror(errno));
  Child child;
  child.started = Clock::now();
  const pid_t parent = getpid();
  child.pid = fork();
  if (child.pid == 0) {
    close(ends[0]);
    become_child(parent);
    guard_words(words, options, ends[1], parent);
  }
  const int why = errno;
  close(ends[1]);
  child.pipe = ends[0];
  if (child.pid < 0) {
    close(ends[0]);
    return errorf("%s: cannot start: %s", words[0].c_str(), std::strerror(why));
  }
  const size_t most = options.processes;
  while (!child.ended) {
    wait_for({&child}, options.seconds, options.output_bytes, most == 0 ? 3600 : kCrowdSeconds);
    if (child.ended || most == 0 || !has_more_descendants(child.pid, most)) continue;
    child.is_crowd = true;
    end_child(child);
  }
  if (child.text.size() > options.output_bytes)
    child.text.erase(0, child.text.size() - options.output_bytes);
  return ShellResult{shell_status(child.status), child.timed_out, child.is_crowd,
                     std::move(child.text)};
}

Result<ShellResult> run_shell(const std::string& command, const ShellOptions& options) {
  return run_words({"/bin/sh", "-c", command}, options);
}

}  // namespace wavetap::util
