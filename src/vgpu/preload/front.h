// The front end's state: is this process part of a run with virtual GPUs, where is the run's tree,
// which driver instance is ours. Shared by the interposed calls in this folder.
//
// Rules for everything here: errno is preserved unless a call fails; nothing allocates before the
// device itself is opened (an interposed call may come from inside malloc); no lock that another
// thread might hold across fork() is ever waited for.
#pragma once

#include <atomic>
#include <cstdint>

#include "vgpu/driver.h"
#include "vgpu/vfs.h"

#define WT_EXPORT extern "C" __attribute__((visibility("default")))

namespace wavetap::vgpu::front {

// The tree's root directory (`$WAVETAP_GPU_DIR/fs`), or null: then every call is passed through.
const char* tree_root();

// Our place for `path`, or null when the call is not for us. `node`: see place_in_tree().
const char* redirect(const char* path, PathBuffer& buffer, DeviceNode* node = nullptr);
// The same for a call with a directory: hwloc names every file below a descriptor of the root directory.
const char* redirect_at(int directory, const char* path, PathBuffer& buffer,
                        DeviceNode* node = nullptr);

// The driver of this process, started on first use; null when that fails.
Driver* driver();
// The same, but never starts one.
Driver* running_driver();
// Ours, or one inherited from the parent of a fork, or null. No system call.
Driver* any_driver();

// Is `fd` one of the running driver's device files?
bool is_device(int fd, Driver** owner, DeviceFile* file);

// Opens a device node: a descriptor, or -1 with errno.
int open_node(const DeviceNode& node, int flags);

// What stat(2) shows of a device node found by name.
void disguise_node(const DeviceNode& node, struct stat* st);

// The device was opened: whose waiting loops are to rest is looked up now, when the loader may be asked (clock.cc).
void learn_runtime_code();

// Sets errno and returns -1.
int fail(int error);

// Null unless munmap() may concern the driver; no system call.
Driver* running_driver_unless_idle();

// The next definition of a libc function: the one we stand in front of.
void* next_symbol(const char* name);
void* versioned_symbol(const char* name, const char* version);

}  // namespace wavetap::vgpu::front

// The function behind ours, for those that no allocator calls: resolving it frees the text of an earlier error.
// Resolved once.
#define WT_NEXT(function)                                     \
  ([]() -> decltype(&::function) {                            \
    static std::atomic<void*> cached{nullptr};                \
    void* found = cached.load(std::memory_order_relaxed);     \
    if (found == nullptr) {                                   \
      found = ::wavetap::vgpu::front::next_symbol(#function); \
      cached.store(found, std::memory_order_relaxed);         \
    }                                                         \
    return reinterpret_cast<decltype(&::function)>(found);    \
  }())
