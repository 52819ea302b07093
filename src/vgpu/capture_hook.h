// Freezes chosen dispatches: everything the GPU could reach, written to a file before the kernel
// runs, and what the kernel changed once it has run. The file's layout: format/capture.h; what
// makes it smaller and replays it: replay/.
//
// A chosen dispatch has the GPUs for itself. Where that cannot be had (another kernel does not end),
// the capture is marked as unordered.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "capture/capture_writer.h"
#include "format/capture_request.h"
#include "format/launch_list.h"
#include "vgpu/allocation_table.h"
#include "vgpu/capture_memory.h"
#include "vgpu/config.h"
#include "vgpu/dispatch_hook.h"
#include "vgpu/kernel_cache.h"
#include "vgpu/launch_choice.h"

namespace wavetap::vgpu {

class CaptureHook final : public DispatchHook {
 public:
  CaptureHook(const Config& config, const AllocationTable& allocations);

  Interest interest(const DispatchView& view) noexcept override;
  void* before(DispatchView& view) noexcept override;
  void after(const DispatchView& view, void* state) noexcept override;

 private:
  struct Chosen {
    std::shared_ptr<const KnownKernel> kernel;
    uint64_t launch = 0;
    uint64_t dispatch = 0;
  };
  // What after() compares with.
  struct Region {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    bool has_contents = false;
    bool begins_zero = false;  // see for_each_page()
    capture::PageRuns pages;
  };
  struct Frozen {
    uint32_t capture = 0;
    std::vector<Region> regions;
  };

  bool matches(const KnownKernel& kernel) const;
  static bool launch_context(const DispatchView& view, format::LaunchContext* context);
  bool wants_launch(uint64_t launch) const;
  void put_dispatch(const DispatchView& view, const Chosen& chosen, uint32_t capture);
  void put_facts(const DispatchView& view, uint32_t capture);
  void put_region(const DispatchView& view, const emu::MappedRange& range, Frozen& frozen);
  void put_code_objects(const DispatchView& view, uint32_t capture);
  void put_changes(const DispatchView& view, const Frozen& frozen);
  void finish(int error);

  const Config& config_;
  const AllocationTable& allocations_;
  format::LaunchList launches_;
  const KernelPattern pattern_;
  KernelCache kernels_;
  std::atomic<uint64_t> dispatches_{0};
  std::atomic<uint64_t> matched_{0};
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  // the rest
  capture::CaptureWriter writer_;
  std::map<std::pair<uint32_t, uint32_t>, Chosen> chosen_;  // by GPU and queue, until before()
  uint64_t taken_ = 0;
  uint32_t captures_ = 0;
  std::vector<std::byte> buffer_;
  PrivateMemory private_;
};

}  // namespace wavetap::vgpu
