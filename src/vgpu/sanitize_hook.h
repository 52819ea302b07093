// Checks dispatches while they run (src/sanitize) and leaves what it finds as lines of JSON, for
// `wavetap sanitize`. The format of the lines is between this file and cli/sanitize_report.cc:
//
//   {"type":"finding", "pid", "id", …}         the first instance of a finding, with everything about it
//   {"type":"again", "pid", "id", "times", …}  more of it, from a later dispatch
//   {"type":"held", "pid", "id", "times", …}   how much of it there is now: blocks that are not freed
//   {"type":"dispatch", "pid", "checked", …}   one dispatch: checked, chosen and not checked, left out
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "format/launch_list.h"
#include "sanitize/device_heap.h"
#include "sanitize/footprint.h"
#include "sanitize/session.h"
#include "vgpu/allocation_table.h"
#include "vgpu/code_scan.h"
#include "vgpu/config.h"
#include "vgpu/dispatch_hook.h"
#include "vgpu/init_tracking.h"
#include "vgpu/kernel_cache.h"
#include "vgpu/launch_choice.h"
#include "vgpu/queue_kernel_names.h"
#include "vgpu/queue_races.h"

namespace wavetap::vgpu {

inline constexpr uint32_t kFindingsFormat = 2;

// The allocations as one GPU has them.
class AllocationMap final : public sanitize::MemoryMap {
 public:
  // `tracking` null: nobody knows what was written.
  AllocationMap(const AllocationTable& table, uint32_t gpu, InitTracking* tracking,
                sanitize::DeviceHeap* heap)
      : table_(table), gpu_(gpu), tracking_(tracking), heap_(heap) {}

  uint64_t epoch() const noexcept override { return table_.epoch() + table_.annotations().epoch(); }
  void list(std::vector<sanitize::Block>& blocks) const noexcept override;
  sanitize::Neighbour neighbour(GpuAddr address) const noexcept override;
  sanitize::InitMap* initialised() const noexcept override {
    return tracking_ == nullptr ? nullptr : &tracking_->map();
  }
  sanitize::DeviceHeap* heap() const noexcept override { return heap_; }
  bool is_read_only(GpuAddr address) const noexcept override {
    return table_.annotations().is_read_only(address.value);
  }
  bool host_has_touched(GpuAddr address) const noexcept override {
    return tracking_ != nullptr && tracking_->host_has_touched(address);
  }

 private:
  const AllocationTable& table_;
  const uint32_t gpu_;
  InitTracking* const tracking_;
  sanitize::DeviceHeap* const heap_;
};

class SanitizeHook final : public DispatchHook {
 public:
  SanitizeHook(const Config& config, AllocationTable& allocations, std::span<Gpu* const> gpus);

  Interest interest(const DispatchView&) noexcept override { return Interest::kSome; }
  void* before(DispatchView& view) noexcept override;
  void after(const DispatchView& view, void* state) noexcept override;
  void queue_added(Queue& queue) noexcept override { races_.order().add(queue); }
  void packet_waited(Queue& queue, uint64_t index,
                     std::span<const uint64_t> signals) noexcept override;
  void packet_finished(Queue& queue, uint64_t index, uint64_t signal) noexcept override;
  void memory_moved(Queue& queue, uint64_t index,
                    std::span<const sanitize::MovedRange> ranges) noexcept override;
  bool wants_pool_blocks() const noexcept override { return true; }
  void pool_block_began(AddressRange around, AddressRange block) noexcept override;
  void pool_block_ended(uint64_t address) noexcept override;
  uint64_t host_copy_began() noexcept override;
  void host_copied(uint64_t number, std::span<const sanitize::MovedRange> ranges) noexcept override;

