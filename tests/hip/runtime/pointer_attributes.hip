// What HIP knows of pointers: kind, device, base and size, for interior pointers too.
#include "versions.h"

int main() {
  void *device = nullptr, *pinned = nullptr, *managed = nullptr;
  WT_HIP(hipMalloc(&device, 10000));
  WT_HIP(hipHostMalloc(&pinned, 10000));
  WT_HIP(hipMallocManaged(&managed, 10000));
  hipPointerAttribute_t a;
  WT_HIP(hipPointerGetAttributes(&a, static_cast<char*>(device) + 5000));
  check::expect(check::memory_type(a) == hipMemoryTypeDevice && a.device == 0,
                "an interior device pointer is device memory of device %d", a.device);
  check::expect(a.devicePointer == static_cast<char*>(device) + 5000,
                "and is its own device pointer");
  WT_HIP(hipPointerGetAttributes(&a, pinned));
  check::expect(check::memory_type(a) == hipMemoryTypeHost && a.hostPointer == pinned,
                "pinned memory is host memory");
  WT_HIP(hipPointerGetAttributes(&a, managed));
  check::expect(a.isManaged == 1, "managed memory is managed");
  int local = 0;
  check::expect(check::is_unknown(&local), "a variable of the host is unknown");

  hipDeviceptr_t base = nullptr;
  size_t size = 0;
  WT_HIP(hipMemGetAddressRange(&base, &size, static_cast<char*>(device) + 1234));
  check::expect(base == device && size == 10000, "base and size of an interior pointer (%zu bytes)",
                size);
  hipMemoryType type;
  WT_HIP(hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  check::equal("hipPointerGetAttribute: memory type", static_cast<int>(type),
               static_cast<int>(hipMemoryTypeDevice));
  WT_HIP(hipFree(device));
  check::expect(check::is_unknown(device), "freed memory is unknown");
  WT_HIP(hipHostFree(pinned));
  WT_HIP(hipFree(managed));
  return check::finish();
}
