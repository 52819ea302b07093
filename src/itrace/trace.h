// InstructionTrace: which instructions the waves of a dispatch issued, one by one, and when.
//
// The shape is that of AMD's thread trace, so that what rocprofv3 recorded on hardware and what the
// virtual GPU ran are one thing to whoever reads it: a list of instructions with their sums, and per
// wave the places in that list with times. Cycles are those of the shader clock. Times of the virtual
// GPU are modelled (schedule.h), the order and number of instructions are exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codeobj/source_map.h"

namespace wavetap::itrace {

// As AMD's files number them.
enum class Category : uint8_t {
  kNone,
  kSmem,
  kSalu,
  kVmem,
  kFlat,
  kLds,
  kValu,
  kJump,   // a branch that was taken
  kNext,   // one that was not
  kImmed,  // waits, nops, barriers, the end: what the sequencer does itself
  kContext,
  kMessage,
  kBvh,
};
inline constexpr size_t kCategories = 13;
std::string_view name_of(Category category);  // "VMEM"

enum class WaveState : uint8_t { kEmpty, kIdle, kExec, kWait, kStall };
inline constexpr size_t kWaveStates = 5;
std::string_view name_of(WaveState state);

// One instruction of the code, with the sums over all waves. A function begins with a row that is no
// instruction: "; its name".
struct CodeRow {
  std::string text;
  // "/path/main.hip:12", with inlined calls several, innermost first, joined by " -> ". Of a
  // function's first row: its demangled name. "": not known.
  std::string source = {};
  uint64_t code_object = 0;
  uint64_t address = 0;  // as linked
  uint64_t hits = 0;
  uint64_t latency = 0;  // sum of the durations
  uint64_t stall = 0;
  uint64_t idle = 0;  // between the instruction before it, of the same wave, and this one

  bool is_label() const { return text.starts_with(';'); }
};

// One instruction of one wave: tried at `time`, issued at `time` + `stall`, done with at `time` +
// `duration` (gfx9: with issuing, later ones: with executing).
struct Issue {
  int64_t time = 0;
  uint32_t stall = 0;
  uint32_t duration = 0;
  uint32_t row = 0;
  Category category = Category::kNone;

  bool operator==(const Issue&) const = default;
};

// Instructions whose results a wait waits for.
struct Wait {
  uint32_t row = 0;
  std::vector<uint32_t> producers;  // rows

  bool operator==(const Wait&) const = default;
};

struct StateSpan {
  WaveState state{};
  int64_t cycles = 0;

  bool operator==(const StateSpan&) const = default;
};

struct Wave {
  uint32_t se = 0;  // shader engine, over all XCCs
  uint32_t cu = 0;  // of the engine; RDNA: work-group processor
  uint32_t simd = 0;
  uint32_t slot = 0;
  uint32_t id = 0;  // counts the waves of one slot
  int64_t begin = 0;
  int64_t end = 0;
  std::optional<uint64_t> workgroup;
  uint32_t wave_in_group = 0;
  bool is_cut = false;  // instructions at its end are missing
  std::vector<Issue> issues;
  std::vector<StateSpan> timeline;
  std::vector<Wait> waits;  // each pair of wait and producers once
};

// What the trace does not hold.
struct Losses {
  uint64_t waves_elsewhere = 0;    // on compute units or SIMDs that were not chosen
  uint64_t waves_left_out = 0;     // chosen, but the limit was reached
  uint64_t waves_cut = 0;          // in the middle, by the limit
  uint64_t instructions_lost = 0;  // of waves left out and cut
};

struct Trace {
  std::string kernel;  // demangled
  std::string gpu;     // "AMD Instinct MI210"; "": not known
  std::string target;  // "gfx90a"; "": not known
  uint32_t gfx_major = 9;
  bool is_modelled = false;
  double clock_hz = 0;     // 0: not known
  uint64_t entry_row = 0;  // the kernel's first instruction
  std::vector<CodeRow> code;
  std::vector<Wave> waves;
  Losses losses;
  std::vector<std::string> notes;

  uint64_t issue_count() const;
};

// Fills the sums of the code from the waves.
void add_up(Trace& trace);

// The places of a row's source, innermost first; only files and lines are known.
std::vector<codeobj::SourceFrame> places_of(const CodeRow& row);
// The one to show: the user's own line, not that of a header it calls into. Line 0: not known.
codeobj::SourceFrame users_place(const CodeRow& row);
inline constexpr std::string_view kSourceSeparator = " -> ";

}  // namespace wavetap::itrace
