// Interposed calls that take a path: opening, looking at, resolving and listing files.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>

#include "base/sys_files.h"
#include "vgpu/preload/front.h"

namespace wavetap::vgpu::front {
namespace {

// O_TMPFILE contains O_DIRECTORY's bit; a mode is passed for it and for O_CREAT.
bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

// A relative path may reach a device node of the tree through a directory that is open or current.
// Swaps the plain file found there for the device.
int swap_if_node(int fd, const char* path, int flags) {
  if (fd < 0 || path == nullptr || path[0] == '/') return fd;
  const char* slash = ::strrchr(path, '/');
  const DeviceNode node = node_of_name(slash == nullptr ? path : slash + 1);
  if (node.kind == NodeKind::kNone) return fd;
  const char* root = tree_root();
  if (root == nullptr) return fd;
  char link[64];
  char target[PATH_MAX + 64];
  ::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const int64_t length = sys::call(SYS_readlinkat, AT_FDCWD, link, target, sizeof target - 1);
  if (length <= 0) return fd;
  target[length] = '\0';
  const size_t root_length = ::strlen(root);
  if (::strncmp(target, root, root_length) != 0 || ::strncmp(target + root_length, "/dev/", 5) != 0)
    return fd;
  sys::close(fd);
  return open_node(node, flags);
}

int next_openat(int directory, const char* path, int flags, mode_t mode) {
  if (auto* next = WT_NEXT(openat)) return next(directory, path, flags, mode);
  const int64_t fd = sys::call(SYS_openat, directory, path, flags, mode);
  return fd < 0 ? fail(static_cast<int>(-fd)) : static_cast<int>(fd);
}

int do_open(int directory, const char* path, int flags, mode_t mode) {
  PathBuffer buffer;
  DeviceNode node;
  const char* ours = redirect_at(directory, path, buffer, &node);
  if (ours == nullptr) return swap_if_node(next_openat(directory, path, flags, mode), path, flags);
  if (node.kind != NodeKind::kNone && (flags & O_PATH) == 0) return open_node(node, flags);
  return next_openat(AT_FDCWD, ours, flags, mode);
}

int raw_stat(int directory, const char* path, struct stat* st, int flags) {
  const int64_t result = sys::call(SYS_newfstatat, directory, path, st, flags);
  return result < 0 ? fail(static_cast<int>(-result)) : 0;
}

// Shows device files as the character devices they stand for.
void disguise_if_device(struct stat* st) {
  const Driver* known = any_driver();
  DeviceFile file;
  if (known != nullptr && known->identify(*st, &file)) known->disguise(file, st);
}

int do_stat(int directory, const char* path, struct stat* st, int flags) {
  PathBuffer buffer;
  DeviceNode node;
  const char* ours = redirect_at(directory, path, buffer, &node);
  const int result =
      ours == nullptr ? raw_stat(directory, path, st, flags) : raw_stat(AT_FDCWD, ours, st, flags);
  if (result != 0) return result;
  if (node.kind != NodeKind::kNone) disguise_node(node, st);
  else if (ours == nullptr && (flags & AT_EMPTY_PATH) != 0) disguise_if_device(st);
  return 0;
}

int do_fstat(int fd, struct stat* st) {
  const int result = sys::fstat(fd, st);
  if (result != 0) return fail(-result);
  disguise_if_device(st);
  return 0;
}

int do_access(const char* path, int mode) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  const int64_t result = sys::call(SYS_faccessat, AT_FDCWD, ours == nullptr ? path : ours, mode);
  return result < 0 ? fail(static_cast<int>(-result)) : 0;
}

ssize_t do_readlink(int directory, const char* path, char* text, size_t size) {
  PathBuffer buffer;
  const char* ours = redirect_at(directory, path, buffer);
  const int64_t length = sys::call(SYS_readlinkat, ours == nullptr ? directory : AT_FDCWD,
                                   ours == nullptr ? path : ours, text, size);
  return length < 0 ? fail(static_cast<int>(-length)) : length;
}

using RealpathFunction = char* (*)(const char*, char*);

RealpathFunction next_realpath() {
  static std::atomic<void*> cached{nullptr};
  void* found = cached.load(std::memory_order_relaxed);
  if (found == nullptr) {
    // x86-64 has an older realpath that refuses a null buffer; ask for the newer one by name.
    found = versioned_symbol("realpath", "GLIBC_2.3");
    if (found == nullptr) found = next_symbol("realpath");
    cached.store(found, std::memory_order_relaxed);
  }
  return reinterpret_cast<RealpathFunction>(found);
}

// Takes the tree's root off the front of a result.
void strip_root(char* path) {
  const char* root = tree_root();
  if (root == nullptr || path == nullptr) return;
  char resolved[PATH_MAX];
  // The root itself may lie behind a symbolic link; results are free of them.
  if (next_realpath()(root, resolved) == nullptr) return;
  const size_t length = ::strlen(resolved);
  if (::strncmp(path, resolved, length) == 0 && path[length] == '/')
    ::memmove(path, path + length, ::strlen(path + length) + 1);
}

char* do_realpath(const char* path, char* resolved) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  if (ours == nullptr) return next_realpath()(path, resolved);
  char* result = next_realpath()(ours, resolved);
  strip_root(result);
  return result;
}

