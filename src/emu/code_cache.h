// CodeCache: decoded code by address.
//
// A kernel's code is decoded when a wave first gets there, in blocks: the function that starts at
// the address asked for, as far as its flow goes (isa::FunctionDecoder) or as far as its symbol
// says. Data behind it is not decoded. Calls, tail calls and computed jumps leave a block; the
// engine then finds or decodes the block they lead to.
//
// Code may be rewritten behind our back (memory freed and reused for another code object), so each
// block keeps the bytes it was decoded from, and a dispatch compares them the first time it enters
// the block. The work per executed instruction is none: a wave runs inside one block's tables, and
// a worker remembers its recent jumps in a JumpCache (jump_cache.h).
//
// Memory: a decoded instruction takes some 350 bytes. When all blocks together exceed the limit,
// the ones not used for longest are dropped; dispatches in flight keep what they use alive.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "amd/gfx_target.h"
#include "base/gpu_addr.h"
#include "emu/exec.h"
#include "emu/fault.h"
#include "emu/lower.h"
#include "emu/memory.h"
#include "isa/program.h"

namespace wavetap::emu {

// Thread-safe.
class CodeCache {
 public:
  // What the lowered form depends on besides the bytes.
  struct Key {
    Memory* memory = nullptr;
    amd::GfxTarget target;
    bool wave64 = true;
    Lowering lowering;
    std::span<Watcher* const> watchers = {};  // those that `lowering` names
  };
  struct Found {
    std::shared_ptr<const LoweredCode> code;
    int32_t index = -1;
    FaultKind fault = FaultKind::kPageFault;  // why, when code is null
  };

  CodeCache(RunGuarded run_guarded, size_t limit_bytes)
      : run_guarded_(run_guarded), limit_bytes_(limit_bytes) {}

  // The code at `pc`, decoded now when needed. `serial` identifies the dispatch: a block is
  // compared with memory when its last user was another one. `function_bytes`: how long the
  // function at `pc` is, when known; 0: found out from its flow.
  Found find(const Key& key, GpuAddr pc, uint64_t serial, uint64_t function_bytes = 0);

  void invalidate(GpuAddr begin, uint64_t size_bytes);

  // Memory that the blocks take.
  size_t size_bytes() const;

 private:
  struct Block;
  using Blocks = std::multimap<uint64_t, std::shared_ptr<Block>>;  // by first address

  // One decoded function and its lowered variants (kernels differ in how many registers they have).
  struct Block {
    Memory* memory = nullptr;
    std::vector<std::byte> bytes;
    std::shared_ptr<const isa::Program> program;
    std::atomic<uint64_t> verified_for{0};
    std::mutex lowering;  // held by who makes a variant; the cache's is taken inside it
    // --- Guarded by the cache's mutex.
    std::vector<std::shared_ptr<const LoweredCode>> variants;  // the last one used last
    size_t charged_bytes = 0;
    bool is_cached = false;
    std::list<Blocks::iterator>::iterator use;  // valid while is_cached
  };

  std::shared_ptr<Block> known_block(const Key& key, GpuAddr pc);
  std::shared_ptr<Block> decode_block(const Key& key, GpuAddr pc, uint64_t function_bytes,
                                      FaultKind* fault) const;
  std::shared_ptr<Block> insert(const std::shared_ptr<Block>& block);
  std::shared_ptr<const LoweredCode> variant_of(Block& block, const Key& key);
  bool is_unchanged(Block& block, uint64_t serial) const;

  // mutex_ held.
  std::shared_ptr<Block> find_block(const Key& key, GpuAddr pc);
  std::shared_ptr<const LoweredCode> find_variant(Block& block, const Key& key);
  Blocks::iterator drop(Blocks::iterator block);
  void charge(Block& block);
  void shrink();

  const RunGuarded run_guarded_;
  const size_t limit_bytes_;
  // Everything below, and what each block says.
  mutable std::mutex mutex_;
  Blocks blocks_;
  std::list<Blocks::iterator> uses_;  // the block used last comes first
  size_t size_bytes_ = 0;
};

}  // namespace wavetap::emu
