// Which ROCm and CUDA libraries a process really maps: every copy, with path, soname, build-id and
// version.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/finding.h"
#include "doctor/rocm_libraries.h"

namespace wavetap::doctor {

// Paths of the files mapped by a running process, from /proc/PID/maps.
Result<std::vector<std::string>> mapped_files(const Root& root, int pid);
// Paths of the libraries a program loaded, from the files the dynamic linker writes with
// LD_DEBUG=files.
std::vector<std::string> loaded_files(const std::string& folder);

// Of those, the libraries the doctor follows; one entry per real file.
std::vector<FoundLibrary> followed_libraries(const Root& root,
                                             const std::vector<std::string>& paths);

// Several copies of one library, translation layers, and the list itself. `process` names it in
// messages.
void judge_libraries(const Root& root, const std::string& process,
                     const std::vector<FoundLibrary>& libraries, Findings& findings);

}  // namespace wavetap::doctor
