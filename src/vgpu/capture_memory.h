// Reading a GPU's memory page by page, for captures.
#pragma once

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
// `is_ours`: the memory is a file of the driver's own, of which most pages may never have been touched.
// Those are skipped, since looking at one would give it memory.
bool for_each_page(GuestMemory& memory, const emu::MappedRange& range, bool is_ours,
                   std::vector<std::byte>& buffer,
                   const std::function<void(uint32_t, const std::byte*)>& visit);

// A range of GPU addresses that shows memory which another one shows, too.
struct AliasedRange {
  uint64_t address = 0;
  uint64_t same_as = 0;
};
// Those among `ranges`, each as part of an earlier one: memory imported from a handle of this process's
// own, or bound twice (VMM). The host's mappings tell: both are the same part of one file.
std::vector<AliasedRange> find_aliases(const std::vector<emu::MappedRange>& ranges);

}  // namespace wavetap::vgpu
