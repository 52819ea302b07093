// Reading a GPU's memory page by page, for captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "emu/memory.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {

// Calls visit(page number, its bytes) for the pages of [address, +size) that may hold something else
// than zeros; the last one is filled up with zeros. False: parts could not be read and were taken
// for zeros.
//
// `begins_zero`: a page that was never touched holds zeros: memory files of the driver's own, and
// PrivateMemory. Those are skipped, since looking at one takes time and may give it memory.
bool for_each_page(GuestMemory& memory, const emu::MappedRange& range, bool begins_zero,
                   std::vector<std::byte>& buffer,
                   const std::function<void(uint32_t, const std::byte*)>& visit);

// Memory of the process that is its own and has no file behind it, as /proc/self/maps has it. The
// runtime registers pools of many megabytes of which a program uses a few pages.
class PrivateMemory {
 public:
  void read();
  bool holds(const std::byte* at, uint64_t size_bytes) const;

 private:
  struct Span {
    uint64_t begin = 0, end = 0;
  };
  std::vector<Span> spans_;  // in order; what adjoins is one
};

// A range of GPU addresses that shows memory which another one shows, too.
struct AliasedRange {
  uint64_t address = 0;
  uint64_t same_as = 0;
};
// Those among `ranges`, each as part of an earlier one: memory imported from a handle of this process's
// own, or bound twice (VMM). The host's mappings tell: both are the same part of one file.
std::vector<AliasedRange> find_aliases(const std::vector<emu::MappedRange>& ranges);

}  // namespace wavetap::vgpu
