// The plain case: memory, a kernel from a module, output on both streams, a status that is not 0.
#include <cstdio>

#include "host.h"

int main() {
  host::say("device works: %d", host::use_device(0x5a));

  constexpr int kValues = 256;
  hipModule_t module = nullptr;
  hipFunction_t square = nullptr;
  CALL(hipModuleLoad, &module, WT_HOST_MODULE);
  CALL(hipModuleGetFunction, &square, module, "square");
  void* values = nullptr;
  CALL(hipMalloc, &values, kValues * sizeof(int));
  void* arguments[] = {&values};
  for (int launch = 0; launch < 3; ++launch) {
    CALL(hipModuleLaunchKernel, square, kValues / 64, 1, 1, 64, 1, 1, 0, nullptr, arguments,
         nullptr);
  }
  int back[kValues] = {};
  CALL(hipMemcpy, back, values, sizeof back, hipMemcpyDeviceToHost);
  int right = 0;
  for (int i = 0; i < kValues; ++i) right += back[i] == i * i;
  host::say("squares: %d", right);
  CALL(hipFree, values);
  CALL(hipModuleUnload, module);

  std::fprintf(stderr, "a line of the program's own\n");
  std::printf("buffered output\n");  // flushed by exit
  host::report();
  return 7;
}
