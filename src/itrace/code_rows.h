// The rows of a trace's code: all of each function that a wave was in, so that what was not reached
// shows, with the source each instruction comes from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codeobj/source_map.h"
#include "itrace/trace.h"

namespace wavetap::itrace {

// An instruction, by addresses as linked.
struct CodePlace {
  uint64_t function = 0;  // where its function begins
  uint64_t address = 0;
};

struct CodeNames {
  uint64_t entry = 0;     // of the kernel
  std::string name;       // mangled; "": not known
  std::string demangled;  // likewise
  uint64_t code_object = 1;
};

struct CodeRows {
  std::vector<CodeRow> rows;
  std::unordered_map<uint64_t, uint32_t> row_of;  // by address
  uint64_t entry_row = 0;
};

CodeRows make_rows(std::vector<CodePlace> places, const CodeNames& names,
                   const codeobj::SourceMap& sources,
                   const std::function<std::string(uint64_t address)>& text);

}  // namespace wavetap::itrace
