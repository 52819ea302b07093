// What can be known to fail before a program starts: said in one line, with a way out, instead of a
// crash deep inside a runtime.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace wavetap::cli {

// Checks a program against the GPUs it will see. Problems that make it fail for certain are the
// error; problems of a program that may bring its own ROCm (a script, an interpreter) are
// `warnings`.
Status check_program(const std::string& program_path, const std::vector<model::Model>& models,
                     std::vector<Error>& warnings);

}  // namespace wavetap::cli
