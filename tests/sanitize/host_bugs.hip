// Calls with one mistake each, chosen by the first argument, and none of them when there is none.
// tests/sanitize/check.py knows what must be found.
#include <string>

#include "check.h"

__global__ void fill(int* data, int first) { data[first + int(threadIdx.x)] = 1; }

// Results are not looked at, as in the programs that this is about.
__attribute__((noinline)) void* allocate(size_t bytes) {
  void* data = nullptr;
  (void)hipMalloc(&data, bytes);
  return data;
}

int main(int argc, char** argv) {
  const std::string bug = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return bug == name; };
  constexpr size_t kBytes = 256;
  char host[2 * kBytes] = {};
  char* data = static_cast<char*>(allocate(kBytes));
  char* other = static_cast<char*>(allocate(kBytes));
  void* pinned = nullptr;
  (void)hipHostMalloc(&pinned, kBytes, 0);
  hipStream_t stream = nullptr;
  (void)hipStreamCreate(&stream);
  hipEvent_t event = nullptr;
  (void)hipEventCreate(&event);

  (void)hipMemcpy(data, host, is("copy") ? 2 * kBytes : kBytes, hipMemcpyHostToDevice);
  (void)hipMemcpy(host, data + 16, is("read") ? kBytes : kBytes - 16, hipMemcpyDeviceToHost);
  (void)hipMemset(data + 8, 0, is("fill") ? kBytes : kBytes - 8);
  // Rows of 16 bytes, 32 apart: the last one ends 16 bytes before the end, or 16 behind it.
  const size_t rows = kBytes / 32;
  (void)hipMemcpy2D(data, 32, host, 32, 16, is("rectangle") ? rows + 1 : rows,
                    hipMemcpyHostToDevice);
  (void)hipMemset2D(data + 16, 32, 0, is("fill-rectangle") ? 17 : 16, rows);
  (void)hipMemcpy2D(host, 16, data, 32, 16, is("read-rectangle") ? rows + 2 : rows,
                    hipMemcpyDeviceToHost);
  hipMemcpy3DParms block{};
  block.srcPtr = make_hipPitchedPtr(host, 16, 16, 4);
  block.dstPtr = make_hipPitchedPtr(data, 16, 16, 4);
  block.dstPos = make_hipPos(0, is("block") ? 3 : 2, 1);
  block.extent = make_hipExtent(16, 2, 3);
  block.kind = hipMemcpyHostToDevice;
  (void)hipMemcpy3D(&block);
  fill<<<1, 64>>>(reinterpret_cast<int*>(data), is("kernel") ? 1 : 0);
  (void)hipDeviceSynchronize();
  // Thrice from one place, once from another.
  for (int i = 0; is("leak") && i < 3; ++i) allocate(100);
  if (!is("leak")) (void)hipHostFree(pinned);
  (void)hipFree(other);
  if (is("twice")) (void)hipFree(other);
  if (is("copy-freed")) (void)hipMemcpy(other, host, 16, hipMemcpyHostToDevice);
  if (is("inside")) (void)hipFree(data + 4);
  else (void)hipFree(data);
  if (is("nowhere")) (void)hipFree(host);
  if (!is("handles")) (void)hipStreamDestroy(stream);
  if (!is("handles")) (void)hipEventDestroy(event);
  check::expect(true, "every call was made");
  return check::finish();
}
