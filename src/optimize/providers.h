// The providers that need no more than a name.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "optimize/provider.h"

namespace wavetap::optimize {

// "rules", or "command:PROGRAM ARGS…", which gets the request on its standard input and answers on its
// standard output.
Result<std::unique_ptr<Provider>> make_provider(const std::string& name, double seconds);

}  // namespace wavetap::optimize
