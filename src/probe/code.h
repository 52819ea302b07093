// Code: a Program as handlers see it. Every instruction is a site; sites are grouped into blocks,
// runs of instructions that a wave enters at the first and leaves at the last with the same lanes
// active (include/wavetap/handler.h says it exactly).
//
// Where a wave may enter a block from outside is found in the code alone: jump targets, and what
// stands behind a jump or a call. A jump through a register that lands in the middle of a block
// (no compiler we know makes one) is counted from the next block on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/program.h"
#include "wavetap/handler.h"

namespace wavetap::probe {

struct Code;

// What a watcher's tag points to: which site, and what to tell of it.
struct SiteTag {
  const Code* code = nullptr;
  uint32_t site = 0;
  bool enters_block = false;
  bool sends_message = false;
};

// Made when a Program is first lowered, never destroyed.
struct Code {
  wavetap_code described{};  // what handlers get; points into the rest
  std::vector<wavetap_site> sites;
  std::vector<SiteTag> tags;  // by site
  std::string target;
  uint64_t size_bytes = 0;
};

// The sites of a program, with their blocks.
std::vector<wavetap_site> find_sites(const isa::Program& program);

std::unique_ptr<Code> make_code(const isa::Program& program, uint32_t id);

// Whether two programs are the same instructions at the same address.
uint64_t fingerprint_of(const isa::Program& program);

}  // namespace wavetap::probe
