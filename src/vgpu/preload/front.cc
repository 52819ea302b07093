#include "vgpu/preload/front.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <cstdio>

#include "amd/drm_abi.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "vgpu/own_fds.h"
#include "vgpu/run_directory.h"

namespace wavetap::vgpu::front {
namespace {

enum class State : uint8_t { kUnknown, kInert, kActive };

std::atomic<State> g_state{State::kUnknown};
char g_run_dir[PATH_MAX];
char g_root[PATH_MAX + 8];

std::atomic<Driver*> g_driver{nullptr};
std::atomic<int> g_driver_failed_pid{0};

// A lock whose word is the owner's process id, so that a child of fork() can tell that the holder
// stayed behind in the parent.
class ForkProofLock {
 public:
  ForkProofLock() {
    const int self = sys::pid();
    for (;;) {
      int holder = 0;
      if (owner_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return;
      if (holder != self && owner_.compare_exchange_strong(holder, self, std::memory_order_acquire))
        return;
      sys::call(SYS_sched_yield);
    }
  }
  ~ForkProofLock() { owner_.store(0, std::memory_order_release); }
  ForkProofLock(const ForkProofLock&) = delete;
  ForkProofLock& operator=(const ForkProofLock&) = delete;

 private:
  static inline constinit std::atomic<int> owner_{0};
};

// Looks at the environment once. Set but unusable is worth one line; unset is the normal case of a
// library that happens to be loaded.
State find_run_dir() {
  const ForkProofLock lock;
  State state = g_state.load(std::memory_order_acquire);
  if (state != State::kUnknown) return state;
  state = State::kInert;
  const char* dir = ::getenv(kRunDirVariable);
  if (dir != nullptr && dir[0] != '\0') {
    const size_t length = ::strlen(dir);
    if (length < sizeof g_run_dir - 16) {
      ::memcpy(g_run_dir, dir, length + 1);
      std::snprintf(g_root, sizeof g_root, "%s/config", g_run_dir);
      if (sys::call(SYS_faccessat, AT_FDCWD, g_root, R_OK) == 0) state = State::kActive;
      std::snprintf(g_root, sizeof g_root, "%s/fs", g_run_dir);
    }
    if (state == State::kInert)
      log::complain(
          "error: %s=%.200s: not a run directory; start the program with `wavetap run --gpu`",
          kRunDirVariable, dir);
  }
  g_state.store(state, std::memory_order_release);
  return state;
}

Driver* start_driver() {
  const ForkProofLock lock;
  const int self = sys::pid();
  Driver* known = g_driver.load(std::memory_order_acquire);
  if (known != nullptr && known->pid() == self) return known;
  if (g_driver_failed_pid.load(std::memory_order_relaxed) == self) return nullptr;
  // The parent's driver is abandoned, its threads and locks with it; its files must not keep memory
  // alive.
  if (known != nullptr) own_fds::close_all();

  const Result<Config> config = read_run_dir(g_run_dir);
  int error = 0;
  Driver* fresh = nullptr;
  if (!config.ok()) {
    log::complain("error: %s", config.error().message.c_str());
  } else {
    fresh = Driver::create(*config, g_run_dir, &error);
    if (fresh == nullptr) log::complain("error: virtual GPU: cannot start: %s", ::strerror(error));
  }
  if (fresh == nullptr) {
    g_driver_failed_pid.store(self, std::memory_order_relaxed);
    return nullptr;
  }
  g_driver.store(fresh, std::memory_order_release);
  return fresh;
}

// Whether `directory` is the root directory.
bool is_top(int directory) {
  struct stat here {};
  struct stat top {};
  return sys::fstat(directory, &here) == 0 &&
         sys::call(SYS_newfstatat, AT_FDCWD, "/", &top, 0) == 0 && here.st_ino == top.st_ino &&
         here.st_dev == top.st_dev;
}

}  // namespace

const char* tree_root() {
  State state = g_state.load(std::memory_order_acquire);
  if (state == State::kUnknown) state = find_run_dir();
  return state == State::kActive ? g_root : nullptr;
}

const char* redirect(const char* path, PathBuffer& buffer, DeviceNode* node) {
  if (node != nullptr) *node = {};
  if (!may_be_ours(path)) return nullptr;
  const char* root = tree_root();
  if (root == nullptr) return nullptr;
  const char* place = place_in_tree(root, path, buffer, node);
  if (place == nullptr) return nullptr;
  if (needs_existence_check(place + ::strlen(root)) &&
      sys::call(SYS_faccessat, AT_FDCWD, place, F_OK) != 0)
    return nullptr;
  return place;
}

const char* redirect_at(int directory, const char* path, PathBuffer& buffer, DeviceNode* node) {
  if (directory < 0 || path == nullptr || path[0] == '/') return redirect(path, buffer, node);
  if (node != nullptr) *node = {};
  if (::strncmp(path, "sys/", 4) != 0 && ::strncmp(path, "dev/", 4) != 0 &&
      ::strncmp(path, "proc/", 5) != 0)
    return nullptr;
  char absolute[PATH_MAX];
  const size_t length = ::strlen(path);
  if (length + 2 > sizeof absolute || tree_root() == nullptr || !is_top(directory)) return nullptr;
  absolute[0] = '/';
  ::memcpy(absolute + 1, path, length + 1);
  return redirect(absolute, buffer, node);
}

Driver* running_driver() {
  Driver* known = g_driver.load(std::memory_order_acquire);
  return known != nullptr && known->pid() == sys::pid() ? known : nullptr;
}

Driver* any_driver() { return g_driver.load(std::memory_order_acquire); }

Driver* driver() {
  if (Driver* known = running_driver()) return known;
  return tree_root() == nullptr ? nullptr : start_driver();
}

bool is_device(int fd, Driver** owner, DeviceFile* file) {
  Driver* known = g_driver.load(std::memory_order_acquire);
  if (known == nullptr || fd < 0 || !known->identify(fd, file)) return false;
  *owner = known;
  return true;
}

int open_node(const DeviceNode& node, int flags) {
  Driver* device = driver();
  if (device == nullptr) return fail(ENXIO);
  const Gpu* gpu = nullptr;
  if (node.kind != NodeKind::kCompute) {
    const uint32_t render_minor = node.kind == NodeKind::kCard ? node.minor + 128 : node.minor;
    gpu = device->gpu_by_render_minor(render_minor);
    if (gpu == nullptr) return fail(ENOENT);
  }
  learn_runtime_code();
  const int fd = device->open_file(gpu, (flags & O_CLOEXEC) != 0);
  return fd < 0 ? fail(-fd) : fd;
}

void disguise_node(const DeviceNode& node, struct stat* st) {
  st->st_mode = S_IFCHR | 0666;
  st->st_rdev =
      node.kind == NodeKind::kCompute ? makedev(511, 0) : makedev(amd::kDrmMajorDevice, node.minor);
  st->st_size = 0;
}

int fail(int error) {
  errno = error;
  return -1;
}

Driver* running_driver_unless_idle() {
  Driver* known = g_driver.load(std::memory_order_acquire);
  return known != nullptr && known->svm().in_use() && known->pid() == sys::pid() ? known : nullptr;
}

void* next_symbol(const char* name) { return ::dlsym(RTLD_NEXT, name); }
void* versioned_symbol(const char* name, const char* version) {
  return ::dlvsym(RTLD_NEXT, name, version);
}

}  // namespace wavetap::vgpu::front
