// A CUDA translation layer in miniature: libcuda.so.1 that forwards to HIP and, as such layers do,
// misreports the device: half the multiprocessors, another clock, an NVIDIA compute capability and
// a name with its own in it. Kernels it cannot find in a module it computes on the CPU, without a
// word.
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#define WT_EXPORT extern "C" __attribute__((visibility("default")))

WT_EXPORT int cuInit(unsigned flags) { return hipInit(flags); }
WT_EXPORT int cuDriverGetVersion(int* version) { return *version = 12040, 0; }
WT_EXPORT int cuDeviceGetCount(int* count) { return hipGetDeviceCount(count); }
WT_EXPORT int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }

WT_EXPORT int cuDeviceGetName(char* name, int length, int device) {
  char real[256] = {};
  const int error = hipDeviceGetName(real, sizeof real, device);
  std::snprintf(name, static_cast<size_t>(length), "%.200s [translated]", real);
  return error;
}

WT_EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return hipDeviceTotalMem(bytes, device);
}
WT_EXPORT int cuDeviceGetPCIBusId(char* text, int length, int device) {
  return hipDeviceGetPCIBusId(text, length, device);
}

WT_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  int real = 0;
  switch (attribute) {
    case 8: return hipDeviceGetAttribute(value, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
    case 10: return *value = 32, 0;
    case 13: {
      const int error = hipDeviceGetAttribute(&real, hipDeviceAttributeClockRate, device);
      return *value = real / 2, error;
    }
    case 16: {
      const int error = hipDeviceGetAttribute(&real, hipDeviceAttributeMultiprocessorCount, device);
      return *value = real / 2, error;
    }
    case 75: return *value = 8, 0;
    case 76: return *value = 8, 0;
    default: return *value = 0, 0;
  }
}

WT_EXPORT int cuCtxCreate_v2(void** context, unsigned, int device) {
  return *context = context, hipSetDevice(device);
}
WT_EXPORT int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(pointer), bytes);
}
WT_EXPORT int cuMemFree_v2(unsigned long long pointer) {
  return hipFree(reinterpret_cast<void*>(pointer));
}
WT_EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  return hipMemcpy(reinterpret_cast<void*>(to), from, bytes, hipMemcpyHostToDevice);
}
WT_EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  return hipMemcpy(to, reinterpret_cast<void*>(from), bytes, hipMemcpyDeviceToHost);
}
WT_EXPORT int cuCtxSynchronize(void) { return hipDeviceSynchronize(); }

WT_EXPORT int cuModuleLoad(void** module, const char* path) {
  return hipModuleLoad(reinterpret_cast<hipModule_t*>(module), path);
}

// Stands for a function the layer has an answer of its own for.
static char g_on_cpu;

WT_EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (hipModuleGetFunction(reinterpret_cast<hipFunction_t*>(function),
                           static_cast<hipModule_t>(module), name) == hipSuccess)
    return 0;
  return *function = &g_on_cpu, 0;
}

// Parameters of either: const float* in, float* out, float by, int count.
WT_EXPORT int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             void* stream, void** parameters, void** extra) {
  if (function != &g_on_cpu) {
    return hipModuleLaunchKernel(static_cast<hipFunction_t>(function), grid_x, grid_y, grid_z,
                                 block_x, block_y, block_z, shared,
                                 static_cast<hipStream_t>(stream), parameters, extra);
  }
  float values[256];
  const int count = *static_cast<int*>(parameters[3]);
  if (count < 0 || count > 256) return 1;
  const size_t bytes = static_cast<size_t>(count) * sizeof values[0];
  if (hipMemcpy(values, *static_cast<void**>(parameters[0]), bytes, hipMemcpyDeviceToHost) !=
      hipSuccess)
    return 1;
  for (int i = 0; i < count; ++i) values[i] *= *static_cast<float*>(parameters[2]);
  return hipMemcpy(*static_cast<void**>(parameters[1]), values, bytes, hipMemcpyHostToDevice);
}
