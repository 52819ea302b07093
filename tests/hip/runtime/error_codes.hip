// Mistakes get the documented errors, names and texts; the sticky error is kept until read, and
// nothing that failed harms later calls.
#include "check.h"

__global__ void nothing() {}
__global__ void set(int* out) { *out = 5; }

int main() {
  int count = 0;
  WT_HIP(hipGetDeviceCount(&count));
  WT_HIP_RETURNS(hipErrorInvalidDevice, hipSetDevice(count));
  WT_HIP_RETURNS(hipErrorInvalidDevice, hipSetDevice(-1));
  hipDeviceProp_t properties;
  WT_HIP_RETURNS(hipErrorInvalidDevice, hipGetDeviceProperties(&properties, count + 3));
  WT_HIP_RETURNS(hipErrorInvalidValue, hipGetDeviceCount(nullptr));
  WT_HIP_RETURNS(hipErrorInvalidValue, hipMemcpy(nullptr, nullptr, 16, hipMemcpyHostToDevice));
  int host[4];
  check::Buffer<int> device(4);
  hipModule_t module;
  WT_HIP_RETURNS(hipErrorFileNotFound, hipModuleLoad(&module, "/no/such/file.hsaco"));
  hipEvent_t event = nullptr;
  WT_HIP_RETURNS(hipErrorInvalidHandle, hipEventRecord(event, nullptr));
  WT_HIP_RETURNS(hipErrorInvalidValue, hipFree(host));

  nothing<<<0, 64>>>();
  // 5.2 calls it an invalid value, later ones an invalid configuration.
  const hipError_t empty = hipGetLastError();
  check::expect(empty == hipErrorInvalidValue || empty == hipErrorInvalidConfiguration,
                "a grid of no blocks is refused (%s)", hipGetErrorName(empty));
  nothing<<<1, 2048>>>();
  check::expect(hipGetLastError() != hipSuccess, "2048 lanes in a block are refused");
  nothing<<<1, 64>>>();
  check::expect(hipGetLastError() == hipSuccess, "a correct launch follows without an error");

  (void)hipSetDevice(count);
  check::expect(hipPeekAtLastError() == hipErrorInvalidDevice,
                "the error stays while only looked at");
  check::expect(hipGetLastError() == hipErrorInvalidDevice, "is returned when read");
  check::expect(hipGetLastError() == hipSuccess, "and is then gone");
  check::expect(std::strcmp(hipGetErrorName(hipErrorOutOfMemory), "hipErrorOutOfMemory") == 0,
                "names: %s", hipGetErrorName(hipErrorOutOfMemory));
  check::expect(std::strlen(hipGetErrorString(hipErrorInvalidValue)) > 0, "texts: %s",
                hipGetErrorString(hipErrorInvalidValue));

  set<<<1, 1>>>(device);
  check::sync();
  check::equal("the device still works", device.read()[0], 5);
  return check::finish();
}
