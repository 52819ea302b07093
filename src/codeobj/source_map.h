// SourceMap: which source an address of a code object comes from, with the calls that the compiler
// inlined there, from its debug information (-g or -gline-tables-only). The one place that answers
// this, inside programs and offline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codeobj/elf.h"
#include "codeobj/line_table.h"

namespace wavetap::codeobj {

struct SourceFrame {
  std::string function;  // short, demangled; "" when not known
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;

  bool operator==(const SourceFrame&) const = default;
};

// Immutable; any thread may read it. Needs the ELF file only while it is made.
class SourceMap {
 public:
  SourceMap() = default;
  explicit SourceMap(const ElfView& elf);

  bool empty() const { return lines_.empty(); }
  // Of an address as linked, innermost first: where the instruction is written, then where that
  // function was called, up to the function that is really there. Empty when nothing is known.
  std::vector<SourceFrame> frames(uint64_t address) const;
  // The frame a user looks for, of those: see users_frame(). Nothing when none is known.
  std::optional<SourceFrame> user_line(uint64_t address) const;

 private:
  // A function's code, or that of a call that was inlined into one.
  struct Scope {
    uint32_t name = 0;    // index into names_
    int32_t outer = -1;   // index into scopes_: what it was inlined into; -1: into nothing
    uint32_t depth = 0;   // how many are around it
    std::string file;     // of the call
    uint32_t line = 0;    // of the call
    uint32_t column = 0;  // of the call
  };
  // From `begin` to the next one's: the innermost scope, or none.
  struct Stretch {
    uint64_t begin = 0;
    int32_t scope = -1;
  };
  friend class ScopeReader;

  std::string function_at(uint64_t address) const;

  LineTable lines_;
  std::vector<std::string> names_;
  std::vector<Scope> scopes_;
  std::vector<Stretch> stretches_;  // sorted
  struct Function {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::string name;
  };
  std::vector<Function> functions_;  // symbols, sorted; for code without entries in .debug_info
};

// The number of the frame to show first: the innermost that is not in a header of the compiler, of
// ROCm or of the system, since an error inside atomicAdd() is one of the line that calls it. 0 when
// all of them are. `frames` is not empty.
size_t users_frame(std::span<const SourceFrame> frames);

// "/path/main.hip:12".
std::string full_place(const SourceFrame& frame);

// As keys of a line of JSON: "source", the user's line, and, where calls were inlined, "frames" with
// "function" and "source" of each, innermost first. Appends nothing when there are none.
void append_source(std::string& line, std::span<const SourceFrame> frames);

}  // namespace wavetap::codeobj
