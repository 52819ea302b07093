// libcudart.so in miniature, of the same translation layer as cuda.cc: it forwards to HIP and
// misreports half the multiprocessors and half the clock.
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#define WT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// cudaDeviceProp of CUDA 12, up to the last field we fill.
struct CudaProperties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_mask;
  size_t global_memory;
  size_t shared_memory;
  int registers;
  int warp_size;
  size_t pitch;
  int threads;
  int block[3];
  int grid[3];
  int clock_khz;
  size_t constant_memory;
  int major, minor;
  size_t texture_alignment[2];
  int overlap;
  int multiprocessors;
};

int properties(void* out, int device) {
  hipDeviceProp_t real;
  const int error = hipGetDeviceProperties(&real, device);
  if (error != 0) return error;
  auto* const told = static_cast<CudaProperties*>(out);
  *told = {};
  std::snprintf(told->name, sizeof told->name, "%.200s [translated]", real.name);
  told->global_memory = real.totalGlobalMem;
  told->shared_memory = real.sharedMemPerBlock;
  told->warp_size = 32;
  told->clock_khz = real.clockRate / 2;
  told->major = told->minor = 8;
  told->multiprocessors = real.multiProcessorCount / 2;
  return 0;
}

}  // namespace

WT_EXPORT int cudaGetDeviceCount(int* count) { return hipGetDeviceCount(count); }
WT_EXPORT int cudaGetDeviceProperties(void* out, int device) { return properties(out, device); }
WT_EXPORT int cudaGetDeviceProperties_v2(void* out, int device) { return properties(out, device); }
WT_EXPORT int cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return hipDeviceGetPCIBusId(text, length, device);
}
WT_EXPORT int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  hipDeviceProp_t real;
  const int error = hipGetDeviceProperties(&real, device);
  if (error != 0) return error;
  *value = attribute == 16   ? real.multiProcessorCount / 2
           : attribute == 13 ? real.clockRate / 2
           : attribute == 10 ? 32
                             : 0;
  return 0;
}
