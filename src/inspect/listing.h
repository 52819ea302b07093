// Listing: a function's machine code as text, with the source it comes from. Sites are numbered as
// probes number them (probe/code.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "amd/gfx_target.h"
#include "base/result.h"
#include "codeobj/code_object.h"
#include "codeobj/source_map.h"
#include "wavetap/handler.h"

namespace wavetap::inspect {

// A place in the source. The outer ones of an instruction are calls that were inlined.
using Frame = codeobj::SourceFrame;
using codeobj::full_place;

struct ListedSite {
  uint64_t address = 0;  // as linked
  std::string text;
  std::vector<Frame> frames;  // innermost first; empty when not known

  // The one that reports show; `frames` is not empty.
  const Frame& shown() const { return frames[codeobj::users_frame(frames)]; }
};

struct Listing {
  std::string function;  // demangled; "" when no symbol is there
  amd::GfxTarget target;
  bool wave64 = true;
  std::vector<ListedSite> sites;
  std::vector<wavetap_site> facts;  // by site
};

// `code` lies at `address`; `map` may be null.
Listing make_listing(std::span<const std::byte> code, uint64_t address, amd::GfxTarget target,
                     bool wave64, const codeobj::SourceMap* map);

// "main.hip:12" from a frame: the file's name without its folders.
std::string short_place(const Frame& frame);

}  // namespace wavetap::inspect
