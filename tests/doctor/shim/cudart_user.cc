// Prints what each CUDA-named function says of each device.
#include <cstdio>
#include <cstring>
#include <initializer_list>

extern "C" {
int cudaGetDeviceCount(int* count);
int cudaGetDeviceProperties(void* properties, int device);
int cudaGetDeviceProperties_v2(void* properties, int device);
int cudaDeviceGetAttribute(int* value, int attribute, int device);
int cuInit(unsigned flags);
int cuDeviceGetAttribute(int* value, int attribute, int device);
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
  if (cuInit(0) != 0 || cudaGetDeviceCount(&count) != 0) return 1;
  for (int device = 0; device < count; ++device) {
    char old_properties[4096] = {}, new_properties[4096] = {};
    int runtime[3], driver[3];
    if (cudaGetDeviceProperties(old_properties, device) != 0 ||
        cudaGetDeviceProperties_v2(new_properties, device) != 0)
      return 1;
    const int attributes[] = {16, 13, 10};
    for (int i = 0; i < 3; ++i) {
      if (cudaDeviceGetAttribute(&runtime[i], attributes[i], device) != 0) return 1;
      if (cuDeviceGetAttribute(&driver[i], attributes[i], device) != 0) return 1;
    }
    for (const char* properties : {old_properties, new_properties})
      std::printf("%d properties %d %d %d\n", device, at(properties, 388),
                  at(properties, 348) / 1000, at(properties, 308));
    for (const int* values : {runtime, driver})
      std::printf("%d attributes %d %d %d\n", device, values[0], values[1] / 1000, values[2]);
  }
  return 0;
}
