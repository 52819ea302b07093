// The memory a GPU can reach, as far as this library has seen it being made, and reading it.
//
// Sources: what was allocated from the runtime, pinned, mapped or imported (allocations.h), the code
// objects, and what a kernel finds through its queue. What the driver gives the runtime behind all of
// that (scratch, signals) is not among it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "agent/dispatch_policy.h"
#include "format/capture.h"

namespace wavetap::agent {

// Whole pages.
struct ReachableRange {
  uint64_t address = 0;  // as the GPU sees it
  uint64_t bytes = 0;
  uint64_t data = 0;        // the first byte that is memory of it, as the GPU sees it
  uint64_t data_bytes = 0;  // the rest of the pages counts as zeros
  uint64_t host = 0;        // where the host reads `data`; 0: only the GPU can
  uint64_t agent = 0;       // the GPU that must copy it; 0: the runtime chooses
  format::CaptureMemoryKind kind{};
  format::CaptureMemoryOrigin origin{};
  uint32_t rights = 0;
  uint32_t flags = 0;
  uint64_t allocation = 0;
  uint64_t allocation_bytes = 0;
};

// By address, none in another.
std::vector<ReachableRange> reachable_ranges(const DispatchView& dispatch);

// Reads ranges page by page. Device memory is copied by the runtime through a buffer that GPUs see.
class RangeReader {
 public:
  RangeReader();
  ~RangeReader();
  RangeReader(const RangeReader&) = delete;
  RangeReader& operator=(const RangeReader&) = delete;

  // visit(page number, its bytes). False: parts could not be read and were left out.
  bool read(const ReachableRange& range,
            const std::function<void(uint32_t, const std::byte*)>& visit);

 private:
  bool copy(const ReachableRange& range, uint64_t offset, uint64_t bytes, std::byte* to);
  bool copy_by(uint64_t agent, const void* from, uint64_t bytes, std::byte* to);

  std::byte* buffer_ = nullptr;  // kChunkBytes, from the runtime where possible
  bool is_runtimes_ = false;
  std::vector<std::byte> own_;
};

}  // namespace wavetap::agent
