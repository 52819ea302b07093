// A candidate out of what a language model wrote: JSON, JSON in a fence, JSON among words, or the files
// themselves in fences.
#pragma once

#include <string>

#include "base/result.h"
#include "optimize/provider.h"

namespace wavetap::optimize {

// The answer of a provider that speaks JSON, checked for form. `is_lenient`: the schema may be left out.
Result<Proposed> parse_answer(const std::string& text, bool is_lenient = false);

// Out of prose. `sources` are the files that it may name; a fence without a name is the file, when there
// is one file and the fence holds a kernel.
Result<Proposed> find_answer(const std::string& text, const Sources& sources);

}  // namespace wavetap::optimize
