// An analysed trace as a person and as a program reads it.
#pragma once

#include <cstddef>
#include <string>

#include "itrace/analysis.h"
#include "itrace/trace.h"
#include "util/json_library.h"

namespace wavetap::itrace {

struct TextOptions {
  size_t rows = 10;     // of each table
  size_t columns = 80;  // 0: as wide as it gets
};

std::string report_text(const Trace& trace, const Analysis& analysis, const TextOptions& options);
// The document of docs/instruction-trace.md.
nlohmann::ordered_json report_json(const Trace& trace, const Analysis& analysis);
// One file, which loads nothing: source beside machine code, arrows from waits to what they wait for.
std::string report_html(const Trace& trace, const Analysis& analysis);

// "main.hip:12", or "" when not known.
std::string short_place(const CodeRow& row);

}  // namespace wavetap::itrace
