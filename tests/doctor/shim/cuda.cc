// A CUDA translation layer in miniature: libcuda.so.1 that forwards to HIP and, as such layers do, misreports
// the device: half the multiprocessors, another clock, an NVIDIA compute capability and a name with its own
// in it.
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

WT_EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int device) { return hipDeviceTotalMem(bytes, device); }
WT_EXPORT int cuDeviceGetPCIBusId(char* text, int length, int device) {
  return hipDeviceGetPCIBusId(text, length, device);
}

WT_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  int real = 0;
  switch (attribute) {
    case 8:
      return hipDeviceGetAttribute(value, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
    case 10:
      return *value = 32, 0;
    case 13: {
      const int error = hipDeviceGetAttribute(&real, hipDeviceAttributeClockRate, device);
      return *value = real / 2, error;
    }
    case 16: {
      const int error = hipDeviceGetAttribute(&real, hipDeviceAttributeMultiprocessorCount, device);
      return *value = real / 2, error;
    }
    case 75:
      return *value = 8, 0;
    case 76:
      return *value = 8, 0;
    default:
      return *value = 0, 0;
  }
}

WT_EXPORT int cuCtxCreate_v2(void** context, unsigned, int device) {
  return *context = context, hipSetDevice(device);
}
WT_EXPORT int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(pointer), bytes);
}
WT_EXPORT int cuMemFree_v2(unsigned long long pointer) { return hipFree(reinterpret_cast<void*>(pointer)); }
WT_EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  return hipMemcpy(reinterpret_cast<void*>(to), from, bytes, hipMemcpyHostToDevice);
}
WT_EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  return hipMemcpy(to, reinterpret_cast<void*>(from), bytes, hipMemcpyDeviceToHost);
}
WT_EXPORT int cuCtxSynchronize(void) { return hipDeviceSynchronize(); }
