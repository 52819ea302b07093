// Findings: what a kernel did wrong, where, and beside which memory. Folded by instruction and kind
// while the dispatch runs, so that a million wrong accesses of one instruction are one finding with a
// count, and the first of them as the example.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/gpu_addr.h"
#include "emu/access.h"

namespace wavetap::sanitize {

enum class Kind : uint8_t {
  kOutOfBounds,     // global memory: beside an allocation, or in the unused rest of its last page
  kUseAfterFree,    // inside an allocation that was freed
  kInvalidAddress,  // no allocation is near
  kNoAccess,        // inside an allocation that this GPU may not read, or not write
  kLdsOutOfBounds,  // past what the dispatch asked for
  kScratchOutOfBounds,
  kMisalignedAtomic,  // not at a multiple of its size
};
inline constexpr size_t kKinds = 7;
const char* kind_name(Kind kind);

// Where an address lies in relation to the allocation next to it.
enum class Relation : uint8_t { kNone, kInside, kPast, kBefore };
const char* relation_name(Relation relation);

struct Neighbour {
  Relation relation = Relation::kNone;
  uint64_t distance = 0;  // bytes past its end, before its begin, or from its begin when inside
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  bool exact = false;  // the size is what the program asked for; else whole pages
  bool freed = false;
  const char* memory = "";  // VRAM, GTT, …
  int gpu = -1;             // whose; -1: nobody's
};

struct Finding {
  Kind kind{};
  emu::Space space{};
  emu::Access access{};
  uint32_t size_bytes = 0;  // of a lane's element
  GpuAddr pc;

  // The first instance.
  uint32_t workgroup[3] = {0, 0, 0};
  uint32_t thread[3] = {0, 0, 0};  // of `lane`, in its workgroup
  uint32_t wave = 0;               // in its workgroup
  int lane = 0;                    // the first of `lanes`
  uint64_t lanes = 0;              // that did wrong in this instance
  uint64_t address = 0;            // of `lane`
  Neighbour neighbour;             // global memory
  uint64_t limit_bytes = 0;        // LDS and scratch: what there is

  // All instances in the dispatch.
  uint64_t times = 0;       // executions of the instruction by a wave
  uint64_t lane_count = 0;  // lanes of all of them
};

// The findings of one dispatch. Thread-safe.
class FindingTable {
 public:
  // A new finding, or another instance of one that is here.
  void add(const Finding& instance);
  // In order of addresses and kinds; the table is empty afterwards. *dropped: instances of findings
  // for which there was no room.
  std::vector<Finding> take(uint64_t* dropped);

  // Far more than anybody reads; what is beyond is counted.
  static constexpr size_t kMost = 1024;

 private:
  std::mutex mutex_;
  std::map<std::pair<uint64_t, Kind>, Finding> findings_;
  uint64_t dropped_ = 0;
};

}  // namespace wavetap::sanitize
