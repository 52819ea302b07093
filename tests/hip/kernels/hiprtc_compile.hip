// Kernels compiled at run time with hipRTC: a program with a template instantiation named by
// expression, a header given as text, macros on the command line, and the log of one that does not
// compile.
#include <hip/hiprtc.h>

#include "check.h"

#define WT_RTC(call)                                                         \
  do {                                                                       \
    const hiprtcResult wt_result = (call);                                   \
    if (wt_result != HIPRTC_SUCCESS) {                                       \
      std::printf("FAIL %s:%d: %s returned %s\n", __FILE__, __LINE__, #call, \
                  hiprtcGetErrorString(wt_result));                          \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

const char* const kSource = R"(
#include "scale.h"
extern "C" __global__ void saxpy(const float* x, float* y, float a, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i] + y[i] + OFFSET;
}
template <class T, int kTimes>
__global__ void repeat(T* data) { data[threadIdx.x] = scale(data[threadIdx.x]) * kTimes; }
)";
const char* const kHeader = "template <class T> __device__ T scale(T v) { return v * 3; }\n";

int main() {
  hiprtcProgram program;
  const char* header_names[] = {"scale.h"};
  const char* headers[] = {kHeader};
  WT_RTC(hiprtcCreateProgram(&program, kSource, "saxpy.hip", 1, headers, header_names));
  WT_RTC(hiprtcAddNameExpression(program, "repeat<int, 7>"));
  const std::string arch = std::string("--offload-arch=") + check::properties().gcnArchName;
  const char* options[] = {arch.c_str(), "-DOFFSET=0.5f", "-O3"};
  const hiprtcResult compiled = hiprtcCompileProgram(program, 3, options);
  size_t log_size = 0;
  WT_RTC(hiprtcGetProgramLogSize(program, &log_size));
  std::string log(log_size, '\0');
  if (log_size > 1) WT_RTC(hiprtcGetProgramLog(program, log.data()));
  if (!check::expect(compiled == HIPRTC_SUCCESS, "the program compiles%s%s",
                     log_size > 1 ? ": " : "", log.c_str()))
    return check::finish();
  const char* lowered = nullptr;
  WT_RTC(hiprtcGetLoweredName(program, "repeat<int, 7>", &lowered));
  const std::string repeat_name = lowered;
  size_t code_size = 0;
  WT_RTC(hiprtcGetCodeSize(program, &code_size));
  std::vector<char> code(code_size);
  WT_RTC(hiprtcGetCode(program, code.data()));
  WT_RTC(hiprtcDestroyProgram(&program));

  hipModule_t module;
  hipFunction_t saxpy, repeat;
  WT_HIP(hipModuleLoadData(&module, code.data()));
  WT_HIP(hipModuleGetFunction(&saxpy, module, "saxpy"));
  WT_HIP(hipModuleGetFunction(&repeat, module, repeat_name.c_str()));
  int count = 1000;
  std::vector<float> x(count), y(count), want(count);
  for (int i = 0; i < count; ++i)
    x[i] = static_cast<float>(i), y[i] = static_cast<float>(2 * i),
    want[i] = 4.0f * i + 2.0f * i + 0.5f;
  check::Buffer<float> device_x(x), device_y(y);
  float *px = device_x, *py = device_y, a = 4;
  void* arguments[] = {&px, &py, &a, &count};
  WT_HIP(hipModuleLaunchKernel(saxpy, check::blocks_for(count, 64), 1, 1, 64, 1, 1, 0, nullptr,
                               arguments, nullptr));
  check::sync();
  check::equal("saxpy", device_y.read(), want);

  std::vector<int> data(64), want_data(64);
  for (int i = 0; i < 64; ++i) data[i] = i, want_data[i] = i * 21;
  check::Buffer<int> device_data(data);
  int* pointer = device_data;
  void* repeat_arguments[] = {&pointer};
  WT_HIP(hipModuleLaunchKernel(repeat, 1, 1, 1, 64, 1, 1, 0, nullptr, repeat_arguments, nullptr));
  check::sync();
  check::equal("a template by its lowered name", device_data.read(), want_data);
  WT_HIP(hipModuleUnload(module));

  WT_RTC(hiprtcCreateProgram(&program, "__global__ void broken() { undeclared = 1; }", "broken.hip",
                             0, nullptr, nullptr));
  check::expect(hiprtcCompileProgram(program, 1, options) == HIPRTC_ERROR_COMPILATION,
                "a broken program is refused");
  WT_RTC(hiprtcGetProgramLogSize(program, &log_size));
  log.assign(log_size, '\0');
  WT_RTC(hiprtcGetProgramLog(program, log.data()));
  check::expect(log.find("undeclared") != std::string::npos, "and its log names the mistake");
  WT_RTC(hiprtcDestroyProgram(&program));
  return check::finish();
}
