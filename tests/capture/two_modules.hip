// Two modules, each with a kernel `work` that does something else, as compiled code loaded at run time.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include <cstdio>
#include <string>
#include <vector>

#include "check.h"

namespace {

// The runtime finds names in the code where the program keeps it.
std::vector<std::vector<char>> images;

hipModule_t compile(const std::string& expression) {
  const std::string source =
      "extern \"C\" __global__ void work(int* data) { data[threadIdx.x] = " + expression + "; }";
  hiprtcProgram program;
  hiprtcCreateProgram(&program, source.c_str(), "work.hip", 0, nullptr, nullptr);
  hipDeviceProp_t properties;
  WT_HIP(hipGetDeviceProperties(&properties, 0));
  const std::string arch = std::string("--gpu-architecture=") + properties.gcnArchName;
  const char* options[] = {arch.c_str()};
  if (hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) {
    std::printf("FAIL hiprtc\n");
    std::exit(1);
  }
  size_t size = 0;
  hiprtcGetCodeSize(program, &size);
  images.emplace_back(size);
  std::vector<char>& code = images.back();
  hiprtcGetCode(program, code.data());
  hipModule_t module;
  WT_HIP(hipModuleLoadData(&module, code.data()));
  return module;
}

}  // namespace

int main() {
  int* data = nullptr;
  WT_HIP(hipMalloc(&data, 64 * sizeof(int)));
  WT_HIP(hipMemset(data, 0, 64 * sizeof(int)));
  const hipModule_t modules[] = {compile("data[threadIdx.x] + 1000"),
                                 compile("data[threadIdx.x] * 3 + threadIdx.x")};
  for (const hipModule_t module : modules) {
    hipFunction_t work;
    WT_HIP(hipModuleGetFunction(&work, module, "work"));
    void* arguments[] = {&data};
    WT_HIP(hipModuleLaunchKernel(work, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  }
  std::vector<int> host(64);
  WT_HIP(hipMemcpy(host.data(), data, 64 * sizeof(int), hipMemcpyDeviceToHost));
  std::printf("%d %d\n", host[0], host[63]);
  return host[0] == 3000 && host[63] == 3063 ? 0 : 1;
}
