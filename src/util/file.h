#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wavetap::util {

// The whole file. The error names the path and the reason.
Result<std::vector<std::byte>> read_file(const std::string& path);

// Something that is no regular file lies there: a device, a pipe. Such a thing is written into or left
// alone, never replaced: who runs as root would lose /dev/null.
bool is_special(const std::string& path);

// Replaces the file at once: readers see the old content or the new one, never a part. A special file
// is written into.
Status write_file(const std::string& path, std::string_view content);

// Whether write_file() can be expected to work: to be asked before a program runs for an hour.
Status check_writable(const std::string& path);

// Absolute path of a program as execvp would find it; empty when there is none.
std::string find_program(const std::string& name);

// $XDG_CACHE_HOME/wavetap or ~/.cache/wavetap, made when it is missing; empty when there is no place
// for it.
std::string cache_folder();

// Folder of the running executable, links resolved.
std::string executable_folder();

}  // namespace wavetap::util
