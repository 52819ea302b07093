// FixedMap: memory that neither comes nor goes, for dispatches that run without a driver.
#pragma once

#include <cstdint>
#include <vector>

#include "sanitize/memory_map.h"

namespace wavetap::sanitize {

struct FixedBlock {
  Block block;
  const char* memory = "";  // what kind, for reports
  bool exact = true;        // the end is that of what was asked for; else of a page
};

class FixedMap final : public MemoryMap {
 public:
  explicit FixedMap(std::vector<FixedBlock> blocks);  // in any order, apart from each other

  uint64_t epoch() const noexcept override { return 1; }
  void list(std::vector<Block>& blocks) const noexcept override;
  Neighbour neighbour(GpuAddr address) const noexcept override;

 private:
  std::vector<FixedBlock> blocks_;  // by address
};

}  // namespace wavetap::sanitize
