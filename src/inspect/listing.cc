#include "inspect/listing.h"

#include <fmt/format.h>

#include "isa/program.h"
#include "probe/code.h"

namespace wavetap::inspect {

Listing make_listing(std::span<const std::byte> code, uint64_t address, amd::GfxTarget target,
                     bool wave64, const codeobj::SourceMap* map) {
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

}  // namespace wavetap::inspect
