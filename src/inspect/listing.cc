#include "inspect/listing.h"

#include <fmt/format.h>

#include "isa/program.h"
#include "probe/code.h"

namespace wavetap::inspect {

SourceMap::SourceMap(const codeobj::CodeObject& object)
    : lines_(codeobj::LineTable::read(object.elf())), object_(object) {}

std::vector<Frame> SourceMap::frames(uint64_t address) const {
  const std::optional<codeobj::SourceLine> line = lines_.find(address);
  if (!line || line->line == 0) return {};
  Frame frame{"", line->file, line->line, line->column};
  if (const codeobj::CodeSymbol* symbol = object_.function_at(address))
    frame.function = codeobj::short_name(symbol->name);
  return {frame};
}

Listing make_listing(std::span<const std::byte> code, uint64_t address, amd::GfxTarget target,
                     bool wave64, const SourceMap* map) {
  Listing listing;
  listing.target = target;
  listing.wave64 = wave64;
  const isa::Program program = isa::decode(code, {address}, target, wave64);
  listing.facts = probe::find_sites(program);
  for (int32_t i = 0; i < program.size(); ++i) {
    ListedSite site;
    site.address = program.pc_of(i).value;
    const std::span<const std::byte> rest = code.subspan(site.address - address);
    site.text = program.insts()[i].size_bytes == 0
                    ? ""
                    : isa::disassemble(rest, target, wave64, {site.address});
    if (map != nullptr) site.frames = map->frames(site.address);
    listing.sites.push_back(std::move(site));
  }
  return listing;
}

std::string short_place(const Frame& frame) {
  return fmt::format("{}:{}", frame.file.substr(frame.file.rfind('/') + 1), frame.line);
}

std::string full_place(const Frame& frame) { return fmt::format("{}:{}", frame.file, frame.line); }

}  // namespace wavetap::inspect
