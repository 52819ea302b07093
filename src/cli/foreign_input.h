// What AMD's tools measured, where a trace is wanted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/import_result.h"

namespace wavetap::cli {

// All of them into one trace: ranks of one program, formats of one run.
Result<store::ImportResult> import_foreign(const std::vector<std::string>& inputs,
                                           const std::string& output, bool overwrite);

}  // namespace wavetap::cli
