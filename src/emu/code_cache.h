// CodeCache: decoded code by address.
//
// A kernel's code is decoded when a wave first gets there, in blocks: from the address asked for to
// the end of the function that starts there, as far as a sweep can tell. Calls, tail calls and
// computed jumps leave a block; the engine then finds or decodes the block they lead to.
//
// Code may be rewritten behind our back (memory freed and reused for another code object), so each
// block keeps the bytes it was decoded from, and a dispatch compares them the first time it enters
// the block. The work per executed instruction is none: a wave runs inside one block's tables, and
// a worker remembers its recent jumps in a JumpCache that lives no longer than a dispatch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "amd/gfx_target.h"
#include "base/gpu_addr.h"
#include "emu/engine.h"
#include "emu/exec.h"
#include "emu/fault.h"
#include "emu/lower.h"
#include "emu/memory.h"
#include "isa/program.h"

namespace wavetap::emu {

// A place in decoded code.
struct CodePlace {
  const LoweredCode* code = nullptr;
  int32_t index = -1;
};

// Recent jumps between blocks of one worker; direct mapped, one dispatch at a time.
struct JumpCache {
  static constexpr size_t kEntries = 256;
  struct Entry {
    uint64_t pc = ~uint64_t{0};
    CodePlace place;
  };
  std::array<Entry, kEntries> entries{};
  uint64_t owner = 0;  // serial of the dispatch these belong to

  Entry& entry(uint64_t pc) { return entries[(pc >> 2 ^ pc >> 10) % kEntries]; }
  void reset(uint64_t new_owner) {
    entries.fill({});
    owner = new_owner;
  }
};

// Thread-safe.
class CodeCache {
 public:
  // What the decoded form depends on besides the bytes.
  struct Key {
    Memory* memory = nullptr;
    amd::GfxTarget target;
    bool wave64 = true;
    uint32_t vgpr_count = 0;
    uint32_t agpr_count = 0;
  };
  struct Found {
    std::shared_ptr<const LoweredCode> code;
    int32_t index = -1;
    FaultKind fault = FaultKind::kPageFault;  // why, when code is null
  };

  explicit CodeCache(RunGuarded run_guarded) : run_guarded_(run_guarded) {}

  // The code at `pc`, decoded now when needed. `serial` identifies the dispatch: a block is
  // compared with memory when its last user was another one.
  Found find(const Key& key, GpuAddr pc, uint64_t serial);

  void invalidate(GpuAddr begin, uint64_t size_bytes);

 private:
  // One decoded stretch and its lowered variants (kernels differ in how many registers they have).
  struct Block {
    Memory* memory = nullptr;
    std::vector<std::byte> bytes;
    std::shared_ptr<const isa::Program> program;
    std::atomic<uint64_t> verified_for{0};
    std::vector<std::shared_ptr<const LoweredCode>> variants;
  };

  std::shared_ptr<Block> known_block(const Key& key, GpuAddr pc) const;
  bool is_unchanged(Block& block, uint64_t serial) const;
  std::shared_ptr<Block> decode_block(const Key& key, GpuAddr pc, FaultKind* fault) const;
  std::shared_ptr<const LoweredCode> variant_of(Block& block, const Key& key);
  void insert(const std::shared_ptr<Block>& block);

  const RunGuarded run_guarded_;
  // Everything below, and each block's variants.
  mutable std::mutex mutex_;
  std::multimap<uint64_t, std::shared_ptr<Block>> blocks_;  // by first address
  size_t cached_instructions_ = 0;
};

}  // namespace wavetap::emu
