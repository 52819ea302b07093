// Kernels that can be made better, one per argument: matmul, transpose, reduction, saxpy,
// dot, records, tiled; all of them but the last with "all". saxpy has another size each time.
// tests/lab/lab.py captures them and looks for better ones.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/dot.inc"
#include "kernels/matmul.inc"
#include "kernels/records.inc"
#include "kernels/reduction.inc"
#include "kernels/saxpy.inc"
#include "kernels/tiled.inc"
#include "kernels/transpose.inc"

namespace {

// Whole numbers: sums of them are exact in any order.
float* numbers(size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 24) - 128);
  }
  float* memory = nullptr;
  if (hipMalloc(&memory, count * sizeof(float)) != hipSuccess) return nullptr;
  (void)hipMemcpy(memory, values.data(), count * sizeof(float), hipMemcpyHostToDevice);
  return memory;
}

// False: there is no such kernel. `turn`: how many were run before.
bool run(const char* which, int turn) {
  const auto is = [&](const char* name) {
    return std::strcmp(which, name) == 0 || std::strcmp(which, "all") == 0;
  };
  bool found = false;
  if (is("matmul")) {
    const int n = 64;
    hipLaunchKernelGGL(matmul, dim3(n / TILE, n / TILE), dim3(TILE, TILE), 0, 0, numbers(n * n, 1),
                       numbers(n * n, 2), numbers(n * n, 3), n);
    found = true;
  }
  if (is("transpose")) {
    const int n = 128;
    hipLaunchKernelGGL(transpose, dim3(n / 16, n / 16), dim3(16, 16), 0, 0, numbers(n * n, 1),
                       numbers(n * n, 2), n);
    found = true;
  }
  if (is("reduction")) {
    hipLaunchKernelGGL(reduction, dim3(16), dim3(32), 0, 0, numbers(16 * 1024, 1),
                       numbers(16 * 32, 2), 16);
    found = true;
  }
  if (is("saxpy")) {
    hipLaunchKernelGGL(saxpy, dim3(4), dim3(256), 0, 0, 16000 - turn * 3000, 3.0f,
                       numbers(16384, 1), numbers(16384, 2));
    found = true;
  }
  if (is("dot")) {
    hipLaunchKernelGGL(dot, dim3(16), dim3(64), 0, 0, numbers(64 * 1024, 1), numbers(64 * 1024, 2),
                       numbers(1024, 3), 1000);
    found = true;
  }
  if (is("records")) {
    hipLaunchKernelGGL(records, dim3(8), dim3(256), 0, 0, numbers(2048 * 8, 1), numbers(2048, 2),
                       2000);
    found = true;
  }
  if (std::strcmp(which, "tiled") == 0) {
    const int n = 64;
    hipLaunchKernelGGL(tiled, dim3(n / SIDE, n / SIDE), dim3(SIDE, SIDE), 0, 0, numbers(n * n, 1),
                       numbers(n * n, 2), numbers(n * n, 3), n);
    found = true;
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < std::max(argc, 2); ++i) {
    if (i < argc && run(argv[i], i - 1)) continue;
    std::fprintf(stderr, "lab: name a kernel\n");
    return 1;
  }
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
