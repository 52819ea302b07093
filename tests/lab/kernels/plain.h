// What the kernels of this folder need of HIP, for a compiler without HIP's headers: a tenth of the time.
#pragma once

#if !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(items, ...) __attribute__((amdgpu_flat_work_group_size(1, items)))

struct ThreadIndex {
  static __device__ unsigned get_x() { return __builtin_amdgcn_workitem_id_x(); }
  static __device__ unsigned get_y() { return __builtin_amdgcn_workitem_id_y(); }
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
};
struct BlockIndex {
  static __device__ unsigned get_x() { return __builtin_amdgcn_workgroup_id_x(); }
  static __device__ unsigned get_y() { return __builtin_amdgcn_workgroup_id_y(); }
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
};
extern const __device__ ThreadIndex threadIdx;
extern const __device__ BlockIndex blockIdx;

static inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif
