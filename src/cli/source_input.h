// What `wavetap source` can look at: device code of a file, of a capture, of the code objects that a
// trace names, or what wavetap probe -o left; and what was counted in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspect/listing.h"
#include "inspect/site_figures.h"

namespace wavetap::cli {

// A function, where it is from, and what was counted in it.
struct SourceFunction {
  std::string name;     // demangled
  std::string library;  // the file, or where the code object came from
  bool is_kernel = false;
  inspect::Listing listing;                          // empty: its code was not asked for
  std::map<uint32_t, inspect::SiteFigures> figures;  // by site; empty: nothing was counted
  uint64_t dispatches = 0;                           // that a trace has; 0: none, or no trace
  int64_t total_ns = 0;
};

struct SourceInput {
  std::vector<SourceFunction> functions;
  std::vector<std::string> problems;  // what could not be read
  bool is_trace = false;
};

// Of which functions, by demangled name, the code is wanted: a library of AMD's has thousands, and
// minutes of text.
using NameChoice = std::function<bool(const std::string& name)>;

// `target` as replay::is_for() takes it; `counters` is a file of run --counters or "".
Result<SourceInput> read_source_input(const std::string& path, const std::string& target,
                                      const std::string& counters, const NameChoice& wanted);

}  // namespace wavetap::cli
