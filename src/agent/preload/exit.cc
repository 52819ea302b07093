// _exit(), _Exit(), quick_exit(), abort() and the functions of exec() in front of libc's: ends of a
// program at which no destructor of ours runs.
//
// When an operation of the GPU has finished, only its signal knows until somebody looks. So the
// helper thread is asked to look once more, and to read the clock a last time. Not the calling
// thread: it may be in a signal handler, and what that interrupted may hold the locks that are
// needed. An exec() that fails has cost nothing but that.
#include "agent/preload/exit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "agent/real_functions.h"
#include "agent/recording.h"
#include "record/session.h"

namespace wavetap::agent {
namespace {

using Exit = void (*)(int);
using Abort = void (*)();
using Arguments = char* const*;
using Execve = int (*)(const char*, Arguments, Arguments);
using Execv = int (*)(const char*, Arguments);
using Fexecve = int (*)(int, Arguments, Arguments);
using Execveat = int (*)(int, const char*, Arguments, Arguments, int);

std::atomic<Exit> g_exit{nullptr};
std::atomic<Exit> g_quick_exit{nullptr};
std::atomic<Abort> g_abort{nullptr};
std::atomic<Execve> g_execve{nullptr};
std::atomic<Execve> g_execvpe{nullptr};
std::atomic<Execv> g_execv{nullptr};
std::atomic<Execv> g_execvp{nullptr};
std::atomic<Fexecve> g_fexecve{nullptr};
std::atomic<Execveat> g_execveat{nullptr};

template <class Function>
Function known_or_next(std::atomic<Function>& known, const char* name) {
  Function function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(find_next(name));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

// Long enough for a helper that is alive; one that waits for a lock nobody will release is not
// waited for.
constexpr int64_t kPatienceNs = 1'000'000'000;

void look_once_more() {
  // The child of a vfork() shares all memory with its parent, whose recorder is not to be
  // disturbed.
  if (!record::is_session_open() || t_thread.inside != 0 || record::session().pid() != sys::pid())
    return;
  record::settle_on_helper(kPatienceNs);
}

// Calls the function behind ours; libc may lack it.
template <class Function, class... Values>
int become(std::atomic<Function>& known, const char* name, Values... values) {
  look_once_more();
  const Function real = known_or_next(known, name);
  if (real != nullptr) return real(values...);
  errno = ENOSYS;
  return -1;
}

// The arguments of execl() and its relatives as a list, on the stack of the caller: whoever calls
// exec() may be in the child of vfork(), where memory from the heap would never be freed.
#define WT_COLLECT_ARGUMENTS(list, first, rest)                                                 \
  size_t wt_count = 1;                                                                          \
  va_list wt_counted;                                                                           \
  va_copy(wt_counted, rest);                                                                    \
  for (const char* at = first; at != nullptr; at = va_arg(wt_counted, const char*)) ++wt_count; \
  va_end(wt_counted);                                                                           \
  char** const list = static_cast<char**>(__builtin_alloca(wt_count * sizeof(char*)));          \
  list[0] = const_cast<char*>(first);                                                           \
  for (size_t i = 1; i < wt_count; ++i) list[i] = va_arg(rest, char*)

[[noreturn]] void leave(int status) {
  look_once_more();
  if (const Exit real = known_or_next(g_exit, "_exit")) real(status);
  for (;;) sys::call(SYS_exit_group, status);
}

}  // namespace

void find_exit_functions() {
  known_or_next(g_exit, "_exit");
  known_or_next(g_quick_exit, "quick_exit");
  known_or_next(g_abort, "abort");
  known_or_next(g_execve, "execve");
  known_or_next(g_execvpe, "execvpe");
  known_or_next(g_execv, "execv");
  known_or_next(g_execvp, "execvp");
  known_or_next(g_fexecve, "fexecve");
  known_or_next(g_execveat, "execveat");
}

}  // namespace wavetap::agent

using namespace wavetap::agent;

#define WT_EXPORT __attribute__((visibility("default")))

extern "C" {

__attribute__((visibility("default"), noreturn)) void _exit(int status) { leave(status); }
__attribute__((visibility("default"), noreturn)) void _Exit(int status) noexcept { leave(status); }

__attribute__((visibility("default"), noreturn)) void quick_exit(int status) noexcept {
  look_once_more();
  if (const Exit real = known_or_next(g_quick_exit, "quick_exit")) real(status);
  leave(status);
}

__attribute__((visibility("default"), noreturn)) void abort() noexcept {
  look_once_more();
  if (const Abort real = known_or_next(g_abort, "abort")) real();
  for (;;) __builtin_trap();
}

WT_EXPORT int execve(const char* path, Arguments list, Arguments environment) noexcept {
  return become(g_execve, "execve", path, list, environment);
}
WT_EXPORT int execvpe(const char* file, Arguments list, Arguments environment) noexcept {
  return become(g_execvpe, "execvpe", file, list, environment);
}
WT_EXPORT int execv(const char* path, Arguments list) noexcept {
  return become(g_execv, "execv", path, list);
}
WT_EXPORT int execvp(const char* file, Arguments list) noexcept {
  return become(g_execvp, "execvp", file, list);
}
WT_EXPORT int fexecve(int fd, Arguments list, Arguments environment) noexcept {
  return become(g_fexecve, "fexecve", fd, list, environment);
}
WT_EXPORT int execveat(int folder, const char* path, Arguments list, Arguments environment,
                       int flags) noexcept {
  return become(g_execveat, "execveat", folder, path, list, environment, flags);
}

WT_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  WT_COLLECT_ARGUMENTS(list, first, rest);
  va_end(rest);
  return become(g_execv, "execv", path, static_cast<Arguments>(list));
}
WT_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  WT_COLLECT_ARGUMENTS(list, first, rest);
  va_end(rest);
  return become(g_execvp, "execvp", file, static_cast<Arguments>(list));
}
WT_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  WT_COLLECT_ARGUMENTS(list, first, rest);
  const auto environment = va_arg(rest, Arguments);
  va_end(rest);
  return become(g_execve, "execve", path, static_cast<Arguments>(list), environment);
}

}  // extern "C"

#undef WT_EXPORT
