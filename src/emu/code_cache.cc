#include "emu/code_cache.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/check.h"
#include "emu/guest_read.h"

namespace wavetap::emu {
namespace {

// How much is read in the hope of finding the end of a function: this, then four times as much, …
constexpr size_t kFirstReadBytes = 4096;
// A function that is longer becomes several blocks.
constexpr size_t kLongestFunctionBytes = 1 << 20;
// Lowered variants of one block. Kernels that share a function differ in their registers; more
// than a few are the remains of dispatches that nobody will repeat.
constexpr size_t kMaxVariants = 8;

// Where code that begins at `pc`, in `range`, has to end: mappings that follow each other go on, also
// inside an instruction.
uint64_t end_of_code(Memory& memory, GpuAddr pc, MappedRange range) {
  while (range.end - pc.value < kLongestFunctionBytes) {
    const MappedRange next = memory.lookup(GpuAddr{range.end});
    if (!next.contains(range.end, 4) || !next.readable || !next.executable) break;
    range.end = next.end;
  }
  return range.end;
}

bool matches(const isa::Program& program, const CodeCache::Key& key) {
  return program.target() == key.target && program.wave64() == key.wave64;
}

}  // namespace

CodeCache::Found CodeCache::find(const Key& key, GpuAddr pc, uint64_t serial,
                                 uint64_t function_bytes) {
  Found found;
  std::shared_ptr<Block> block = known_block(key, pc);
  if (block != nullptr && !is_unchanged(*block, serial)) {
    invalidate(block->program->begin(), block->bytes.size());
    block = nullptr;
  }
  if (block == nullptr) {
    block = decode_block(key, pc, function_bytes, &found.fault);
    if (block == nullptr) return found;
    block->verified_for.store(serial, std::memory_order_relaxed);
    block = insert(block);
  }
  found.index = block->program->index_of(pc);
  found.code = variant_of(*block, key);
  return found;
}

void CodeCache::invalidate(GpuAddr begin, uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  // No block is longer than a function may be, so none that starts earlier can reach `begin`.
  const uint64_t first =
      begin.value < kLongestFunctionBytes ? 0 : begin.value - kLongestFunctionBytes;
  for (auto it = blocks_.lower_bound(first); it != blocks_.end();) {
    if (it->first >= begin.value + size_bytes) break;
    it = begin.value < it->first + it->second->bytes.size() ? drop(it) : std::next(it);
  }
}

size_t CodeCache::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return size_bytes_;
}

std::shared_ptr<CodeCache::Block> CodeCache::known_block(const Key& key, GpuAddr pc) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Block> block = find_block(key, pc);
  if (block != nullptr) uses_.splice(uses_.begin(), uses_, block->use);
  return block;
}

std::shared_ptr<CodeCache::Block> CodeCache::find_block(const Key& key, GpuAddr pc) {
  // The function that starts at pc, else one that pc is in the middle of.
  for (auto it = blocks_.upper_bound(pc.value); it != blocks_.begin();) {
    --it;
    if (it->first + kLongestFunctionBytes <= pc.value) break;
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
                                                          uint64_t function_bytes,
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
  const uint64_t available = (end_of_code(*key.memory, pc, range) - pc.value) & ~uint64_t{3};
  const auto longest = static_cast<size_t>(std::min<uint64_t>(available, kLongestFunctionBytes));
  auto block = std::make_shared<Block>();
  block->memory = key.memory;
  std::vector<std::byte>& bytes = block->bytes;
  const auto read = [&](size_t size) {
    const size_t have = bytes.size();
    bytes.resize(size);
    return guest_read(*key.memory, run_guarded_, pc + have, std::span(bytes).subspan(have),
                      /*executable=*/true);
  };
  *fault = FaultKind::kPageFault;
  if (function_bytes >= 4 && function_bytes <= longest) {
    if (!read(static_cast<size_t>(function_bytes) & ~size_t{3})) return nullptr;
    block->program =
        std::make_shared<const isa::Program>(isa::decode(bytes, pc, key.target, key.wave64));
    return block;
  }
  isa::FunctionDecoder decoder(pc, key.target, key.wave64);
  for (size_t size = std::min(kFirstReadBytes, longest);; size = std::min(size * 4, longest)) {
    if (!read(size)) return nullptr;
    if (decoder.advance(bytes, /*is_all=*/size == available) || size == longest) break;
  }
  block->program = std::make_shared<const isa::Program>(decoder.take());
  bytes.resize(static_cast<size_t>(block->program->end().value - pc.value));
  bytes.shrink_to_fit();
  return block;
}

// The block now in the cache: another thread may have decoded the same function meanwhile.
std::shared_ptr<CodeCache::Block> CodeCache::insert(const std::shared_ptr<Block>& block) {
  const std::lock_guard lock(mutex_);
  const GpuAddr begin = block->program->begin();
  const auto [first, last] = blocks_.equal_range(begin.value);
  for (auto it = first; it != last; ++it) {
    const Block& other = *it->second;
    if (other.memory == block->memory && other.program->target() == block->program->target() &&
        other.program->wave64() == block->program->wave64() && other.bytes == block->bytes)
      return it->second;
  }
  const auto place = blocks_.emplace(begin.value, block);
  uses_.push_front(place);
  block->use = uses_.begin();
  block->is_cached = true;
  charge(*block);
  return block;
}

std::shared_ptr<const LoweredCode> CodeCache::variant_of(Block& block, const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<const LoweredCode> known = find_variant(block, key)) return known;
  }
  // Lowering a large kernel takes milliseconds and asks watchers; others may use the cache
  // meanwhile. Who wants the same code waits for it: a watcher is asked once.
  const std::lock_guard lowering(block.lowering);
  {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<const LoweredCode> known = find_variant(block, key)) return known;
  }
  auto lowered = std::make_shared<const LoweredCode>(block.program, key.lowering, key.watchers);
  const std::lock_guard lock(mutex_);
  if (block.variants.size() >= kMaxVariants) block.variants.erase(block.variants.begin());
  block.variants.push_back(lowered);
  charge(block);
  shrink();
  return lowered;
}

std::shared_ptr<const LoweredCode> CodeCache::find_variant(Block& block, const Key& key) {
  for (auto it = block.variants.begin(); it != block.variants.end(); ++it) {
    if ((*it)->lowering() != key.lowering) continue;
    std::rotate(it, it + 1, block.variants.end());
    return block.variants.back();
  }
  return nullptr;
}

CodeCache::Blocks::iterator CodeCache::drop(Blocks::iterator it) {
  Block& block = *it->second;
  // Wrapped around, the cache would drop everything but the last block from now on.
  if (WT_SOFT_CHECK(size_bytes_ >= block.charged_bytes, "what is dropped was charged"))
    size_bytes_ -= block.charged_bytes;
  block.charged_bytes = 0;
  block.is_cached = false;
  uses_.erase(block.use);
  return blocks_.erase(it);
}

void CodeCache::charge(Block& block) {
  if (!block.is_cached) return;  // dropped meanwhile
  size_t bytes = sizeof(Block) + block.bytes.size() + block.program->memory_bytes();
  for (const auto& variant : block.variants) bytes += variant->memory_bytes();
  size_bytes_ += bytes - block.charged_bytes;
  block.charged_bytes = bytes;
}

void CodeCache::shrink() {
  // The one used last stays, however large it is.
  while (size_bytes_ > limit_bytes_ && uses_.size() > 1) drop(uses_.back());
}

}  // namespace wavetap::emu
