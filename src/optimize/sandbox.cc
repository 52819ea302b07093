#include "optimize/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/scoped_fd.h"
#include "optimize/sandbox_filter.h"
#include "util/file.h"
#include "util/isolated.h"

namespace wavetap::optimize {
namespace {

void set_limit(int what, uint64_t most) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(what), &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, most);
  limit.rlim_max = limit.rlim_cur;
  setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

void set_limits(const SandboxLimits& limits) {
  set_limit(RLIMIT_AS, limits.memory_bytes);
  set_limit(RLIMIT_FSIZE, limits.file_bytes);
  set_limit(RLIMIT_CORE, 0);
  if (limits.seconds > 0) set_limit(RLIMIT_CPU, static_cast<uint64_t>(limits.seconds) + 1);
  if (geteuid() != 0) set_limit(RLIMIT_NPROC, limits.processes);
}

bool write_text(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

bool make_read_only(const char* path, bool read_only) {
  mount_attr attributes{};
  if (read_only) attributes.attr_set = MOUNT_ATTR_RDONLY;
  else attributes.attr_clr = MOUNT_ATTR_RDONLY;
  return syscall(SYS_mount_setattr, AT_FDCWD, path, read_only ? AT_RECURSIVE : 0, &attributes,
                 sizeof attributes) == 0;
}

// In the child: namespaces of its own, everything read-only but the folder. False where the machine
// forbids it.
bool enter_namespaces(const std::string& folder) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC) != 0)
    return false;
  write_text("/proc/self/setgroups", "deny");
  if (!write_text("/proc/self/uid_map", fmt::format("{} {} 1", user, user)) ||
      !write_text("/proc/self/gid_map", fmt::format("{} {} 1", group, group)))
    return false;
  const char* place = folder.c_str();
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount(place, place, nullptr, MS_BIND, nullptr) == 0 && make_read_only("/", true) &&
         make_read_only(place, false);
}

// Processes outside are nobody's business: their own /proc, or none where the machine forbids it.
bool hide_processes() {
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ||
         mount("none", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, nullptr) ==
             0;
}

// What a compiler needs of the environment. The rest may be keys, and what a build prints goes to the
// provider.
Environment kept_environment(const std::string& temporary, const Environment& added) {
  Environment kept = {{"TMPDIR", temporary}, {"HOME", temporary}, {"CCACHE_DISABLE", "1"}};
  kept.insert(kept.end(), added.begin(), added.end());
  for (const char* name : {"PATH", "LANG", "LC_ALL", "ROCM_PATH", "HIP_PATH", "HIP_CLANG_PATH",
                           "HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH", "LD_LIBRARY_PATH"})
    if (const char* const value = std::getenv(name)) kept.emplace_back(name, value);
  return kept;
}

// Its first process must be its number 1, so that all others die with it.
[[noreturn]] void run_in_namespaces(const std::string& command, const std::string& folder,
                                    const SandboxLimits& limits, const Environment& kept) {
  if (!enter_namespaces(folder)) _exit(125);
  const pid_t child = fork();
  if (child == 0) {
    if (!hide_processes()) _exit(125);
    clearenv();
    for (const auto& [name, value] : kept) setenv(name.c_str(), value.c_str(), 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    setsid();  // no terminal to type into
    if (chdir(folder.c_str()) != 0) _exit(125);
    set_limits(limits);
    if (!install_sandbox_filter()) _exit(125);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

// bwrap reads it from a descriptor that it inherits.
ScopedFd filter_file() {
  const std::vector<sock_filter> filter = sandbox_filter();
  const size_t bytes = filter.size() * sizeof filter[0];
  ScopedFd file(memfd_create("filter", 0));
  if (file.valid() && (write(file.get(), filter.data(), bytes) != static_cast<ssize_t>(bytes) ||
                       lseek(file.get(), 0, SEEK_SET) != 0))
    return ScopedFd();
  return file;
}

std::vector<std::string> bubblewrap_words(const std::string& command, const std::string& folder,
                                          const SandboxLimits& limits, const Environment& kept,
                                          int filter) {
  // The limit of processes is -u for bash and -p for dash.
  const std::string limited = fmt::format(
      "ulimit -c 0; ulimit -v {}; ulimit -f {}; ulimit -t {}; "
      "if (ulimit -u {}) 2>/dev/null; then ulimit -u {}; else ulimit -p {}; fi; {}",
      limits.memory_bytes / 1024, limits.file_bytes / 512,
      static_cast<uint64_t>(limits.seconds) + 1, limits.processes, limits.processes,
      limits.processes, command);
  std::vector<std::string> words = {"bwrap", "--clearenv", "--seccomp", std::to_string(filter)};
  for (const auto& [name, value] : kept) words.insert(words.end(), {"--setenv", name, value});
  words.insert(words.end(), {"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind",
                             folder, folder, "--unshare-all", "--die-with-parent", "--new-session",
                             "--chdir", folder, "/bin/sh", "-c", limited});
  return words;
}

}  // namespace

std::string name_of(SandboxKind kind) {
  switch (kind) {
    case SandboxKind::kNone: return "none";
    case SandboxKind::kBubblewrap: return "bubblewrap";
    case SandboxKind::kNamespaces: return "namespaces";
  }
  return "";
}

Result<SandboxResult> run_sandboxed(SandboxKind kind, const std::string& command,
                                    const std::string& folder, const SandboxLimits& limits,
                                    const Environment& added) {
  const std::string temporary = folder + "/.tmp";
  mkdir(temporary.c_str(), 0700);
  const Environment kept = kept_environment(temporary, added);
  util::ShellOptions shell{folder, kept, limits.seconds};
  shell.processes = limits.processes;
  Result<util::ShellResult> ran = util::ShellResult{};
  switch (kind) {
    case SandboxKind::kNone: ran = util::run_shell(command, shell); break;
    case SandboxKind::kBubblewrap: {
      const ScopedFd filter = filter_file();
      if (!filter.valid()) return errorf("sandbox: its filter cannot be written");
      ran = util::run_words(bubblewrap_words(command, folder, limits, kept, filter.get()), shell);
      break;
    }
    case SandboxKind::kNamespaces:
      shell.instead = [&] { run_in_namespaces(command, folder, limits, kept); };
      ran = util::run_words({"sh"}, shell);
      break;
  }
  if (!ran.ok()) return ran.error();
  return SandboxResult{ran->status, ran->timed_out, ran->is_crowd, std::move(ran->output)};
}

Result<SandboxKind> find_sandbox() {
  char folder[] = "/tmp/wavetap.sandbox.XXXXXX";
  if (mkdtemp(folder) == nullptr) return errorf("%s: cannot be made", folder);
  const std::string probe = fmt::format("(: > {}/inside) && ! (: > {}.outside)", folder, folder);
  Result<SandboxKind> found = errorf(
      "sandbox: neither bubblewrap nor namespaces work here; install bubblewrap, or add "
      "--unsafe to build without one");
  for (const SandboxKind kind : {SandboxKind::kBubblewrap, SandboxKind::kNamespaces}) {
    if (found.ok()) break;
    if (kind == SandboxKind::kBubblewrap && util::find_program("bwrap").empty()) continue;
    const Result<SandboxResult> ran = run_sandboxed(kind, probe, folder, {.seconds = 20});
    if (ran.ok() && ran->status == 0) found = kind;
  }
  unlink((std::string(folder) + "/inside").c_str());
  unlink((std::string(folder) + ".outside").c_str());  // there where no sandbox works
  rmdir((std::string(folder) + "/.tmp").c_str());
  rmdir(folder);
  return found;
}

}  // namespace wavetap::optimize
