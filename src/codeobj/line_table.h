// Source lines of code addresses, from a code object's .debug_line (present when built with -g or
// -gline-tables-only). DWARF versions 2 to 5, uncompressed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codeobj/elf.h"

namespace wavetap::codeobj {

struct SourceLine {
  std::string file;  // path as the compiler wrote it, joined with its directory
  uint32_t line = 0;
  uint32_t column = 0;
};

// Immutable; any thread may read it.
class LineTable {
 public:
  // Empty when there is no line information or none that can be read.
  static LineTable read(const ElfView& elf);

  bool empty() const { return sequences_.empty(); }
  // The line of an address as linked.
  std::optional<SourceLine> find(uint64_t address) const;
  // The file that has this number in the unit at `unit_offset` of .debug_line; "" when there is none.
  std::string_view file(uint64_t unit_offset, uint64_t number) const;

 private:
  friend class LineProgram;

  struct Row {
    uint64_t address = 0;
    uint32_t file = 0;  // index into files_
    uint32_t line = 0;
    uint32_t column = 0;
  };
  // Rows of contiguous code: [begin, end).
  struct Sequence {
    uint64_t begin = 0;
    uint64_t end = 0;
    size_t first_row = 0;
    size_t row_count = 0;
  };

  struct Unit {
    uint64_t offset = 0;  // in .debug_line
    size_t first_file = 0;
  };

  std::vector<std::string> files_;
  std::vector<Unit> units_;  // sorted by offset
  std::vector<Row> rows_;
  std::vector<Sequence> sequences_;  // sorted by begin
};

}  // namespace wavetap::codeobj
