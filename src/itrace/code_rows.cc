#include "itrace/code_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace wavetap::itrace {
namespace {

std::string source_of(const codeobj::SourceMap& sources, uint64_t address) {
  std::string source;
  for (const codeobj::SourceFrame& frame : sources.frames(address)) {
    if (frame.line == 0) continue;
    if (!source.empty()) source += kSourceSeparator;
    source += codeobj::full_place(frame);
  }
  return source;
}

CodeRow label_of(uint64_t function, const CodeNames& names, const codeobj::SourceMap& sources) {
  const bool is_entry = function == names.entry;
  const std::vector<codeobj::SourceFrame> frames = sources.frames(function);
  std::string name = is_entry ? names.name : "";
  if (name.empty() && !frames.empty()) name = frames.back().function;
  if (name.empty()) name = fmt::format("code at 0x{:x}", function);
  CodeRow row;
  row.text = "; " + name;
  row.source = is_entry && !names.demangled.empty() ? names.demangled : name;
  row.code_object = names.code_object;
  row.address = function;
  return row;
}

}  // namespace

CodeRows make_rows(std::vector<CodePlace> places, const CodeNames& names,
                   const codeobj::SourceMap& sources,
                   const std::function<std::string(uint64_t address)>& text) {
  std::sort(places.begin(), places.end(),
            [](const CodePlace& a, const CodePlace& b) { return a.address < b.address; });
  CodeRows made;
  uint64_t function = 0;
  for (const CodePlace& place : places) {
    if (made.row_of.contains(place.address)) continue;
    if (made.rows.empty() || place.function != function) {
      function = place.function;
      made.rows.push_back(label_of(function, names, sources));
    }
    if (place.address == names.entry) made.entry_row = made.rows.size();
    made.row_of[place.address] = static_cast<uint32_t>(made.rows.size());
    CodeRow row;
    row.text = text(place.address);
    row.source = source_of(sources, place.address);
    row.code_object = names.code_object;
    row.address = place.address;
    made.rows.push_back(std::move(row));
  }
  return made;
}

}  // namespace wavetap::itrace
