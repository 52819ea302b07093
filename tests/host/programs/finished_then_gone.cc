// Ends without destructors right after a kernel is seen to have finished, by asking and not by
// waiting for it.
//
//   finished_then_gone _exit|_Exit|quick_exit|abort
#include <cstdlib>
#include <cstring>

#include "host.h"

int main(int argc, char** argv) {
  constexpr int kValues = 256;
  hipModule_t module = nullptr;
  hipFunction_t square = nullptr;
  CALL(hipModuleLoad, &module, WT_HOST_MODULE);
  CALL(hipModuleGetFunction, &square, module, "square");
  void* values = nullptr;
  CALL(hipMalloc, &values, kValues * sizeof(int));
  void* arguments[] = {&values};
  host::report();
  (void)hipModuleLaunchKernel(square, kValues / 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr);
  while (hipStreamQuery(nullptr) == hipErrorNotReady) {
  }
  const char* how = argc > 1 ? argv[1] : "";
  if (std::strcmp(how, "_exit") == 0) _exit(3);
  if (std::strcmp(how, "_Exit") == 0) std::_Exit(4);
  if (std::strcmp(how, "quick_exit") == 0) std::quick_exit(5);
  if (std::strcmp(how, "abort") == 0) std::abort();
  return 1;
}
