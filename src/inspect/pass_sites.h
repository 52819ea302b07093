// The site table of a code object that was compiled with the wavetap pass, as the rest of inspect knows code.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "amd/gfx_target.h"
#include "base/result.h"
#include "format/site_table.h"
#include "inspect/listing.h"
#include "probe/code.h"

namespace wavetap::inspect {

// By mangled name; an error when there is no table, or it is damaged.
Result<std::map<std::string, format::SiteKernel>> read_sites(std::span<const std::byte> image);

// What handlers see of a kernel's sites. Texts live for ever, as wavetap/handler.h promises.
std::unique_ptr<probe::Code> make_site_code(const format::SiteKernel& kernel,
                                            amd::GfxTarget target);

// A line of the source whose accesses are not as many instructions: the compiler's back end has joined or split
// them, so that what the kernel tells and what the machine executes differ in number.
struct MergedPlace {
  Frame frame;
  uint64_t accesses = 0;
  uint64_t instructions = 0;
};
std::vector<MergedPlace> find_merged(const codeobj::CodeObject& object,
                                     const format::SiteKernel& kernel);

Result<Listing> list_sites(std::span<const std::byte> image, const std::string& kernel,
                           amd::GfxTarget target, bool wave64);

}  // namespace wavetap::inspect
