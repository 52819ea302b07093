// What each handler found, for people and for programs. A report of nothing says why there is nothing;
// "no problem" comes with what was looked at.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "inspect/probe_results.h"

namespace wavetap::inspect {

struct TextOptions {
  size_t rows = 20;      // per table
  size_t columns = 100;  // of the terminal; 0: as wide as it gets
  bool told = false;     // kernels that tell were probed, and no virtual GPU was watched
};

struct Report {
  const char* handler;
  // About one kernel that the handler has told about.
  std::string (*text)(const ProbeResults&, const ProbedKernel&, const TextOptions&);
  Json (*json)(const ProbeResults&, const ProbedKernel&);
};

// Of the built-in handlers, in the order of their names on the command line's help.
std::span<const Report> reports();

// Everything: the kernels in order, then what was lost or refused. `handlers`: those asked for.
std::string to_text(const ProbeResults& results, const std::vector<std::string>& handlers,
                    const TextOptions& options);
Json to_json(const ProbeResults& results, const std::vector<std::string>& handlers);

// --- For the reports.
const char* space_name(uint32_t space);
const char* access_name(uint32_t access);
// "file.hip:12", or the address where no line is known.
std::string place_of(const ProbeResults& results, SiteKey key);
// The instruction's text without spaces at its ends.
std::string instruction_of(const ProbeResults& results, SiteKey key);
// Its first word.
std::string mnemonic_of(const ProbeResults& results, SiteKey key);
// {"code", "address", "instruction", "source", "function", "inlined"}.
Json describe_site(const ProbeResults& results, SiteKey key);
// Whether its code is that of an instrumented kernel, whose sites are the compiler's.
bool is_instrumented(const ProbeResults& results, SiteKey key);
// The block's lines: "a.hip:12", "a.hip:12-15".
std::string lines_of(const ProbeResults& results, SiteKey key, uint32_t end);
std::string percent(uint64_t part, uint64_t whole);
std::string ratio(uint64_t value, uint64_t base);

std::string memory_text(const ProbeResults&, const ProbedKernel&, const TextOptions&);
Json memory_json(const ProbeResults&, const ProbedKernel&);
std::string blocks_text(const ProbeResults&, const ProbedKernel&, const TextOptions&);
Json blocks_json(const ProbeResults&, const ProbedKernel&);
std::string instructions_text(const ProbeResults&, const ProbedKernel&, const TextOptions&);
Json instructions_json(const ProbeResults&, const ProbedKernel&);
std::string latency_text(const ProbeResults&, const ProbedKernel&, const TextOptions&);
Json latency_json(const ProbeResults&, const ProbedKernel&);
std::string values_text(const ProbeResults&, const ProbedKernel&, const TextOptions&);
Json values_json(const ProbeResults&, const ProbedKernel&);
std::string heatmap_text(const ProbeResults&, const ProbedKernel&, const TextOptions&);
Json heatmap_json(const ProbeResults&, const ProbedKernel&);

}  // namespace wavetap::inspect
