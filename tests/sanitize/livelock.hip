// A kernel that waits for a flag which nobody sets, and one that waits for a workgroup which does set it.
//   livelock right|wrong
#include <cstring>

#include "check.h"

__global__ void wait_for_flag(int* flag, int* out, int setter) {
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0 && setter == 1) atomicExch(flag, 1);
    return;
  }
  if (threadIdx.x == 0) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {  // MARK wait
      __builtin_amdgcn_s_sleep(1);
    }
  }
  __syncthreads();
  out[threadIdx.x] = 1;
}

int main(int count, char** words) {
  int* flag = nullptr;
  WT_HIP(hipMalloc(&flag, 4096));
  WT_HIP(hipMemset(flag, 0, 4096));
  const bool is_right = count > 1 && std::strcmp(words[1], "right") == 0;
  wait_for_flag<<<2, 256>>>(flag, flag + 256, is_right ? 1 : 2);
  check::sync();
  WT_HIP(hipFree(flag));
  return check::finish();
}
