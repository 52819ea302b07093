// What instrumented kernels and the host share: the ring that records go to, the block each dispatch is
// given, and the words of a record. The compiler pass (src/pass) makes code that writes it, the agent
// empties it into a file, and inspect reads that.
//
// A wave reserves the space of a record with one addition to `head`, and only when the ring has room for
// it and for what all the other waves of the GPU may be reserving at the same moment: so nobody ever
// reserves what cannot be written, and nobody waits. What finds no room is counted in `lost`.
//
//   word 0   site, words, kind, dispatch      written last: not zero, the record is complete
//   word 1   workgroup, wave, stride
//   word 2   the lanes that are active
//   word 3   an address or value: of the first active lane when there is a stride, …
//   word 4   … and from row to row, when rows of 2, 4, 8, 16 or 32 lanes have the stride (a tile), …
//   word 3…  … of the first lane of every 16, when those have the stride and lie anywhere, …
//   word 3…  … else of every active lane
//
// A whole wave's load of consecutive elements is 32 bytes, a tile of a matrix 40, wave32 or wave64. Rows anywhere are
// 40 bytes (wave64: 56). The host sets to zero what it has read.
//
// What only has to be counted is counted in a table in the GPU's own memory, a ProbeCount for each site and
// one behind them that counts work-items that have ended. The wave that ends last copies the table to the
// host's memory and clears it for the next dispatch: nobody needs the host while the kernel runs.
//
// The agent is told by a text file what to do (kProbeVariable names it), a `KEY VALUE` each line: folder,
// wants (ProbeWants), kernels (a regular expression), launch, every, max, ring (bytes), records (bytes, at
// most). It leaves in the folder
//
//   PID.records   the records, words as they were in the ring
//   PID.pass      a line of JSON each:
//     {"type":"launch", "dispatch", "kernel", "code", "gpu", "target", "wave_size", …}
//     {"type":"done", "dispatch", "status", "lds_aperture", "scratch_aperture"}
//     {"type":"counts", "dispatch", "sites": [[site, executions, lanes, ticks, most_ticks], …]}
//     {"type":"uncounted", "dispatch"}   the table of a dispatch could not be read
//     {"type":"plain", "kernel"}       a kernel without a twin was launched
//     {"type":"refused", "kernel", "why"}
//     {"type":"left_out", "count"}     launches that ran as they are, for whatever reason
//     {"type":"lost", "count"}         records
//   code/HASH.co  code objects
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::format {

inline constexpr char kTwinSuffix[] = ".wavetap";

inline constexpr char kProbeVariable[] = "WAVETAP_PROBE";

struct alignas(64) ProbeRing {
  uint64_t head = 0;  // bytes that were ever reserved
  uint64_t reserved0[7] = {};
  uint64_t tail = 0;  // bytes that the host has taken out
  uint64_t reserved1[7] = {};
  uint64_t lost = 0;  // records that found no room
  uint64_t reserved2[7] = {};
};
static_assert(sizeof(ProbeRing) == 192);

// What a dispatch wants to have recorded.
enum ProbeWants : uint32_t {
  kProbeMemory = 1u << 0,
  kProbeBlocks = 1u << 1,
  kProbeBarriers = 1u << 2,
  kProbeMessages = 1u << 3,
  // The same kinds, shifted: count in `counts`.
  kProbeCountAny = 0xfu << 8,
  // Blocks add the ticks of the GPU's clock from their begin to their end to `counts`.
  kProbeTicks = 1u << 16,
};
inline constexpr uint32_t kProbeCountShift = 8;

// One per dispatch; its address is the last argument of the instrumented kernel.
struct ProbeLaunch {
  uint64_t ring = 0;       // ProbeRing
  uint64_t words = 0;      // of the ring
  uint64_t word_mask = 0;  // their number, a power of two, less one
  uint64_t usable_bytes = 0;
  uint64_t counts = 0;  // with kProbeCountAny or kProbeTicks: ProbeCount by site
  uint32_t dispatch = 0;
  uint32_t wants = 0;
  uint32_t grid_size[3] = {};
  uint32_t workgroup_size[3] = {};
  uint32_t workgroups[2] = {};  // along x and y
  // Written by the kernel: the upper halves of flat addresses that mean LDS and scratch.
  uint32_t lds_aperture = 0;
  uint32_t scratch_aperture = 0;
  uint64_t lanes_done = 0;  // work-items that have ended
  uint64_t lanes = 0;       // of the whole grid
  uint64_t results = 0;  // where the last wave puts the table, with kProbeCountAny or kProbeTicks
  uint32_t site_count = 0;
  uint32_t reserved0 = 0;
  uint64_t reserved1 = 0;
};
inline constexpr uint32_t kProbeTable = kProbeCountAny | kProbeTicks;
static_assert(sizeof(ProbeLaunch) == 128 && offsetof(ProbeLaunch, lanes_done) == 88);

struct ProbeCount {
  uint64_t executions = 0;  // by waves
  uint64_t lanes = 0;
  uint64_t ticks = 0;
  uint64_t most_ticks = 0;
};
inline constexpr uint32_t kCountShift = 5;
static_assert(sizeof(ProbeCount) == 1u << kCountShift);

// Kinds of records.
enum ProbeKind : uint32_t {
  kBlockRecord = 1,
  kBarrierRecord = 2,
  kMemoryRecord = 4,   // with a stride; +1: address by address; +8: rows of 16 lanes; +9: a tile
  kMessageRecord = 6,  // likewise
};
inline constexpr uint32_t kListOfKind = 1;
inline constexpr uint32_t kRowsOfKind = 8;
inline constexpr uint32_t kRowLanes = 16;
inline constexpr uint32_t kTileOfKind = kListOfKind | kRowsOfKind;

// Word 0, its lower half; the upper is the dispatch.
inline constexpr uint32_t kSiteBits = 20;
inline constexpr uint32_t kWordsShift = 20;
inline constexpr uint32_t kKindShift = 28;
// Word 1: the workgroup's number in the lower half.
inline constexpr uint32_t kWaveShift = 32;
inline constexpr uint32_t kStrideShift = 40;
inline constexpr uint32_t kStrideBits = 24;
// Word 4 of a tile: the distance from row to row in the lower half, signed; above it the lanes of a row, as a power of two.
inline constexpr uint32_t kTileBitsShift = 32;

inline constexpr uint32_t kPointWords = 3;
inline constexpr uint32_t kAffineWords = 4;
inline constexpr uint32_t kTileWords = 5;
inline constexpr uint32_t kMostRecordWords = kPointWords + 64;

// The clock that blocks are timed with, by the first number of the target (gfx9.., gfx10.., gfx11..).
struct ProbeClock {
  const char* name;
  uint32_t bits;
};
constexpr ProbeClock probe_clock(uint32_t major) {
  if (major < 11) return {"s_memtime", 64};
  return {"SHADER_CYCLES", major == 11 ? 20u : 32u};
}

struct ProbeRecord {
  uint32_t site = 0;
  uint32_t words = 0;
  uint32_t kind = 0;
  uint32_t dispatch = 0;
};
inline ProbeRecord unpack(uint64_t word) {
  const auto low = static_cast<uint32_t>(word);
  return {low & ((1u << kSiteBits) - 1), (low >> kWordsShift) & 0xff, low >> kKindShift,
          static_cast<uint32_t>(word >> 32)};
}

}  // namespace wavetap::format
