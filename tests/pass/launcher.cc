// launcher CODE_OBJECT [-s THREADS] [-d GPUS] [-r TIMES] [-l BYTES] [-g] [-3] [-w] [-i] KERNEL…: runs kernels of kernels.hip and prints a
// checksum of what each computes. Every thread has a stream of its own; -d: they take turns on the first GPUS GPUs; -r: the
// code object is loaded, used and unloaded this often; -l: dynamic LDS; -g: the launch is captured into a graph, which is launched three times;
// -3: a grid of three dimensions, where x alone does the work; -w: 66 000 workgroups of one work-item each; -i: ends
// when there is a line to read.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kItems = 4096, kGroup = 256, kManyGroups = 66000;

struct Options {
  int threads = 1, gpus = 1, times = 1;
  unsigned lds_bytes = 0;
  bool graph = false, is_3d = false, has_many_groups = false, waits = false;
};

void check(hipError_t status, const char* what) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

void launch(hipFunction_t kernel, hipStream_t stream, void** arguments, const Options& options) {
  if (options.is_3d)
    CHECK(hipModuleLaunchKernel(kernel, kItems / kGroup, 2, 3, kGroup / 4, 2, 2, options.lds_bytes,
                                stream, arguments, nullptr));
  else if (options.has_many_groups)
    CHECK(hipModuleLaunchKernel(kernel, kManyGroups, 1, 1, 1, 1, 1, options.lds_bytes, stream,
                                arguments, nullptr));
  else
    CHECK(hipModuleLaunchKernel(kernel, kItems / kGroup, 1, 1, kGroup, 1, 1, options.lds_bytes,
                                stream, arguments, nullptr));
}

void launch_graph(hipFunction_t kernel, hipStream_t stream, void** arguments,
                  const Options& options) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t ready = nullptr;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  launch(kernel, stream, arguments, options);
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) {
    CHECK(hipGraphLaunch(ready, stream));
    CHECK(hipStreamSynchronize(stream));
  }
  CHECK(hipGraphExecDestroy(ready));
  CHECK(hipGraphDestroy(graph));
}

unsigned long run(hipModule_t module, int gpu, const char* name, const Options& options) {
  CHECK(hipSetDevice(gpu));
  hipFunction_t kernel = nullptr;
  hipStream_t stream = nullptr;
  CHECK(hipModuleGetFunction(&kernel, module, name));
  CHECK(hipStreamCreate(&stream));
  std::vector<unsigned> in(kItems), out(kItems);
  for (unsigned i = 0; i < kItems; ++i) in[i] = i * 2654435761u >> 7;
  void *in_gpu = nullptr, *out_gpu = nullptr;
  const size_t bytes = kItems * sizeof(unsigned);
  CHECK(hipMalloc(&in_gpu, bytes));
  CHECK(hipMalloc(&out_gpu, bytes));
  CHECK(hipMemcpy(in_gpu, in.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemset(out_gpu, 0, bytes));
  unsigned n = kItems;
  void* arguments[] = {&in_gpu, &out_gpu, &n};
  if (options.graph) launch_graph(kernel, stream, arguments, options);
  else launch(kernel, stream, arguments, options);
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(out.data(), out_gpu, bytes, hipMemcpyDeviceToHost));
  CHECK(hipFree(in_gpu));
  CHECK(hipFree(out_gpu));
  CHECK(hipStreamDestroy(stream));
  unsigned long sum = 0xcbf29ce484222325;
  for (const unsigned value : out) sum = (sum ^ value) * 0x100000001b3;
  return sum;
}

void run_all(const char* file, char** begin, char** end, const Options& options) {
  std::vector<hipModule_t> modules(static_cast<size_t>(options.gpus));
  for (int gpu = 0; gpu < options.gpus; ++gpu) {
    CHECK(hipSetDevice(gpu));
    CHECK(hipModuleLoad(&modules[static_cast<size_t>(gpu)], file));
  }
  for (char** name = begin; name < end; ++name) {
    std::vector<unsigned long> sums(static_cast<size_t>(options.threads));
    std::vector<std::thread> at_work;
    for (size_t thread = 0; thread < sums.size(); ++thread)
      at_work.emplace_back([&, name, thread] {
        const int gpu = static_cast<int>(thread) % options.gpus;
        sums[thread] = run(modules[static_cast<size_t>(gpu)], gpu, *name, options);
      });
    for (std::thread& thread : at_work) thread.join();
    for (const unsigned long sum : sums) std::printf("%s %016lx\n", *name, sum);
  }
  for (hipModule_t module : modules) CHECK(hipModuleUnload(module));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a line says that its kernels have ended
  Options options;
  int first = 2;
  for (; first < argc && argv[first][0] == '-'; ++first) {
    const char* const option = argv[first];
    if (std::strcmp(option, "-g") == 0) options.graph = true;
    else if (std::strcmp(option, "-3") == 0) options.is_3d = true;
    else if (std::strcmp(option, "-w") == 0) options.has_many_groups = true;
    else if (std::strcmp(option, "-i") == 0) options.waits = true;
    else if (++first == argc) return 2;
    else if (std::strcmp(option, "-s") == 0) options.threads = std::atoi(argv[first]);
    else if (std::strcmp(option, "-d") == 0) options.gpus = std::atoi(argv[first]);
    else if (std::strcmp(option, "-r") == 0) options.times = std::atoi(argv[first]);
    else if (std::strcmp(option, "-l") == 0)
      options.lds_bytes = static_cast<unsigned>(std::atoi(argv[first]));
    else return 2;
  }
  for (int i = 0; i < options.times; ++i) run_all(argv[1], argv + first, argv + argc, options);
  if (options.waits) std::getchar();
}
