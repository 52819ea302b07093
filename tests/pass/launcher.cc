// launcher CODE_OBJECT [-s STREAMS] KERNEL…: runs kernels of kernels.hip and prints a checksum of what each computes.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kItems = 4096, kGroup = 256;

void check(hipError_t status, const char* what) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

unsigned long run(hipModule_t module, const char* name) {
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
  CHECK(hipModuleLaunchKernel(kernel, kItems / kGroup, 1, 1, kGroup, 1, 1, 0, stream, arguments,
                              nullptr));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(out.data(), out_gpu, bytes, hipMemcpyDeviceToHost));
  CHECK(hipFree(in_gpu));
  CHECK(hipFree(out_gpu));
  CHECK(hipStreamDestroy(stream));
  unsigned long sum = 0xcbf29ce484222325;
  for (const unsigned value : out) sum = (sum ^ value) * 0x100000001b3;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  hipModule_t module = nullptr;
  CHECK(hipModuleLoad(&module, argv[1]));
  int first = 2, threads = 1;
  if (argc > 4 && std::strcmp(argv[2], "-s") == 0) threads = std::atoi(argv[3]), first = 4;
  for (int i = first; i < argc; ++i) {
    std::vector<unsigned long> sums(static_cast<size_t>(threads));
    std::vector<std::thread> at_work;
    for (auto& sum : sums) at_work.emplace_back([&, i] { sum = run(module, argv[i]); });
    for (std::thread& thread : at_work) thread.join();
    for (const unsigned long sum : sums) std::printf("%s %016lx\n", argv[i], sum);
  }
  CHECK(hipModuleUnload(module));
}
