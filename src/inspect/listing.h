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
#include "codeobj/line_table.h"
#include "wavetap/handler.h"

namespace wavetap::inspect {

// A place in the source. The outer ones of an instruction are calls that were inlined.
struct Frame {
  std::string function;  // "" when not known
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;

  bool operator==(const Frame&) const = default;
};

struct ListedSite {
  uint64_t address = 0;  // as linked
  std::string text;
  std::vector<Frame> frames;  // innermost first; empty when not known
};

struct Listing {
  std::string function;  // demangled; "" when no symbol is there
  amd::GfxTarget target;
  bool wave64 = true;
  std::vector<ListedSite> sites;
  std::vector<wavetap_site> facts;  // by site
};

// What a code object says about source, read once for all its functions.
class SourceMap {
 public:
  explicit SourceMap(const codeobj::CodeObject& object);

  bool empty() const { return lines_.empty(); }
  // Of an address as linked, innermost first.
  std::vector<Frame> frames(uint64_t address) const;

 private:
  codeobj::LineTable lines_;
  const codeobj::CodeObject& object_;
};

// `code` lies at `address`; `map` may be null.
Listing make_listing(std::span<const std::byte> code, uint64_t address, amd::GfxTarget target,
                     bool wave64, const SourceMap* map);

// "main.hip:12" from a frame: the file's name without its folders.
std::string short_place(const Frame& frame);
std::string full_place(const Frame& frame);

}  // namespace wavetap::inspect
