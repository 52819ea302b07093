// Probes chosen dispatches: hands them to the handlers of a probe::Session and keeps what they find,
// for `wavetap probe`. Where results go: probe/result_files.h.
#pragma once

#include <regex.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/source_map.h"
#include "format/launch_choice.h"
#include "probe/result_files.h"
#include "probe/session.h"
#include "vgpu/allocation_table.h"
#include "vgpu/config.h"
#include "vgpu/dispatch_hook.h"
#include "vgpu/kernel_cache.h"

namespace wavetap::vgpu {

class ProbeHook final : public DispatchHook {
 public:
  ProbeHook(const Config& config, const AllocationTable& allocations);

  Interest interest(const DispatchView& view) noexcept override;
  void* before(DispatchView& view) noexcept override;
  void after(const DispatchView& view, void* state) noexcept override;

 private:
  // What handlers can ask of this process.
  class Files final : public probe::ResultFiles {
   public:
    Files(const std::string& folder, const AllocationTable& allocations)
        : ResultFiles(folder), allocations_(allocations) {}

    uint32_t source(const probe::Code& code, uint32_t site, uint32_t frame,
                    wavetap_source* out) noexcept override;
    bool buffer(uint32_t gpu, uint64_t address, wavetap_buffer* out) noexcept override;

   private:
    struct Known;
    const AllocationTable& allocations_;
    std::mutex mutex_;
    std::map<uint32_t, std::shared_ptr<Known>> known_;  // by code
  };

  // One dispatch that is probed.
  struct Probing {
    probe::DispatchFacts facts;
    probe::DispatchRecord record;
    emu::Watcher* watchers[emu::kMaxWatchers] = {};
  };

  bool matches(const KnownKernel& kernel) const;
  bool wants_launch(uint64_t launch, const std::string& kernel);
  void keep_new_code(const DispatchView& view);

  const Config& config_;
  format::LaunchChoice launches_;
  bool has_pattern_ = false, has_library_ = false, has_not_library_ = false;
  regex_t pattern_{};  // in a kernel's name
  regex_t library_{};  // in the path of its file
  regex_t not_library_{};
  KernelCache kernels_;
  Files files_;
  probe::Session session_;
  std::mutex launched_mutex_;
  std::set<std::string> launched_;  // kernels, when the first launch of each is asked for
  std::atomic<uint64_t> matched_{0};
  std::atomic<uint64_t> taken_{0};
};

}  // namespace wavetap::vgpu
