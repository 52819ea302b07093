// Processes and their parents, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace wavetap::util {

// Whether more than `most` processes come from `ancestor`, itself not counted. Those whose parent is gone belong
// to the first process of their namespace, so that of a sandbox with process ids of its own none is missed.
bool has_more_descendants(pid_t ancestor, size_t most);

}  // namespace wavetap::util