template <class Glob>
void strip_results(Glob* results, const char* root) {
  const size_t length = ::strlen(root);
  for (size_t i = 0; i < results->gl_pathc; ++i) {
    char* path = results->gl_pathv[results->gl_offs + i];
    if (path != nullptr && ::strncmp(path, root, length) == 0)
      ::memmove(path, path + length, ::strlen(path + length) + 1);
  }
}

}  // namespace
}  // namespace wavetap::vgpu::front

using namespace wavetap::vgpu;         // NOLINT: the functions below are libc's
using namespace wavetap::vgpu::front;  // NOLINT
namespace sys = wavetap::sys;

#define WT_MODE(flags)           \
  mode_t mode = 0;               \
  if (takes_mode(flags)) {       \
    va_list args;                \
    va_start(args, flags);       \
    mode = va_arg(args, mode_t); \
    va_end(args);                \
  }

WT_EXPORT int open(const char* path, int flags, ...) {
  WT_MODE(flags)
  return do_open(AT_FDCWD, path, flags, mode);
}
WT_EXPORT int open64(const char* path, int flags, ...) {
  WT_MODE(flags)
  return do_open(AT_FDCWD, path, flags, mode);
}
WT_EXPORT int openat(int directory, const char* path, int flags, ...) {
  WT_MODE(flags)
  return do_open(directory, path, flags, mode);
}
WT_EXPORT int openat64(int directory, const char* path, int flags, ...) {
  WT_MODE(flags)
  return do_open(directory, path, flags, mode);
}
// What _FORTIFY_SOURCE makes of calls without a mode.
WT_EXPORT int __open_2(const char* path, int flags) { return do_open(AT_FDCWD, path, flags, 0); }
WT_EXPORT int __open64_2(const char* path, int flags) { return do_open(AT_FDCWD, path, flags, 0); }
WT_EXPORT int __openat_2(int directory, const char* path, int flags) {
  return do_open(directory, path, flags, 0);
}
WT_EXPORT int __openat64_2(int directory, const char* path, int flags) {
  return do_open(directory, path, flags, 0);
}

