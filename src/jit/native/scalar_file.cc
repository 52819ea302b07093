#include "jit/native/scalar_file.h"

#include <cstddef>

#include "emu/wave.h"

namespace wavetap::jit {

using llvm::Value;

Value* ScalarFile::address(uint32_t at) {
  return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), wave_,
                                offsetof(emu::Wave, s) + uint64_t{at} * sizeof(uint32_t));
}
Value* ScalarFile::scc_address() {
  return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), wave_, offsetof(emu::Wave, scc));
}

Value* ScalarFile::get32(uint32_t at) {
  Slot& slot = slot_[at];
  if (slot.value == nullptr) slot.value = ir_.CreateLoad(ir_.getInt32Ty(), address(at));
  return slot.value;
}

Value* ScalarFile::get64(uint32_t at) {
  if (pair_[at] != nullptr) return pair_[at];
  Slot& low = slot_[at];
  Slot& high = slot_[at + 1];
  if (low.value == nullptr && high.value == nullptr) {
    Value* pair = ir_.CreateAlignedLoad(ir_.getInt64Ty(), address(at), llvm::Align(4));
    low.value = ir_.CreateTrunc(pair, ir_.getInt32Ty());
    high.value = ir_.CreateTrunc(ir_.CreateLShr(pair, 32), ir_.getInt32Ty());
    return pair_[at] = pair;
  }
  Value* wide_low = ir_.CreateZExt(get32(at), ir_.getInt64Ty());
  Value* wide_high = ir_.CreateZExt(get32(at + 1), ir_.getInt64Ty());
  return pair_[at] = ir_.CreateOr(wide_low, ir_.CreateShl(wide_high, 32));
}

void ScalarFile::set32(uint32_t at, Value* value) {
  slot_[at] = {value, true};
  pair_[at] = nullptr;
  if (at > 0) pair_[at - 1] = nullptr;
}

void ScalarFile::set64(uint32_t at, Value* value) {
  set32(at, ir_.CreateTrunc(value, ir_.getInt32Ty()));
  set32(at + 1, ir_.CreateTrunc(ir_.CreateLShr(value, 32), ir_.getInt32Ty()));
  pair_[at] = value;
}

Value* ScalarFile::scc() {
  if (scc_.value == nullptr)
    scc_.value = ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt8Ty(), scc_address()), ir_.getInt8(0));
  return scc_.value;
}
void ScalarFile::set_scc(Value* value) { scc_ = {value, true}; }

Value* ScalarFile::operand(const isa::Operand& operand, uint32_t bits) {
  if (operand.is(isa::OperandKind::kImm))
    return bits == 64 ? ir_.getInt64(operand.imm)
                      : ir_.getInt32(static_cast<uint32_t>(operand.imm));
  return bits == 64 ? get64(operand.index) : get32(operand.index);
}

Value* ScalarFile::mask(uint32_t at, bool wave64) {
  return wave64 ? get64(at) : ir_.CreateZExt(get32(at), ir_.getInt64Ty());
}
void ScalarFile::set_mask(uint32_t at, Value* value, bool wave64) {
  if (wave64) set64(at, value);
  else set32(at, ir_.CreateTrunc(value, ir_.getInt32Ty()));
}

std::vector<ScalarFile::Recent> ScalarFile::recent() const {
  std::vector<Recent> all;
  for (uint32_t at = 0; at < isa::slot::kCount; ++at) {
    const auto is_wanted = [&](uint32_t slot) {
      return slot_[slot].value != nullptr &&
             (slot_[slot].is_dirty || slot == isa::slot::kExecLo || slot == isa::slot::kExecHi);
    };
    if (!is_wanted(at)) continue;
    const bool is_pair = at + 1 < isa::slot::kCount && is_wanted(at + 1) && pair_[at] != nullptr;
    all.push_back({at, is_pair, is_pair ? pair_[at] : slot_[at].value});
    if (is_pair) ++at;
  }
  return all;
}

std::vector<Value*> ScalarFile::load(const std::vector<Recent>& recent) {
  std::vector<Value*> values;
  for (const Recent& of : recent)
    values.push_back(ir_.CreateAlignedLoad(of.value->getType(), address(of.at), llvm::Align(4)));
  return values;
}

void ScalarFile::take(const Recent& recent) {
  if (recent.is_pair) set64(recent.at, recent.value);
  else set32(recent.at, recent.value);
  slot_[recent.at].is_dirty = false;
  if (recent.is_pair) slot_[recent.at + 1].is_dirty = false;
}

void ScalarFile::flush() {
  for (uint32_t at = 0; at < isa::slot::kCount; ++at) {
    Slot& slot = slot_[at];
    if (!slot.is_dirty) continue;
    if (at + 1 < isa::slot::kCount && slot_[at + 1].is_dirty && pair_[at] != nullptr) {
      ir_.CreateAlignedStore(pair_[at], address(at), llvm::Align(4));
      slot_[at + 1].is_dirty = false;
    } else {
      ir_.CreateStore(slot.value, address(at));
    }
    slot.is_dirty = false;
  }
  if (scc_.is_dirty) ir_.CreateStore(ir_.CreateZExt(scc_.value, ir_.getInt8Ty()), scc_address());
  scc_.is_dirty = false;
}

void ScalarFile::forget() {
  slot_.fill({});
  pair_.fill(nullptr);
  scc_ = {};
}

}  // namespace wavetap::jit
