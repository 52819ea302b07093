// Driver: the compute driver of this process, without any notion of how calls reach it. Front ends
// (the preloaded library today) hand it decoded ioctls through kfd_ioctl() and drm_ioctl(), its
// files for mmap, and nothing else.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "amd/kfd_abi.h"
#include "vgpu/allocation_table.h"
#include "vgpu/buffer_table.h"
#include "vgpu/config.h"
#include "vgpu/dispatch_hook.h"
#include "vgpu/events.h"
#include "vgpu/gem_table.h"
#include "vgpu/gpu.h"
#include "vgpu/queues.h"
#include "vgpu/svm.h"

namespace wavetap::vgpu {

// Which of the driver's files something is.
struct DeviceFile {
  Gpu* gpu = nullptr;  // null: the compute device
};

// Created on first use in each process, never destroyed: programs use the GPU from atexit handlers,
// and a forked child abandons its parent's. Thread-safe.
class Driver {
 public:
  // Null when the system refuses a file or memory; *error says why.
  static Driver* create(const Config& config, const std::string& run_dir, int* error);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const Config& config() const { return config_; }
  std::span<Gpu* const> gpus() const { return gpus_; }
  Gpu* gpu_by_id(uint32_t gpu_id) const;
  Gpu* gpu_by_render_minor(uint32_t minor) const;
  const AllocationTable& allocations() const { return *allocations_; }
  BufferStore& store() { return *store_; }
  BufferTable& buffers() { return *buffers_; }
  GemTable& gems() { return *gems_; }
  EventTable& events() { return *events_; }
  QueueTable& queues() { return *queues_; }
  SvmTable& svm() { return *svm_; }
  int pid() const { return pid_; }

  // A new descriptor for the compute device (gpu null) or a render node, or -errno.
  int open_file(const Gpu* gpu, bool cloexec) const;
  // Is this file one of ours? `st` is of the file itself, not what we show of it.
  bool identify(const struct stat& st, DeviceFile* file) const;
  bool identify(int fd, DeviceFile* file) const;
  // What stat(2) shows: a character device.
  void disguise(const DeviceFile& file, struct stat* st) const;

  // --- verbs that involve several tables; 0 or errno
  void clock_counters(amd::KfdGetClockCountersArgs* counters) const;
  amd::KfdApertures apertures(const Gpu& gpu) const;
  // `page`: in, the handle of the event page's buffer that user space passes with its first event,
  // else 0 or what it got; out, a value that is never 0.
  int create_event(EventType type, bool auto_reset, uint32_t node_id, uint64_t* page,
                   EventHandle* handle);
  int free_memory(uint64_t handle);
  // What the program asked the runtime for; the driver itself is asked for whole pages.
  void note_requested_size(uint64_t va, uint64_t size_bytes) {
    allocations_->set_requested(va, size_bytes);
  }
  // Host memory that the runtime has made visible at `va`, in whole pages; and has taken away again.
  void note_locked(uint64_t host, uint64_t va, uint64_t size_bytes);
  void forget_locked(uint64_t host) { allocations_->annotations().remove_locked(host); }
  // Memory that a pool of the runtime's (hipMallocAsync) has handed out; it takes it back behind what was submitted by
  // now. DispatchHook::pool_block_ended().
  bool wants_pool_blocks() const noexcept;
  void pool_block_began(uint64_t va, uint64_t size_bytes) noexcept;
  void pool_block_ended(uint64_t va) noexcept;
  // Around a call of the program's that copies memory, on its thread: DispatchHook::host_copied(). One hook at
  // most wants to know.
  uint64_t host_copy_began() noexcept;
  void host_copied(uint64_t number, uint64_t to, uint64_t from, uint64_t bytes) noexcept;
  // include/wavetap/annotate.h
  void annotate(int what, uint64_t address, uint64_t bytes) {
    allocations_->annotations().annotate(static_cast<Annotations::What>(what), address, bytes);
  }
  // What the program's munmap of host memory means for the GPUs. Call before the mapping goes.
  void host_unmapped(uint64_t address, uint64_t size_bytes);
  // Moves a file of ours off descriptor `fd`, which the program wants for itself.
  bool vacate_fd(int fd);

 private:
  Driver(const Config& config, const std::string& run_dir);
  int start();

  struct File {
    int fd = -1;
    dev_t device = 0;
    ino_t inode = 0;
  };
  int make_file(const char* name, File* file);

  Config config_;
  std::string run_dir_;
  int pid_ = 0;
  mutable std::mutex files_mutex_;  // descriptors may move; device and inode are constant
  File compute_;
  std::vector<File> render_;
  std::vector<Gpu*> gpus_;
  emu::Engine* engine_ = nullptr;
  AllocationTable* allocations_ = nullptr;
  BufferStore* store_ = nullptr;
  BufferTable* buffers_ = nullptr;
  GemTable* gems_ = nullptr;
  EventTable* events_ = nullptr;
  QueueTable* queues_ = nullptr;
  std::vector<DispatchHook*> hooks_;
  SvmTable* svm_ = nullptr;
  std::mutex event_page_mutex_;
  uint64_t event_page_handle_ = 0;
};

// One ioctl on the compute device. `request` is the whole number with its size bits. 0 or errno.
int kfd_ioctl(Driver& driver, uint32_t request, uint64_t user_args);
// One ioctl on a render node.
int drm_ioctl(Driver& driver, Gpu& gpu, uint32_t request, uint64_t user_args);

}  // namespace wavetap::vgpu
