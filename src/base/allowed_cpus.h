// How many processors the caller may run on.
#pragma once

#include <sched.h>

#include <algorithm>
#include <thread>

namespace wavetap {

// std::thread::hardware_concurrency() counts those of the machine, under taskset and in a
// container's set of processors as well; threads beyond these only wait for each other's turns.
inline int allowed_cpus() {
  cpu_set_t allowed;
  // It fails where the machine has more processors than the set has places.
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace wavetap
