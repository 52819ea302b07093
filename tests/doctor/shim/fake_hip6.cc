// libamdhip64.so.6 with the functions that tell device figures, for layouts this machine's HIP does
// not have: two devices in places that WT_FAKE_PCI names, each with 18 multiprocessors at 1200 MHz
// and waves of 64.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define WT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

template <class T>
void put(void* at, size_t offset, T value) {
  std::memcpy(static_cast<char*>(at) + offset, &value, sizeof value);
}

int fill(void* out, size_t bytes, size_t lds, size_t wave, size_t clock, size_t multiprocessors,
         size_t arch) {
  std::memset(out, 0, bytes);
  put<size_t>(out, lds, 32768);
  put<int>(out, wave, 64);
  put<int>(out, clock, 1200000);
  put<int>(out, multiprocessors, 18);
  std::strcpy(static_cast<char*>(out) + arch, "gfx1031:xnack-");
  return 0;
}

}  // namespace

WT_EXPORT int hipGetDeviceCount(int* count) { return *count = 2, 0; }
WT_EXPORT int hipGetDevicePropertiesR0600(void* out, int) {
  return fill(out, 1472, 296, 308, 348, 388, 1160);
}
WT_EXPORT int hipGetDevicePropertiesR0000(void* out, int) {
  return fill(out, 792, 264, 276, 308, 336, 396);
}
WT_EXPORT int hipDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 63   ? 18
           : attribute == 5  ? 1200000
           : attribute == 87 ? 64
           : attribute == 74 ? 32768
                             : -1;
  return 0;
}
WT_EXPORT int hipDeviceGetPCIBusId(char* text, int length, int device) {
  const char* const places = std::getenv("WT_FAKE_PCI");
  const size_t each = std::strlen("0000:03:00.0,");
  if (places == nullptr || std::strlen(places) < each * static_cast<size_t>(device) + each - 1)
    return 1;
  std::snprintf(text, static_cast<size_t>(length), "%.12s",
                places + each * static_cast<size_t>(device));
  return 0;
}
