// Values of other lanes: lane_pattern.cc says which, and a strip has them all.
#include <algorithm>
#include <vector>

#include "jit/native/emit_parts.h"
#include "jit/native/segment_emitter.h"

namespace wavetap::jit {

using llvm::Value;

// Lanes that there is something to read for.
Value* SegmentEmitter::lanes_read(const LanePattern& pattern) {
  const int lanes = static_cast<int>(lanes_.lanes);
  Value* active = emit_lane_mask(ir_, active_);
  std::vector<int> order;
  std::vector<llvm::Constant*> exists;
  for (int i = 0; i < lanes; ++i) {
    order.push_back(std::max(pattern.from[i], 0) % lanes);
    exists.push_back(ir_.getInt1(pattern.from[i] >= 0 && pattern.from[i] < lanes));
  }
  Value* there = llvm::ConstantVector::get(exists);
  if (!pattern.only_active) return there;
  return ir_.CreateAnd(ir_.CreateShuffleVector(active, order), there);
}

Value* SegmentEmitter::lanes_written(const LanePattern& pattern) {
  Value* written = nullptr;
  if (pattern.written != ~uint64_t{0}) {
    Value* shifted =
        ir_.CreateLShr(ir_.getInt64(pattern.written), ir_.CreateZExt(lane_, ir_.getInt64Ty()));
    written = emit_lane_mask(ir_, ir_.CreateTrunc(shifted, ir_.getIntNTy(lanes_.lanes)));
  }
  if (!pattern.keeps_rest) return written;
  Value* read = lanes_read(pattern);
  return written == nullptr ? read : ir_.CreateAnd(written, read);
}

Value* SegmentEmitter::exchanged(const LanePattern& pattern, uint32_t reg) {
  Value* bits = settled_bits(reg);
  // Lanes that are off keep in the wave what they had; here they have been computed like others.
  if (!pattern.only_active && row_[reg].is_written) {
    Value* active = emit_lane_mask(ir_, active_);
    Value* before = ir_.CreateAlignedLoad(lanes_.u32(), row_address(reg),
                                          llvm::Align(std::min(lanes_.lanes * 4, 64u)));
    bits = ir_.CreateSelect(active, bits, before);
  }
  const int lanes = static_cast<int>(lanes_.lanes);
  std::vector<int> order;
  for (int i = 0; i < lanes; ++i) order.push_back(std::max(pattern.from[i], 0) % lanes);
  Value* moved = ir_.CreateShuffleVector(bits, order);
  return ir_.CreateSelect(lanes_read(pattern), moved, lanes_.splat(0u));
}

}  // namespace wavetap::jit
