// A library that brings its own libamdhip64 (found beside it through $ORIGIN), as a Python wheel
// does.
#include <hip/hip_runtime_api.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

// Four calls: hipMalloc, hipMemset, hipMemcpy, hipFree. 1 when the device did as told.
EXPORT int plugin_use_device() {
  void* memory = nullptr;
  unsigned char back[64] = {};
  if (hipMalloc(&memory, sizeof back) != hipSuccess) return -1;
  if (hipMemset(memory, 0x77, sizeof back) != hipSuccess) return -2;
  if (hipMemcpy(back, memory, sizeof back, hipMemcpyDeviceToHost) != hipSuccess) return -3;
  if (hipFree(memory) != hipSuccess) return -4;
  for (const unsigned char byte : back) {
    if (byte != 0x77) return 0;
  }
  return 1;
}

// Not a tail call: the caller's address is what tells one plugin from another.
EXPORT int plugin_version(int* version) {
  return hipRuntimeGetVersion(version) == hipSuccess ? 0 : 1;
}