 private:
  // One dispatch's: its tools, and the list of watchers with them in.
  struct Checking {
    explicit Checking(const sanitize::SessionOptions& options) : session(options) {}
    sanitize::Session session;
    emu::Watcher* watchers[emu::kMaxWatchers] = {};
    bool is_chosen = false;
    bool is_runtimes = false;  // a kernel of the runtime's own
    bool watches = false;      // the dispatch; false though it was chosen: it cannot be
    // Where other queues may race with this one.
    bool marks = false;
    sanitize::Footprint footprint;
    QueueCounts over_before;
    // For what is told while it runs.
    Gpu* gpu = nullptr;
    uint32_t queue_id = 0;
    const emu::Dispatch* dispatch = nullptr;
    std::string kernel;
    std::mutex told_mutex;
    std::vector<uint64_t> told;  // numbers of findings
  };
  // Address spaces are never used twice in a guarded process, so these name code for good.
  using Place = std::tuple<uint32_t, uint64_t, uint64_t, sanitize::Kind, sanitize::Severity,
                           uint64_t>;  // GPU, kernel, pc, kind, severity, the other pc

  void tell_now(Checking& checking, const sanitize::Finding& finding);
  // What was told while the dispatch ran, and is none since it has ended.
  std::string taken_back(Checking& checking);
  bool is_chosen(const KnownKernel& kernel);
  Checking* take();
  void give_back(std::unique_ptr<Checking> checking);
  // The keys that every line of a finding has. True: the place is a new one, to be described.
  bool begin_line(std::string& line, const Place& place, const char* again = "again",
                  uint64_t* number = nullptr);
  // `other_kernel`: whose the finding's other side is, when not this kernel's; a kernel object.
  std::string line_of(GuestMemory& memory, const RanKernel& kernel,
                      const sanitize::Finding& finding, GpuAddr other_kernel = {});
  // All about a finding that is a new one.
  void describe(std::string& line, GuestMemory& memory, const RanKernel& kernel,
                const sanitize::Finding& finding, GpuAddr other_kernel);
  std::string copy_line(const Gpu& gpu, const sanitize::Finding& finding);
  // Which places of kernels hold how many blocks of the device heap now, as far as that has changed.
  std::string heap_lines(const DispatchView& view);
  std::string race_lines(const DispatchView& view, RanKernelPtr kernel, Checking& checking);
  void end_copy(Queue& queue);
  void write_copy_races(const Gpu& gpu, std::span<const QueueRace> races);
  void write(const std::string& lines);
  // An undefined part of an allocation is copied to the host.
  void note_gap(const Allocation& from, uint64_t gap, uint64_t count);

  const std::string path_;
  sanitize::SessionOptions options_;
  const KernelPattern pattern_;
  const format::LaunchList launches_;  // which of those that match, from 1; empty: all
  std::atomic<uint64_t> matched_{0};
  KernelCache kernels_;  // chosen: to be checked
  KernelFinder finder_;
  QueueRaces races_;
  AllocationTable& allocations_;
  const Gpu* const first_gpu_;
  // Blocks of the runtime's pools that may be used by what had been submitted when they were given back.
  struct PoolFree {
    uint64_t address = 0;
    QueueCounts submitted;
  };
  void end_pool_blocks();
  std::vector<PoolFree> pool_frees_;
  // Calls of the program's that copy memory, and what of it the copy engines and the runtime's kernels do.
  struct HostCopy {
    QueueCounts submitted;
    uint64_t moves = 0;
  };
  // Nothing was submitted in the call, or it is over and has moved nothing.
  bool is_host_alone(const HostCopy& copy);
  std::atomic<uint64_t> moves_{0};
  uint64_t last_host_copy_ = 0;
  std::map<uint64_t, HostCopy> host_copies_;  // that are not over
  std::unique_ptr<InitTracking> tracking_;
  std::unique_ptr<sanitize::DeviceHeap> heap_;
  CodeScan code_scan_;
  std::vector<std::unique_ptr<AllocationMap>> maps_;  // by GPU
  std::atomic<bool> complained_{false};
  std::mutex mutex_;
  // Lowered code belongs to a watcher, so they are used again, the last one first.
  std::vector<std::unique_ptr<Checking>> idle_;
  std::map<Place, uint64_t> ids_;
};

}  // namespace wavetap::vgpu
