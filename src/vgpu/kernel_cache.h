// KernelCache: the names of kernels that dispatches run. Finding one means reading files, so it is
// remembered for as long as the same descriptor is at the same address.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "amd/kernel_descriptor.h"
#include "vgpu/dispatch_hook.h"

namespace wavetap::vgpu {

struct KnownKernel {
  amd::KernelDescriptor descriptor;
  std::string name;       // demangled
  std::string library;    // the file its code is from; "": none
  bool built_in = false;  // one that ROCr brings for copies and fills; no code object describes it
  bool chosen = false;    // what the cache's owner thinks of it
};

// Thread-safe.
class KernelCache {
 public:
  // `choose` is asked once for each kernel found.
  explicit KernelCache(std::function<bool(const KnownKernel&)> choose = {})
      : choose_(std::move(choose)) {}

  // Null when the dispatch names no readable kernel.
  std::shared_ptr<const KnownKernel> of(const DispatchView& view);

 private:
  const std::function<bool(const KnownKernel&)> choose_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint64_t>, std::shared_ptr<const KnownKernel>>
      known_;  // by GPU and address
};

}  // namespace wavetap::vgpu
