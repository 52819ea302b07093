// Kernels to be replaced, and the program that launches them. Compiled a second time with -DNEW, it is the
// file that the replacements come from. Each case prints what the kernels made.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

#ifdef NEW
constexpr int kAdd = 1000;
#else
constexpr int kAdd = 0;
#endif

__global__ void scale(int* data, int by) {
  data[blockIdx.x * blockDim.x + threadIdx.x] *= by;
  data[blockIdx.x * blockDim.x + threadIdx.x] += kAdd;
}

namespace other {
__global__ void scale(int* data, int by) { data[threadIdx.x] = data[threadIdx.x] - by + kAdd; }
}  // namespace other

// The same symbol, other arguments.
#ifdef NEW
extern "C" __global__ void arguments(int* data, long by) {
  data[threadIdx.x] = static_cast<int>(by);
}
#else
extern "C" __global__ void arguments(int* data, int by) { data[threadIdx.x] = by; }
#endif

__device__ int counter;
extern "C" __global__ void variable(int* data) { data[threadIdx.x] = counter + kAdd; }

// The new one takes small workgroups only.
#ifdef NEW
extern "C" __global__ __launch_bounds__(64) void narrow(int* data) { data[threadIdx.x] = 2; }
#else
extern "C" __global__ __launch_bounds__(256) void narrow(int* data) { data[threadIdx.x] = 1; }
#endif

// Dynamic LDS must arrive, whatever static LDS the new one has in front of it.
extern "C" __global__ void shared(int* data) {
  extern __shared__ int dynamic[];
#ifdef NEW
  __shared__ int own[1024];
  own[threadIdx.x] = kAdd;
#endif
  dynamic[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  int value = dynamic[63 - threadIdx.x];
#ifdef NEW
  value += own[63 - threadIdx.x];
#endif
  data[threadIdx.x] = value;
}

// The new one needs scratch, the old one none.
extern "C" __global__ void scratch(int* data, int turn) {
#ifdef NEW
  int local[64];
  for (int i = 0; i < 64; ++i) local[i] = data[(i + turn) & 63];
  for (int i = 0; i < turn; ++i) local[local[i] & 63] ^= i;
  data[64 + threadIdx.x] = local[(threadIdx.x * turn) & 63] * 0 + kAdd;
#else
  data[64 + threadIdx.x] = turn;
#endif
}

// For modules that are compiled at run time, which have kernels of these names.
extern "C" __global__ void work(int* data) { data[threadIdx.x] += kAdd; }

static int* g_data = nullptr;

static void fill() {
  std::vector<int> host(1024);
  for (int i = 0; i < 1024; ++i) host[i] = i;
  WT_HIP(hipMemcpy(g_data, host.data(), 1024 * sizeof(int), hipMemcpyHostToDevice));
}

static void show(const char* name, int index = 1) {
  std::vector<int> host(1024);
  WT_HIP(hipMemcpy(host.data(), g_data, 1024 * sizeof(int), hipMemcpyDeviceToHost));
  std::printf("%s %d\n", name, host[index]);
  std::fflush(stdout);
}

static void basic() {
  scale<<<4, 64>>>(g_data, 3);
  show("scale");
  fill();
  other::scale<<<1, 64>>>(g_data, 3);
  show("other");
}

static void refused() {
  arguments<<<1, 64>>>(g_data, 7);
  show("arguments");
  const int value = 5;
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(counter), &value, sizeof value));
  variable<<<1, 64>>>(g_data);
  show("variable");
}

static void launches() {
  narrow<<<1, 256>>>(g_data);
  show("narrow");
  narrow<<<1, 64>>>(g_data);
  show("narrow");
  fill();
  shared<<<1, 64, 64 * sizeof(int)>>>(g_data);
  show("shared");
  fill();
  shared<<<1, 64, 62 * 1024>>>(g_data);
  show("shared");
  scratch<<<1, 64>>>(g_data, 9);
  show("scratch", 65);
}

static void graph() {
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  WT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  scale<<<4, 64, 0, stream>>>(g_data, 2);
  scale<<<4, 64, 0, stream>>>(g_data, 2);
  hipGraph_t graph;
  WT_HIP(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t executable;
  WT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  WT_HIP(hipGraphLaunch(executable, stream));
  WT_HIP(hipStreamSynchronize(stream));
  show("graph");
}

static void threads() {
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([t] {
      hipStream_t stream;
      WT_HIP(hipStreamCreate(&stream));
      for (int i = 0; i < 25; ++i) scale<<<1, 64, 0, stream>>>(g_data + t * 256, 1);
      WT_HIP(hipStreamSynchronize(stream));
    });
  }
  for (std::thread& thread : all) thread.join();
  show("threads");
}

// Modules from hipRTC, one after the other, the first unloaded before the second comes.
static void modules() {
  for (const char* expression : {"+= 1", "*= 2"}) {
    fill();
    const std::string source =
        std::string("extern \"C\" __global__ void work(int* data) { data[threadIdx.x] ") +
        expression + "; }";
    hiprtcProgram program;
    hiprtcCreateProgram(&program, source.c_str(), "work.hip", 0, nullptr, nullptr);
    hipDeviceProp_t properties;
    WT_HIP(hipGetDeviceProperties(&properties, 0));
    const std::string arch = std::string("--gpu-architecture=") + properties.gcnArchName;
    const char* options[] = {arch.c_str()};
    if (hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) std::exit(1);
    size_t size = 0;
    hiprtcGetCodeSize(program, &size);
    std::vector<char> code(size);
    hiprtcGetCode(program, code.data());
    hipModule_t module;
    WT_HIP(hipModuleLoadData(&module, code.data()));
    hipFunction_t function;
    WT_HIP(hipModuleGetFunction(&function, module, "work"));
    void* arguments[] = {&g_data};
    WT_HIP(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    show("module");
    WT_HIP(hipModuleUnload(module));
  }
}

// Waits for a line of input before each of the other launches.
static void steps() {
  for (;;) {
    fill();
    scale<<<4, 64>>>(g_data, 3);
    show("step");
    char line[16];
    if (std::fgets(line, sizeof line, stdin) == nullptr) break;
  }
}

int main(int count, char** words) {
  WT_HIP(hipMalloc(&g_data, 1024 * sizeof(int)));
  for (int i = 1; i < count; ++i) {
    fill();
    const struct {
      const char* name;
      void (*run)();
    } cases[] = {{"basic", basic}, {"refused", refused}, {"launches", launches},
                 {"graph", graph}, {"threads", threads}, {"modules", modules},
                 {"steps", steps}};
    for (const auto& one : cases)
      if (std::strcmp(one.name, words[i]) == 0) one.run();
  }
  return 0;
}
