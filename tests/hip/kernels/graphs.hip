// HIP graphs: captured from streams with a fork and a join, built by hand with kernel, copy, memset
// and host nodes, launched repeatedly, and with parameters changed between launches.
#include "check.h"

__global__ void multiply(int* data, int count, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= by;
}
__global__ void add(const int* a, const int* b, int* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

constexpr int kCount = 3000;
constexpr unsigned kBlocks = (kCount + 255) / 256;

void run_captured() {
  std::vector<int> a(kCount), b(kCount), out(kCount), want(kCount);
  for (int i = 0; i < kCount; ++i) a[i] = i, b[i] = 7 * i + 1, want[i] = 3 * i + 5 * (7 * i + 1);
  check::Buffer<int> device_a(kCount), device_b(kCount), sum(kCount);
  hipStream_t main_stream, side;
  hipEvent_t forked, joined;
  WT_HIP(hipStreamCreate(&main_stream));
  WT_HIP(hipStreamCreate(&side));
  WT_HIP(hipEventCreate(&forked));
  WT_HIP(hipEventCreate(&joined));
  WT_HIP(hipStreamBeginCapture(main_stream, hipStreamCaptureModeGlobal));
  WT_HIP(hipEventRecord(forked, main_stream));
  WT_HIP(hipStreamWaitEvent(side, forked, 0));
  WT_HIP(
      hipMemcpyAsync(device_a, a.data(), kCount * sizeof(int), hipMemcpyHostToDevice, main_stream));
  multiply<<<kBlocks, 256, 0, main_stream>>>(device_a, kCount, 3);
  WT_HIP(hipMemcpyAsync(device_b, b.data(), kCount * sizeof(int), hipMemcpyHostToDevice, side));
  multiply<<<kBlocks, 256, 0, side>>>(device_b, kCount, 5);
  WT_HIP(hipEventRecord(joined, side));
  WT_HIP(hipStreamWaitEvent(main_stream, joined, 0));
  add<<<kBlocks, 256, 0, main_stream>>>(device_a, device_b, sum, kCount);
  WT_HIP(hipMemcpyAsync(out.data(), sum, kCount * sizeof(int), hipMemcpyDeviceToHost, main_stream));
  hipGraph_t graph;
  WT_HIP(hipStreamEndCapture(main_stream, &graph));
  size_t nodes = 0;
  WT_HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  check::equal("nodes of the captured graph", nodes, size_t{6});
  check::equal("nothing ran while capturing", out[1], 0);
  hipGraphExec_t executable;
  WT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int launch = 0; launch < 3; ++launch) {
    std::fill(out.begin(), out.end(), -1);
    WT_HIP(hipGraphLaunch(executable, main_stream));
    WT_HIP(hipStreamSynchronize(main_stream));
    check::equal(("captured graph, launch " + std::to_string(launch)).c_str(), out, want);
  }
  WT_HIP(hipGraphExecDestroy(executable));
  WT_HIP(hipGraphDestroy(graph));
  WT_HIP(hipEventDestroy(forked));
  WT_HIP(hipEventDestroy(joined));
  WT_HIP(hipStreamDestroy(side));
  WT_HIP(hipStreamDestroy(main_stream));
}

void run_built() {
  check::Buffer<int> data(kCount);
  std::vector<int> out(kCount);
  int host_calls = 0;
  hipGraph_t graph;
  hipGraphNode_t fill, kernel, copy, host;
  WT_HIP(hipGraphCreate(&graph, 0));
  hipMemsetParams fill_parameters = {};
  fill_parameters.dst = data;
  fill_parameters.elementSize = 4;
  fill_parameters.value = 11;
  fill_parameters.width = kCount;
  fill_parameters.height = 1;
  WT_HIP(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &fill_parameters));
  int* pointer = data;
  int count = kCount, by = 4;
  void* arguments[] = {&pointer, &count, &by};
  hipKernelNodeParams kernel_parameters = {};
  kernel_parameters.func = reinterpret_cast<void*>(multiply);
  kernel_parameters.gridDim = dim3(kBlocks);
  kernel_parameters.blockDim = dim3(256);
  kernel_parameters.kernelParams = arguments;
  WT_HIP(hipGraphAddKernelNode(&kernel, graph, &fill, 1, &kernel_parameters));
  WT_HIP(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, out.data(), data, kCount * sizeof(int),
                                 hipMemcpyDeviceToHost));
  hipHostNodeParams host_parameters = {};
  host_parameters.fn = [](void* counter) { ++*static_cast<int*>(counter); };
  host_parameters.userData = &host_calls;
  WT_HIP(hipGraphAddHostNode(&host, graph, &copy, 1, &host_parameters));
  hipGraphExec_t executable;
  WT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  WT_HIP(hipGraphLaunch(executable, stream));
  WT_HIP(hipStreamSynchronize(stream));
  check::equal("memset, kernel and copy nodes", out, std::vector<int>(kCount, 44));
  check::equal("the host node ran once", host_calls, 1);
  by = -2;
  WT_HIP(hipGraphExecKernelNodeSetParams(executable, kernel, &kernel_parameters));
  WT_HIP(hipGraphLaunch(executable, stream));
  WT_HIP(hipStreamSynchronize(stream));
  check::equal("after new kernel parameters", out, std::vector<int>(kCount, -22));
  check::equal("the host node ran again", host_calls, 2);
  WT_HIP(hipStreamDestroy(stream));
  WT_HIP(hipGraphExecDestroy(executable));
  WT_HIP(hipGraphDestroy(graph));
}

int main() {
  run_captured();
  run_built();
  return check::finish();
}
