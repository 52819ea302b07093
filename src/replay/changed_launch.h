// A captured kernel launched otherwise than it was: with another number of workgroups, or with the
// kernel of another build in its place. The engine and ROCm do it alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "codeobj/image.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/refusal.h"

namespace wavetap::replay {

using Workgroups = std::array<uint32_t, 3>;
Workgroups captured_workgroups(const Capture& capture);

// A hidden argument that follows from the number of workgroups.
struct GridArgument {
  uint64_t offset = 0;
  uint32_t size_bytes = 0;
  uint32_t value = 0;
};

// Counters of the GPU's global wave sync, which the waves of a cooperative grid wait on, by number.
// Each counts down from how many wait, less one: workgroups, or waves.
using WaveSyncCounters = std::map<uint32_t, uint64_t>;
WaveSyncCounters captured_wave_sync(const Capture& capture);

struct ChangedGrid {
  uint32_t grid_size[3] = {};       // work-items
  uint16_t workgroup_size[3] = {};  // at least 1 in each axis
  uint16_t setup = 0;               // of the packet: how many axes count
  std::vector<GridArgument> arguments;
  WaveSyncCounters wave_sync;
};
// An error when it is not known what a cooperative grid then waits on.
Result<ChangedGrid> change_grid(const Capture& capture, const CapturedKernel& kernel,
                                const Workgroups& workgroups);

// A kernel that takes the place of the captured one, checked: it finds its arguments where they are.
struct SwappedKernel {
  Refusal refusal = Refusal::kNone;
  std::string why;  // of a refusal, as an error message

  std::shared_ptr<const std::vector<std::byte>> file;
  std::shared_ptr<const std::vector<std::byte>> storage;  // what was compressed in it
  std::optional<codeobj::CodeObject> object;
  codeobj::ImageLayout layout;
  uint64_t descriptor_offset = 0;  // in the loaded image
  uint32_t group_segment_bytes = 0;
  uint32_t private_segment_bytes = 0;
};
SwappedKernel open_swapped(const Capture& capture, const CapturedKernel& captured,
                           const std::string& path);

}  // namespace wavetap::replay
