// ECMAScript's regular expressions, as programs without a library for them have them, written as POSIX extended ones, which libc
// matches without exceptions and without recursion.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wavetap::util {

// Finds in a text what `pattern` finds. POSIX extended patterns stay what they are. What no extended pattern can say is an
// error: looking ahead, references to groups.
Result<std::string> to_extended_pattern(std::string_view pattern);

}  // namespace wavetap::util
