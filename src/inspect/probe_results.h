// What probes left in a folder (probe/result_files.h), read and added up: per kernel, over all its
// dispatches and all processes.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "format/launch_choice.h"
#include "inspect/listing.h"
#include "inspect/pass_sites.h"
#include "util/json_library.h"

namespace wavetap::inspect {

using Json = nlohmann::ordered_json;

// An instruction: which of ProbeResults::codes, and which of its sites.
struct SiteKey {
  uint32_t code = 0;
  uint32_t site = 0;
  auto operator<=>(const SiteKey&) const = default;
};

// Accesses of one kind by one instruction; the handler `memory` explains the figures.
struct MemoryKind {
  uint32_t space = 0;
  uint32_t access = 0;
  uint32_t flags = 0;
  uint32_t element_bytes = 0;
  auto operator<=>(const MemoryKind&) const = default;
};
struct MemoryRow {
  std::map<std::string, uint64_t> sums;  // by column
  uint64_t alignment = 0;                // bytes; 0: not known
  uint64_t ways = 0;
  uint64_t bank = 0;
  std::string conflicting;              // lanes, hexadecimal
  std::map<int64_t, uint64_t> strides;  // executions
  std::vector<uint64_t> reuse;          // touches by log2 of the interval

  uint64_t operator[](const char* column) const {
    const auto found = sums.find(column);
    return found == sums.end() ? 0 : found->second;
  }
};

struct BlockRow {
  uint32_t end = 0;
  uint64_t count = 0;
  uint64_t lanes = 0;
  uint64_t empty = 0;
};
struct MaskRow {
  uint64_t kept = 0, none = 0, split = 0, other = 0, lanes_before = 0, lanes_after = 0;
};
struct ExecutionRow {
  uint64_t count = 0;
  uint64_t lanes = 0;
};

struct LatencyRow {
  uint32_t end = 0;
  uint64_t count = 0;
  uint64_t lanes = 0;
  uint64_t ticks = 0;
  uint64_t most = 0;
};
struct ProbeClockUsed {
  std::string name;
  uint64_t bits = 64;
  bool is_emulated = false;
};

struct FloatSummary {
  bool seen = false;
  uint64_t nan = 0, infinite = 0, denormal = 0;
  std::optional<double> least, most;
};
struct ValueRow {
  uint32_t space = 0;
  uint32_t access = 0;
  uint32_t element_bytes = 0;
  uint64_t count = 0, executions = 0, uniform = 0, zeros = 0, unknown = 0;
  bool constant = true;  // one value in all dispatches
  std::optional<uint64_t> least, most;
  std::optional<int64_t> least_signed, most_signed;
  FloatSummary f16, f32, f64;
};

struct HeatBuffer {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t page_bytes = 0;
  std::string kind;
  struct Cell {
    uint64_t loads = 0, stores = 0, atomics = 0;
    uint64_t sum() const { return loads + stores + atomics; }
  };
  std::map<std::pair<uint64_t, uint64_t>, Cell> cells;  // page, time
};

struct ProbedKernel {
  std::string kernel, model, target;
  uint32_t wave_size = 0;
  uint32_t line_bytes = 0;
  uint64_t dispatches = 0;
  uint64_t faulted = 0;
  uint64_t abandoned = 0;
  std::string fault;                     // of the first
  std::map<std::string, uint64_t> told;  // dispatches each handler has told about

  std::map<std::pair<SiteKey, MemoryKind>, MemoryRow> memory;
  std::map<SiteKey, BlockRow> blocks;
  std::map<std::pair<SiteKey, SiteKey>, uint64_t> edges;  // from, to
  std::map<SiteKey, uint64_t> entries;                    // where waves begin
  std::map<SiteKey, MaskRow> masks;
  std::map<SiteKey, ExecutionRow> instructions;
  std::map<SiteKey, LatencyRow> latency;
  ProbeClockUsed clock;
  std::map<SiteKey, ValueRow> values;
  std::map<std::string, uint64_t> arguments;  // bytes as hexadecimal: dispatches
  // By buffer; time goes on from dispatch to dispatch.
  std::map<std::pair<uint64_t, uint64_t>, HeatBuffer> heat;
  uint64_t heat_times = 0;
  uint64_t log_records = 0;
  std::map<std::string, std::vector<Json>> others;  // what plugins said of single dispatches
};

struct ProbedCode {
  std::string file;  // in the folder
  uint64_t linked = 0;
  uint64_t size_bytes = 0;
  uint64_t address = 0;  // on the GPU of the first process
  Listing listing;       // empty when the file is gone
  std::string problem;   // why it is empty
  // Of an instrumented kernel: its demangled name, and lines where accesses were joined or split.
  std::string pass_kernel;
  std::vector<MergedPlace> merged;
  // Arguments of the kernel that begins here.
  std::vector<codeobj::KernelArg> arguments;
};

struct ProbeResults {
  std::vector<ProbedCode> codes;
  std::vector<ProbedKernel> kernels;
  std::map<std::string, std::vector<Json>> session;  // of plugins, the last word of each process
  uint64_t processes = 0;
  uint64_t dispatches = 0;
  uint64_t left_out = 0;
  uint64_t damaged = 0;                        // lines that a killed process left
  format::RandomLaunches random;               // if the dispatches were chosen by chance
  std::map<std::string, uint64_t> lost;        // events, by handler
  std::map<std::string, std::string> refused;  // handlers that could not be opened: why

  const ListedSite* site(SiteKey key) const;
  const wavetap_site* facts(SiteKey key) const;
};

Result<ProbeResults> read_probe_results(const std::string& folder);

}  // namespace wavetap::inspect
