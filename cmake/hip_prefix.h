// What nearly every HIP program of the tree includes, compiled once per target (cmake/hip.cmake): reading these headers
// takes a compiler 1.4 s, three times per program. It says nothing itself, so that a program compiles the same without.
// No <iostream>: it would put a constructor into each program.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>
