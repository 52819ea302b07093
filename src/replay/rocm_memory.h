// Memory of a captured dispatch at its addresses, in a process with AMD's runtime.
//
// Two things are in the way: the process itself (libraries, heap) and the runtime, which takes ranges of
// addresses for itself when it starts. HeldRanges keeps the captured ranges occupied until then, so that
// the runtime chooses others; each is given up right before memory is put there. Where the thunk manages
// one range of its own (arm64, or HSA_RESERVE_SVM=1), addresses captured there lie inside that range:
// nothing is held then, and the memory is asked for at once, before the runtime needs much itself. For
// addresses captured elsewhere the thunk is brought to do without such a range (keep_addresses_low).
//
// Memory comes from the thunk where it is a library of its own: a fixed address is a flag of its
// allocations, and where it has no such flag the address it chooses is ours (steered_mmap.h). Else it
// comes from the runtime's reserved ranges (vmem), where a wish is granted or not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/capture_file.h"
#include "replay/rocm_api.h"

namespace wavetap::replay {

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  const CapturedRegion* region = nullptr;  // null: memory that the kernel allocates
  uint64_t size() const { return end - begin; }
};

// What a dispatch needs at its addresses: the pages it touches, in one range per region. Arguments,
// packet and queue may lie anywhere and are left out.
std::vector<AddressRange> needed_ranges(const Capture& capture, uint64_t kernarg_bytes,
                                        const std::vector<format::CaptureTouchedPage>& touched);

// The same for placing: ranges of one kind of memory that lie side by side or nearly so become one, since
// the runtime leaves a gap behind each allocation. The region is that of the first.
std::vector<AddressRange> pieces_to_place(std::vector<AddressRange> ranges);

// Ranges of the thunk's own end there; what mmap chooses never lies below.
inline constexpr uint64_t kThunkRangeEnd = uint64_t{1} << 40;

class SteeredMmap;

class HeldRanges {
 public:
  ~HeldRanges();
  // Occupies what is free of the ranges. Those that are not are found out when memory is put there.
  void hold(const std::vector<AddressRange>& ranges);
  void release(const AddressRange& range);
  void release_all();

 private:
  std::vector<std::pair<uint64_t, uint64_t>> held_;
};

// Who has part of a range in this process, as /proc/self/maps names it; "" when nobody has.
// `with_reserved`: addresses count that are taken without memory.
std::string holder_of(const AddressRange& range, bool with_reserved);

class RocmMemory {
 public:
  RocmMemory(const RocmApi& api, HsaHandle gpu, HsaHandle vram_pool, uint32_t gpu_node)
      : api_(api), gpu_(gpu), vram_pool_(vram_pool), gpu_node_(gpu_node) {}

  // Memory at exactly this range. An error names who has it.
  Status place(const AddressRange& range);
  // Memory for it wherever there is some.
  Result<uint64_t> place_elsewhere(const AddressRange& range) const;
  // "thunk" or "vmem".
  const char* method() const;

 private:
  bool place_by_thunk(const AddressRange& range) const;
  std::vector<bool> coarse_to_try(const AddressRange& range) const;
  uint64_t next_of_thunk(bool coarse) const;
  bool place_by_steering(SteeredMmap& steered, const AddressRange& range, uint32_t flags) const;
  bool allocate_by_thunk(const AddressRange& range, uint32_t flags) const;
  bool place_by_vmem(const AddressRange& range) const;

  const RocmApi& api_;
  HsaHandle gpu_;
  HsaHandle vram_pool_;
  uint32_t gpu_node_;
};

}  // namespace wavetap::replay
