// Prints the figures of every device in both layouts of a HIP of today, and by attribute.
#include <cstdio>
#include <cstring>

extern "C" {
int hipGetDeviceCount(int* count);
int hipGetDevicePropertiesR0600(void* properties, int device);
int hipGetDevicePropertiesR0000(void* properties, int device);
int hipDeviceGetAttribute(int* value, int attribute, int device);
}

namespace {

int at(const char* bytes, int offset) {
  int value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

}  // namespace

int main() {
  int count = 0;
  if (hipGetDeviceCount(&count) != 0) return 1;
  for (int device = 0; device < count; ++device) {
    char six[8192] = {}, five[8192] = {};
    int multiprocessors = 0, clock = 0, other = 0;
    if (hipGetDevicePropertiesR0600(six, device) != 0 ||
        hipGetDevicePropertiesR0000(five, device) != 0 ||
        hipDeviceGetAttribute(&multiprocessors, 63, device) != 0 ||
        hipDeviceGetAttribute(&clock, 5, device) != 0 ||
        hipDeviceGetAttribute(&other, 1, device) != 0)
      return 1;
    std::printf("%d R0600 %d %d %d %s\n", device, at(six, 388), at(six, 348) / 1000, at(six, 308),
                six + 1160);
    std::printf("%d R0000 %d %d %d %s\n", device, at(five, 336), at(five, 308) / 1000,
                at(five, 276), five + 396);
    std::printf("%d attributes %d %d %d\n", device, multiprocessors, clock / 1000, other);
  }
  return 0;
}
