#include "sanitize/finding_line.h"

#include <cinttypes>
#include <cstdio>

#include "base/json_line.h"

namespace wavetap::sanitize {
namespace {

const char* space_name(emu::Space space) {
  switch (space) {
    case emu::Space::kGlobal: return "global";
    case emu::Space::kLds: return "LDS";
    case emu::Space::kScratch: return "scratch";
  }
  return "?";
}

const char* access_name(emu::Access access) {
  switch (access) {
    case emu::Access::kLoad: return "load";
    case emu::Access::kStore: return "store";
    case emu::Access::kAtomic:
    case emu::Access::kAtomicReturn: return "atomic";
  }
  return "?";
}

void append_neighbour(std::string& line, const Neighbour& beside) {
  append_text(line, "relation", relation_name(beside.relation));
  if (beside.relation == Relation::kNone) return;
  append_number(line, "distance", beside.distance);
  line += "\"allocation\":{";
  append_text(line, "address", hex_text(beside.begin));
  append_number(line, "size_bytes", beside.size_bytes);
  append_number(line, "exact", beside.exact ? 1 : 0);
  append_number(line, "freed", beside.freed ? 1 : 0);
  append_text(line, "memory", beside.memory);
  if (beside.gpu >= 0) append_number(line, "gpu", static_cast<uint64_t>(beside.gpu));
  finish_object(line);
  line += ',';
}

// The argument that leads nearest to the address: the last one before it in the same allocation.
void append_argument(std::string& line, const Finding& finding, const Naming& naming) {
  const Neighbour& beside = finding.neighbour;
  if (beside.relation == Relation::kNone) return;
  const PointerArgument* nearest = nullptr;
  for (const PointerArgument& argument : naming.pointers) {
    if (argument.value < beside.begin || argument.value - beside.begin > beside.size_bytes)
      continue;
    const bool is_behind = argument.value > finding.address;
    if (nearest == nullptr || (!is_behind && argument.value > nearest->value)) nearest = &argument;
  }
  if (nearest == nullptr) return;
  line += "\"argument\":{";
  append_number(line, "number", nearest->number);
  if (!nearest->name.empty()) append_text(line, "name", nearest->name);
  finish_object(line);
  line += ',';
}

void append_access(std::string& line, const Place& place) {
  if (!place.has_access) return;
  append_text(line, "access", access_name(place.access));
  append_number(line, "size_bytes", place.size_bytes);
}

void append_mover(std::string& line, const Mover& mover, const Place& place) {
  append_text(line, "call", mover_name(mover.what));
  append_access(line, place);
  line += "\"moves\":{";
  append_number(line, "size_bytes", mover.size_bytes);
  if (mover.to != 0) append_text(line, "to", hex_text(mover.to));
  if (mover.from != 0) append_text(line, "from", hex_text(mover.from));
  append_number(line, "time_ns", mover.time_ns);
  finish_object(line);
  line += ',';
}

void append_place(std::string& line, const Place& place, const Mover& mover, const Naming& naming) {
  if (mover.what != MoverKind::kNone) return append_mover(line, mover, place);
  const CodePlace code = naming.find_code(place.pc);
  append_text(line, "pc", hex_text(place.pc.value));
  if (code.offset) append_number(line, "offset", *code.offset);
  append_text(line, "instruction", code.instruction);
  codeobj::append_source(line, code.frames);
  append_access(line, place);
  append_extent(line, "workgroup", place.workgroup);
  if (place.lanes != 0) append_extent(line, "thread", place.thread);
  append_number(line, "wave", place.wave);
  if (place.lanes != 0) append_text(line, "lanes", hex_text(place.lanes));
}

}  // namespace

std::string hex_text(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

void append_finding(std::string& line, const Finding& finding, const Naming& naming) {
  append_text(line, "tool", tool_name(row_of(finding.kind).tool));
  append_text(line, "severity", severity_name(finding.severity));
  append_text(line, "kind", kind_name(finding.kind));
  append_place(line, finding.place, finding.mover, naming);
  if (!finding.detail.empty()) append_text(line, "detail", finding.detail);
  if (finding.place.has_access) {
    append_text(line, "space", space_name(finding.space));
    append_text(line, "address", hex_text(finding.address));
    if (finding.space != emu::Space::kGlobal) {
      if (finding.limit_bytes != 0) append_number(line, "limit_bytes", finding.limit_bytes);
    } else {
      append_neighbour(line, finding.neighbour);
      append_argument(line, finding, naming);
    }
  }
  if (!finding.has_other) return;
  line += "\"other\":{";
  append_text(line, "role", finding.other_role);
  append_place(line, finding.other, finding.other_mover, naming);
  finish_object(line);
  line += ',';
}

}  // namespace wavetap::sanitize
