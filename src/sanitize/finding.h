// Findings: what a kernel did wrong, where, and beside which memory. Folded by instruction and kind
// while the dispatch runs, so that a million wrong accesses of one instruction are one finding with a
// count, and the first of them as the example.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/gpu_addr.h"
#include "emu/access.h"
#include "sanitize/kinds.h"

namespace wavetap::emu {
struct WatchPoint;
struct Workgroup;
}  // namespace wavetap::emu

namespace wavetap::sanitize {

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
  bool is_block = false;    // of an allocator of the program's: what is around it is mapped, too
  const char* memory = "";  // VRAM, GTT, …
  int gpu = -1;             // whose; -1: nobody's

  // Fills in relation and distance, from `begin` and `size_bytes`.
  void relate(uint64_t address);
};

// Who did something, and with which instruction. Coordinates are meaningful as far as they are known:
// `lanes` 0 means the wave as a whole.
struct Place {
  GpuAddr pc;
  uint32_t workgroup[3] = {0, 0, 0};
  uint32_t thread[3] = {0, 0, 0};  // of `lane`, in its workgroup
  uint32_t wave = 0;               // in its workgroup
  int lane = 0;                    // the first of `lanes`
  uint64_t lanes = 0;
  // What it did to memory there, if that matters.
  bool has_access = false;
  emu::Access access{};
  uint32_t size_bytes = 0;  // of a lane's element
};

// Who touches memory without being a kernel.
enum class MoverKind : uint8_t { kNone, kCopy, kFill, kHost };
const char* mover_name(MoverKind kind);  // "a copy", "a fill", …
struct Mover {
  MoverKind what = MoverKind::kNone;
  uint64_t to = 0;    // 0: it only reads
  uint64_t from = 0;  // 0: it only writes
  uint64_t size_bytes = 0;
  uint64_t time_ns = 0;  // when it began, CLOCK_MONOTONIC
};

struct Finding {
  Kind kind{};
  Severity severity{};
  Place place;  // of the first instance
  Mover mover;  // instead of an instruction

  // The memory in question, when place.has_access.
  emu::Space space{};
  uint64_t address = 0;      // of place.lane
  Neighbour neighbour;       // global memory
  uint64_t limit_bytes = 0;  // LDS and scratch: what there is; 0: does not matter

  // The other side: the access a race is with, the load that was not waited for.
  bool has_other = false;
  Place other;
  Mover other_mover;            // instead of an instruction
  const char* other_role = "";  // what it is to the first: "against", "loaded by"; a literal

  std::string detail;  // one more sentence without a full stop, or ""

  // All instances in the dispatch.
  uint64_t times = 0;       // executions of the instruction by a wave
  uint64_t lane_count = 0;  // lanes of all of them
};

// A finding of this kind, with the kind's own severity, at an instruction. `lanes` 0: of the wave.
Finding finding_at(Kind kind, const emu::WatchPoint& at, uint64_t lanes);
// Adds what the instruction does to memory.
void set_access(Finding& finding, const emu::MemoryAccess& access);
// Fills in `thread` from lane and wave.
void set_thread(Place& place, const emu::Workgroup& group, uint32_t lanes_per_wave);

// The findings of one tool in one dispatch. Thread-safe.
class FindingTable {
 public:
  // A new finding, or another instance of one that is here: same kind and places. It has the worst of their
  // severities.
  void add(const Finding& instance);
  // The same with another number of lanes than place.lanes has: who is named may be the other side.
  void add(const Finding& instance, uint32_t lane_count);
  // In order of addresses and kinds; the table is empty afterwards. *dropped: instances of findings
  // for which there was no room.
  std::vector<Finding> take(uint64_t* dropped);

  // Far more than anybody reads; what is beyond is counted.
  static constexpr size_t kMost = 1024;

 private:
  using Key = std::tuple<uint64_t, Kind, Severity, uint64_t>;  // pc, kind, severity, the other's pc

  std::mutex mutex_;
  std::map<Key, Finding> findings_;
  uint64_t dropped_ = 0;
};

}  // namespace wavetap::sanitize
