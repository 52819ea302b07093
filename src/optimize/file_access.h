// What a candidate's text takes from files. A build sees the machine's files: one that a candidate names could tell a
// test from a user's build, and what a compiler says of its lines goes back to the provider.
#pragma once

#include <string>

#include "optimize/provider.h"

namespace wavetap::optimize {

// What is new of it, compared with the sources before: files by a path, by a macro, or a look whether there is one. Headers in
// angle brackets by a plain name and the sources themselves are fine. "": nothing.
std::string find_file_access(const Sources& before, const std::string& text);

}  // namespace wavetap::optimize
