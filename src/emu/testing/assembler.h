// assemble(): assembler text to code bytes, for tests. Built into wt_emu_testing, never into the
// product.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "amd/gfx_target.h"

namespace wavetap::emu {

// Code of `text`, which may have several lines, labels and comments (`;` or `//`). Empty, with the
// assembler's message on stderr, when it does not assemble.
std::vector<std::byte> assemble(const std::string& text, amd::GfxTarget target, bool wave64);

}  // namespace wavetap::emu
