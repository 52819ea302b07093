#include "isa/program.h"

#include <algorithm>

namespace wavetap::isa {

Program::Program(GpuAddr begin, uint64_t size_bytes, amd::GfxTarget target, bool wave64)
    : begin_(begin), size_bytes_(size_bytes), target_(target), wave64_(wave64) {}

GpuAddr Program::pc_of(int32_t index) const {
  if (index < 0 || index >= size()) return end();
  return begin_ + offsets_[static_cast<size_t>(index)];
}

int32_t Program::index_of(GpuAddr pc) const {
  if (pc < begin_ || pc >= end()) return -1;
  const auto offset = static_cast<uint32_t>(pc.value - begin_.value);
  // The Y half of a VOPD pair repeats the offset of its X half; lower_bound finds the X half.
  const auto it = std::lower_bound(offsets_.begin(), offsets_.end(), offset);
  if (it == offsets_.end() || *it != offset) return -1;
  return static_cast<int32_t>(it - offsets_.begin());
}

}  // namespace wavetap::isa
