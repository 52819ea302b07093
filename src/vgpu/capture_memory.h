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

}  // namespace wavetap::vgpu
