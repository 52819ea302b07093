// The providers by name, and the form of their answers.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "optimize/provider.h"

namespace wavetap::optimize {

// "rules", or "command:PROGRAM ARGS…", which gets the request on its standard input and answers on its
// standard output.
Result<std::unique_ptr<Provider>> make_provider(const std::string& name, double seconds);

// The answer of a provider, checked for form.
Result<Proposed> parse_answer(const std::string& text);

}  // namespace wavetap::optimize
