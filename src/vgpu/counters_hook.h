// The counters of each dispatch as lines of text, for `wavetap run --counters` and for the trace. The
// format is a contract: docs/counters.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "vgpu/dispatch_hook.h"
#include "vgpu/kernel_cache.h"
#include "vgpu/memory_counting.h"

namespace wavetap::vgpu {

// Bumped when the meaning of an existing key changes; new keys may come any time.
inline constexpr uint32_t kCountersFormat = 1;

// Opens the file for each line: no descriptor of ours stays in the program, and a forked child needs
// nothing.
class CountersHook final : public DispatchHook {
 public:
  // With `caches`, modelled ones as well, which begin each dispatch as `start` says.
  explicit CountersHook(std::string path, bool caches = false,
                        cachesim::Start start = cachesim::Start::kCold)
      : path_(std::move(path)), caches_(caches), memory_(start) {}

  Interest interest(const DispatchView&) noexcept override { return Interest::kSome; }
  void* before(DispatchView& view) noexcept override;
  void after(const DispatchView& view, void* state) noexcept override;

 private:
  std::string line_of(const DispatchView& view, void* state);

  const std::string path_;
  const bool caches_;
  MemoryCounting memory_;
  std::atomic<bool> complained_{false};
  KernelCache kernels_;
};

}  // namespace wavetap::vgpu
