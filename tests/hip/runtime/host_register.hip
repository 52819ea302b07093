// Host memory registered after the fact: from malloc, mmap, the stack and a static array, unaligned
// ranges included; after unregistering it can be registered again.
#include <sys/mman.h>

#include "check.h"

int g_static[3000];

__global__ void add_one(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) ++data[i];
}

void run(const char* name, int* data, int count) {
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < count; ++i) data[i] = i * 3;
    WT_HIP(hipHostRegister(data, count * sizeof(int),
                           turn == 0 ? hipHostRegisterDefault : hipHostRegisterMapped));
    int* device = nullptr;
    WT_HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), data, 0));
    add_one<<<check::blocks_for(count, 128), 128>>>(device, count);
    check::sync();
    bool right = true;
    for (int i = 0; i < count; ++i) right = right && data[i] == i * 3 + 1;
    check::expect(right, "%s, registration %d", name, turn + 1);

    // A registered range also serves as the source and target of asynchronous copies.
    check::Buffer<int> copy(count);
    WT_HIP(hipMemcpyAsync(copy, data, count * sizeof(int), hipMemcpyHostToDevice, nullptr));
    add_one<<<check::blocks_for(count, 128), 128>>>(copy, count);
    WT_HIP(hipMemcpyAsync(data, copy, count * sizeof(int), hipMemcpyDeviceToHost, nullptr));
    check::sync();
    right = true;
    for (int i = 0; i < count; ++i) right = right && data[i] == i * 3 + 2;
    check::expect(right, "%s, copies", name);
    WT_HIP(hipHostUnregister(data));
  }
}

int main() {
  std::vector<int> heap(20000);
  run("malloc", heap.data(), static_cast<int>(heap.size()));
  run("an unaligned part", heap.data() + 37, 5000);
  const size_t bytes = 1 << 20;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  run("mmap", static_cast<int*>(mapped), static_cast<int>(bytes / sizeof(int)));
  munmap(mapped, bytes);
  run("static", g_static, 3000);
  int stack[2000];
  run("stack", stack, 2000);
  int unknown = 0;
  hipError_t error = hipHostUnregister(&unknown);
  (void)hipGetLastError();
  check::expect(error != hipSuccess, "unregistering an unknown pointer fails (%s)",
                hipGetErrorName(error));
  WT_HIP_RETURNS(hipErrorInvalidValue, hipHostRegister(nullptr, 100, 0));
  return check::finish();
}
