#include "sanitize/fixed_map.h"

#include <algorithm>
#include <utility>

namespace wavetap::sanitize {

FixedMap::FixedMap(std::vector<FixedBlock> blocks) : blocks_(std::move(blocks)) {
  std::sort(blocks_.begin(), blocks_.end(),
            [](const FixedBlock& a, const FixedBlock& b) { return a.block.begin < b.block.begin; });
}

void FixedMap::list(std::vector<Block>& blocks) const noexcept {
  for (const FixedBlock& known : blocks_) blocks.push_back(known.block);
}

Neighbour FixedMap::neighbour(GpuAddr address) const noexcept {
  if (blocks_.empty()) return {};
  const auto to_neighbour = [&](const FixedBlock& known) {
    Neighbour beside{.begin = known.block.begin,
                     .size_bytes = known.block.end - known.block.begin,
                     .exact = known.exact,
                     .memory = known.memory};
    beside.relate(address.value);
    return beside;
  };
  const auto above = std::upper_bound(
      blocks_.begin(), blocks_.end(), address.value,
      [](uint64_t wanted, const FixedBlock& known) { return wanted < known.block.begin; });
  if (above == blocks_.begin()) return to_neighbour(*above);
  const Neighbour below = to_neighbour(*std::prev(above));
  if (below.relation == Relation::kInside || above == blocks_.end()) return below;
  const Neighbour next = to_neighbour(*above);
  return next.distance < below.distance ? next : below;
}

}  // namespace wavetap::sanitize