WT_EXPORT int stat(const char* path, struct stat* st) noexcept {
  return do_stat(AT_FDCWD, path, st, 0);
}
WT_EXPORT int lstat(const char* path, struct stat* st) noexcept {
  return do_stat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
WT_EXPORT int fstat(int fd, struct stat* st) noexcept { return do_fstat(fd, st); }
WT_EXPORT int fstatat(int directory, const char* path, struct stat* st, int flags) noexcept {
  return do_stat(directory, path, st, flags);
}
// On 64-bit Linux `struct stat64` is `struct stat`.
WT_EXPORT int stat64(const char* path, struct stat64* st) noexcept {
  return do_stat(AT_FDCWD, path, reinterpret_cast<struct stat*>(st), 0);
}
WT_EXPORT int lstat64(const char* path, struct stat64* st) noexcept {
  return do_stat(AT_FDCWD, path, reinterpret_cast<struct stat*>(st), AT_SYMLINK_NOFOLLOW);
}
WT_EXPORT int fstat64(int fd, struct stat64* st) noexcept {
  return do_fstat(fd, reinterpret_cast<struct stat*>(st));
}
WT_EXPORT int fstatat64(int directory, const char* path, struct stat64* st, int flags) noexcept {
  return do_stat(directory, path, reinterpret_cast<struct stat*>(st), flags);
}
// Programs built before glibc 2.33 call these; the first argument is a layout version of one value.
WT_EXPORT int __xstat(int, const char* path, struct stat* st) {
  return do_stat(AT_FDCWD, path, st, 0);
}
WT_EXPORT int __lxstat(int, const char* path, struct stat* st) {
  return do_stat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
WT_EXPORT int __fxstat(int, int fd, struct stat* st) { return do_fstat(fd, st); }
WT_EXPORT int __fxstatat(int, int directory, const char* path, struct stat* st, int flags) {
  return do_stat(directory, path, st, flags);
}
WT_EXPORT int __xstat64(int, const char* path, struct stat* st) {
  return do_stat(AT_FDCWD, path, st, 0);
}
WT_EXPORT int __lxstat64(int, const char* path, struct stat* st) {
  return do_stat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
WT_EXPORT int __fxstat64(int, int fd, struct stat* st) { return do_fstat(fd, st); }
WT_EXPORT int __fxstatat64(int, int directory, const char* path, struct stat* st, int flags) {
  return do_stat(directory, path, st, flags);
}

WT_EXPORT int statx(int directory, const char* path, int flags, unsigned mask,
                    struct statx* st) noexcept {
  PathBuffer buffer;
  DeviceNode node;
  const char* ours = redirect_at(directory, path, buffer, &node);
  const int64_t result = ours == nullptr ? sys::call(SYS_statx, directory, path, flags, mask, st)
                                         : sys::call(SYS_statx, AT_FDCWD, ours, flags, mask, st);
  if (result < 0) return fail(static_cast<int>(-result));
  const bool by_descriptor = ours == nullptr && (flags & AT_EMPTY_PATH) != 0 && path[0] == '\0';
  if (node.kind == NodeKind::kNone && !by_descriptor) return 0;
  struct stat shown {};
  if (by_descriptor) {
    Driver* owner = nullptr;
    DeviceFile file;
    if (!is_device(directory, &owner, &file)) return 0;
    owner->disguise(file, &shown);
  } else {
    disguise_node(node, &shown);
  }
  st->stx_mode = static_cast<uint16_t>(shown.st_mode);
  st->stx_rdev_major = major(shown.st_rdev);
  st->stx_rdev_minor = minor(shown.st_rdev);
  st->stx_size = 0;
  return 0;
}

WT_EXPORT int access(const char* path, int mode) noexcept { return do_access(path, mode); }
WT_EXPORT int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  PathBuffer buffer;
  const char* ours = redirect_at(directory, path, buffer);
  auto* next = WT_NEXT(faccessat);
  if (next == nullptr) return fail(ENOSYS);
  return ours == nullptr ? next(directory, path, mode, flags) : next(AT_FDCWD, ours, mode, flags);
}
WT_EXPORT int euidaccess(const char* path, int mode) noexcept {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  auto* next = WT_NEXT(euidaccess);
  return next == nullptr ? fail(ENOSYS) : next(ours == nullptr ? path : ours, mode);
}
WT_EXPORT int eaccess(const char* path, int mode) noexcept { return euidaccess(path, mode); }

WT_EXPORT ssize_t readlink(const char* path, char* text, size_t size) noexcept {
  return do_readlink(AT_FDCWD, path, text, size);
}
WT_EXPORT ssize_t readlinkat(int directory, const char* path, char* text, size_t size) noexcept {
  return do_readlink(directory, path, text, size);
}
WT_EXPORT ssize_t __readlink_chk(const char* path, char* text, size_t size, size_t room) {
  return do_readlink(AT_FDCWD, path, text, size < room ? size : room);
}
WT_EXPORT ssize_t __readlinkat_chk(int directory, const char* path, char* text, size_t size,
                                   size_t room) {
  return do_readlink(directory, path, text, size < room ? size : room);
}

WT_EXPORT char* realpath(const char* path, char* resolved) noexcept {
  return do_realpath(path, resolved);
}
WT_EXPORT char* __realpath_chk(const char* path, char* resolved, size_t) {
  return do_realpath(path, resolved);
}
WT_EXPORT char* canonicalize_file_name(const char* path) noexcept {
  return do_realpath(path, nullptr);
}

WT_EXPORT int chdir(const char* path) noexcept {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  const int64_t result = sys::call(SYS_chdir, ours == nullptr ? path : ours);
  return result < 0 ? fail(static_cast<int>(-result)) : 0;
}

WT_EXPORT DIR* opendir(const char* path) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  return WT_NEXT(opendir)(ours == nullptr ? path : ours);
}

WT_EXPORT int scandir(const char* path, struct dirent*** names, int (*select)(const struct dirent*),
                      int (*compare)(const struct dirent**, const struct dirent**)) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  return WT_NEXT(scandir)(ours == nullptr ? path : ours, names, select, compare);
}
WT_EXPORT int scandir64(const char* path, struct dirent64*** names,
                        int (*select)(const struct dirent64*),
                        int (*compare)(const struct dirent64**, const struct dirent64**)) {
  PathBuffer buffer;
  const char* ours = redirect(path, buffer);
  return WT_NEXT(scandir64)(ours == nullptr ? path : ours, names, select, compare);
}

WT_EXPORT int glob(const char* pattern, int flags, int (*on_error)(const char*, int),
                   glob_t* results) {
  PathBuffer buffer;
  const char* ours = redirect(pattern, buffer);
  const int result = WT_NEXT(glob)(ours == nullptr ? pattern : ours, flags, on_error, results);
  if (ours != nullptr && result == 0) strip_results(results, tree_root());
  return result;
}
WT_EXPORT int glob64(const char* pattern, int flags, int (*on_error)(const char*, int),
                     glob64_t* results) {
  PathBuffer buffer;
  const char* ours = redirect(pattern, buffer);
  const int result = WT_NEXT(glob64)(ours == nullptr ? pattern : ours, flags, on_error, results);
  if (ours != nullptr && result == 0) strip_results(results, tree_root());
  return result;
}
