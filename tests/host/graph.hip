// One graph of five kernels, launched four times: a launch call with many dispatches of its own.
#include <hip/hip_runtime.h>

#include "host.h"

__global__ void add(int* values, int amount) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += amount;
}

int main() {
  constexpr int kKernels = 5, kLaunches = 4, kValues = 128;
  int* values = nullptr;
  hipStream_t stream;
  CALL(hipMalloc, reinterpret_cast<void**>(&values), kValues * sizeof(int));
  CALL(hipMemset, values, 0, kValues * sizeof(int));
  CALL(hipStreamCreate, &stream);
  CALL(hipStreamBeginCapture, stream, hipStreamCaptureModeGlobal);
  for (int i = 0; i < kKernels; ++i)
    hipLaunchKernelGGL(add, dim3(2), dim3(64), 0, stream, values, i);
  hipGraph_t graph;
  CALL(hipStreamEndCapture, stream, &graph);
  hipGraphExec_t executable;
  CALL(hipGraphInstantiate, &executable, graph, nullptr, nullptr, 0);
  for (int i = 0; i < kLaunches; ++i) CALL(hipGraphLaunch, executable, stream);
  CALL(hipStreamSynchronize, stream);
  int back[kValues];
  CALL(hipMemcpy, back, values, sizeof back, hipMemcpyDeviceToHost);
  host::say("first %d, last %d", back[0], back[kValues - 1]);
  CALL(hipGraphExecDestroy, executable);
  CALL(hipGraphDestroy, graph);
  host::report();
  return 0;
}
