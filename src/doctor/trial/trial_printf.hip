// The printf trial: needs HIP's own device library, hence a file of its own.
#include <hip/hip_runtime.h>

extern "C" __global__ void say() { printf("wavetap-trial: a kernel says hello\n"); }
