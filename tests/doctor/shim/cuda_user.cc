// A program that knows CUDA only: it copies a buffer to the device and back, five times. With a
// module that has `scale` it also launches that twice, and three times a kernel no module has.
#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" {
int cuInit(unsigned flags);
int cuDeviceGet(int* device, int ordinal);
int cuDeviceGetAttribute(int* value, int attribute, int device);
int cuCtxCreate_v2(void** context, unsigned flags, int device);
int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes);
int cuMemFree_v2(unsigned long long pointer);
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes);
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes);
int cuCtxSynchronize(void);
int cuModuleLoad(void** module, const char* path);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, void* stream, void** parameters, void** extra);
}

static int launch(const char* path, unsigned long long memory) {
  void *module = nullptr, *on_gpu = nullptr, *elsewhere = nullptr;
  if (cuModuleLoad(&module, path) != 0 || cuModuleGetFunction(&on_gpu, module, "scale") != 0 ||
      cuModuleGetFunction(&elsewhere, module, "scale_by_hand") != 0)
    return 1;
  float by = 0.5f;
  int count = 256;
  void* parameters[] = {&memory, &memory, &by, &count};
  for (int i = 0; i < 5; ++i) {
    if (cuLaunchKernel(i < 2 ? on_gpu : elsewhere, 4, 1, 1, 64, 1, 1, 0, nullptr, parameters,
                       nullptr) != 0)
      return 1;
  }
  return cuCtxSynchronize();
}

int main(int count, char** arguments) {
  int device = 0, multiprocessors = 0;
  void* context = nullptr;
  unsigned long long memory = 0;
  char sent[4096], received[4096] = {};
  std::memset(sent, 0x2f, sizeof sent);
  if (cuInit(0) != 0 || cuDeviceGet(&device, 0) != 0 || cuCtxCreate_v2(&context, 0, device) != 0)
    return 1;
  if (cuDeviceGetAttribute(&multiprocessors, 16, device) != 0 ||
      cuMemAlloc_v2(&memory, sizeof sent) != 0)
    return 1;
  for (int i = 0; i < 5; ++i) {
    if (cuMemcpyHtoD_v2(memory, sent, sizeof sent) != 0 ||
        cuMemcpyDtoH_v2(received, memory, sizeof sent) != 0)
      return 1;
  }
  if (count > 1 && launch(arguments[1], memory) != 0) return 1;
  if (cuCtxSynchronize() != 0 || cuMemFree_v2(memory) != 0) return 1;
  std::printf("multiprocessors %d, copies %s\n", multiprocessors,
              std::memcmp(sent, received, sizeof sent) == 0 ? "right" : "wrong");
  return 0;
}
