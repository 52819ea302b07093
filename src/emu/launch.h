// Launch: what every workgroup of one dispatch has in common, worked out once, and how a
// workgroup's waves look when they start.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "amd/kernel_descriptor.h"
#include "emu/code_cache.h"
#include "emu/engine_options.h"
#include "emu/fault.h"
#include "emu/lower.h"
#include "emu/workgroup.h"

namespace wavetap::emu {

struct Launch {
  const Dispatch* dispatch = nullptr;
  amd::KernelDescriptor descriptor{};
  bool wave64 = true;
  uint32_t lanes = 64;
  RegisterLimits registers;             // as instructions may name them
  uint32_t agpr_first_row = 0;          // where AGPR 0 is among a wave's rows
  uint32_t rows = 0;                    // rows of storage per wave
  uint32_t lds_bytes = 0;               // rounded to what the target allocates
  uint32_t scratch_bytes_per_lane = 0;  // likewise
  uint32_t initial_fill = 0;
  uint64_t groups[3] = {1, 1, 1};
  uint64_t group_count = 1;
  uint32_t waves_per_group = 1;  // of a whole workgroup

  // User SGPRs, then room for the system ones.
  uint32_t user_sgprs[64] = {};
  uint32_t user_sgpr_count = 0;

  GpuAddr entry;
  CodeCache::Key code_key;
  std::shared_ptr<const LoweredCode> code;
  int32_t entry_index = 0;

  // A wave at its first instruction, but for its registers and what differs from wave to wave.
  Wave first_wave;
  // What v0, and v1 and v2 where they hold some, have then: of a whole workgroup's waves, one after the other.
  uint32_t id_rows = 0;
  std::vector<uint32_t> work_item_ids;

  size_t storage_bytes_per_group() const;
};

// Reads and checks the descriptor and the sizes, and finds the code. A fault when they are invalid.
std::optional<Fault> prepare_launch(const Dispatch& dispatch, const EngineOptions& options,
                                    CodeCache& cache, uint64_t serial, Launch* launch);

// Makes `group` the workgroup number `linear` (x fastest), its waves at the kernel's first
// instruction. False when there is no memory for it.
bool start_workgroup(const Launch& launch, uint64_t linear, Workgroup& group);

}  // namespace wavetap::emu
