#include "emu/code_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "emu/guest_read.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;

// How much is decoded in the hope of finding the end of a function: this, then four times as much,
// …
constexpr size_t kFirstSweepBytes = 4096;
constexpr size_t kLongestSweepBytes = 1 << 20;
// Instructions kept; beyond this everything is forgotten and decoded again when needed. About 100
// MB.
constexpr size_t kMaxCachedInstructions = 300'000;

bool is_relative_branch(const Inst& inst) {
  return inst.family == isa::Family::kSopp &&
         (inst.target >= 0 || isa::op_name(inst.op)[2] == 'c' || inst.op == Op::s_branch);
}

// Nothing runs on behind these.
bool ends_flow(const Inst& inst) {
  switch (inst.op) {
    case Op::kInvalid:
    case Op::s_endpgm:
    case Op::s_endpgm_saved:
    case Op::s_setpc_b64:
    case Op::s_branch:
    case Op::s_code_end: return true;
    default: return false;
  }
}

// The longest instruction. Nearer than this to the end of a sweep, one may have been cut in two.
constexpr uint64_t kLongestInstructionBytes = 20;

// Number of instructions that certainly were decoded whole.
int32_t whole_instructions(const isa::Program& program) {
  int32_t count = program.size();
  while (count > 0 &&
         program.pc_of(count - 1).value + kLongestInstructionBytes > program.end().value)
    --count;
  return count;
}

// Number of instructions, of the first `limit`, up to the end of the function at the start of
// `program`: the first place where flow ends and beyond which no earlier branch leads. -1 when
// there is none.
int32_t function_end(const isa::Program& program, int32_t limit) {
  int32_t reached = 0;
  for (int32_t i = 0; i < limit; ++i) {
    const Inst& inst = program.insts()[i];
    reached = std::max(reached, inst.target);
    if (inst.target < 0 && inst.imm16 > 0 && is_relative_branch(inst) && inst.op != Op::kInvalid)
      return -1;
    if (i >= reached && ends_flow(inst)) return i + 1;
  }
  return -1;
}

// The first `count` instructions of `program`.
isa::Program cut(isa::Program& program, int32_t count) {
  for (int32_t i = 0; i < count; ++i)  // a branch that now leads out of the Program
    if (Inst& inst = program.mutable_insts()[static_cast<size_t>(i)]; inst.target > count)
      inst.target = -1;
  isa::Program head(program.begin(), program.pc_of(count).value - program.begin().value,
                    program.target(), program.wave64());
  auto& insts = program.mutable_insts();
  auto& offsets = program.mutable_offsets();
  head.mutable_insts().assign(std::make_move_iterator(insts.begin()),
                              std::make_move_iterator(insts.begin() + count));
  head.mutable_offsets().assign(offsets.begin(), offsets.begin() + count);
  return head;
}

bool matches(const isa::Program& program, const CodeCache::Key& key) {
  return program.target() == key.target && program.wave64() == key.wave64;
}

}  // namespace

CodeCache::Found CodeCache::find(const Key& key, GpuAddr pc, uint64_t serial) {
  Found found;
  std::shared_ptr<Block> block = known_block(key, pc);
  if (block != nullptr && !is_unchanged(*block, serial)) {
    invalidate(block->program->begin(), block->bytes.size());
    block = nullptr;
  }
  if (block == nullptr) {
    block = decode_block(key, pc, &found.fault);
    if (block == nullptr) return found;
    block->verified_for.store(serial, std::memory_order_relaxed);
    insert(block);
  }
  found.index = block->program->index_of(pc);
  found.code = variant_of(*block, key);
  return found;
}

void CodeCache::invalidate(GpuAddr begin, uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const Block& block = *it->second;
    const uint64_t first = block.program->begin().value;
    const bool overlaps =
        first < begin.value + size_bytes && begin.value < first + block.bytes.size();
    if (!overlaps) {
      ++it;
      continue;
    }
    cached_instructions_ -= static_cast<size_t>(block.program->size());
    it = blocks_.erase(it);
  }
}

std::shared_ptr<CodeCache::Block> CodeCache::known_block(const Key& key, GpuAddr pc) const {
  const std::lock_guard lock(mutex_);
  // No block is longer than a sweep, so nothing that starts earlier can contain pc.
  for (auto it = blocks_.upper_bound(pc.value); it != blocks_.begin();) {
    --it;
    if (it->first + kLongestSweepBytes <= pc.value) break;
    const Block& block = *it->second;
    if (block.memory == key.memory && matches(*block.program, key) && pc < block.program->end() &&
        block.program->index_of(pc) >= 0)
      return it->second;
  }
  return nullptr;
}

bool CodeCache::is_unchanged(Block& block, uint64_t serial) const {
  if (block.verified_for.load(std::memory_order_relaxed) == serial) return true;
  std::vector<std::byte> now(block.bytes.size());
  if (!guest_read(*block.memory, run_guarded_, block.program->begin(), now, /*executable=*/true))
    return false;
  if (now != block.bytes) return false;
  block.verified_for.store(serial, std::memory_order_relaxed);
  return true;
}

std::shared_ptr<CodeCache::Block> CodeCache::decode_block(const Key& key, GpuAddr pc,
                                                          FaultKind* fault) const {
  const MappedRange range = key.memory->lookup(pc);
  if (!range.contains(pc.value, 4) || !range.readable) {
    *fault = pc.value >> 48 != 0 ? FaultKind::kApertureViolation : FaultKind::kPageFault;
    return nullptr;
  }
  if (!range.executable) {
    *fault = FaultKind::kExecuteForbidden;
    return nullptr;
  }
  const uint64_t available = (range.end - pc.value) & ~uint64_t{3};
  for (size_t sweep = kFirstSweepBytes;; sweep *= 4) {
    std::vector<std::byte> bytes(static_cast<size_t>(std::min<uint64_t>(sweep, available)));
    if (!guest_read(*key.memory, run_guarded_, pc, bytes, /*executable=*/true)) {
      *fault = FaultKind::kPageFault;
      return nullptr;
    }
    isa::Program program = isa::decode(bytes, pc, key.target, key.wave64);
    const bool more = bytes.size() < available;
    const int32_t whole = more ? whole_instructions(program) : program.size();
    int32_t end = function_end(program, whole);
    if (end < 0 && more && sweep < kLongestSweepBytes) continue;
    if (end < 0) end = whole;

    auto block = std::make_shared<Block>();
    block->memory = key.memory;
    block->program = std::make_shared<const isa::Program>(cut(program, end));
    bytes.resize(static_cast<size_t>(block->program->end().value - pc.value));
    block->bytes = std::move(bytes);
    return block;
  }
}

void CodeCache::insert(const std::shared_ptr<Block>& block) {
  const std::lock_guard lock(mutex_);
  // Dispatches in flight keep what they use alive.
  if (cached_instructions_ > kMaxCachedInstructions) {
    blocks_.clear();
    cached_instructions_ = 0;
  }
  cached_instructions_ += static_cast<size_t>(block->program->size());
  blocks_.emplace(block->program->begin().value, block);
}

std::shared_ptr<const LoweredCode> CodeCache::variant_of(Block& block, const Key& key) {
  const std::lock_guard lock(mutex_);
  for (const auto& variant : block.variants)
    if (variant->limits().vgprs == key.vgpr_count && variant->limits().agprs == key.agpr_count)
      return variant;
  block.variants.push_back(std::make_shared<const LoweredCode>(
      block.program, RegisterLimits{key.vgpr_count, key.agpr_count}));
  return block.variants.back();
}

}  // namespace wavetap::emu
