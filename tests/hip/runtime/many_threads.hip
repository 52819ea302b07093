// Eight host threads use the device at once: own streams, shared null stream, allocations, copies,
// kernels and events, all checked.
#include <atomic>
#include <thread>

#include "check.h"

__global__ void transform(int* data, int count, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = data[i] * 3 + seed;
}

std::atomic<int> g_errors{0};

void work(int id) {
  const int count = 1000 + id * 37;
  WT_HIP(hipSetDevice(0));
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  for (int turn = 0; turn < 25; ++turn) {
    const hipStream_t used = turn % 5 == 4 ? nullptr : stream;
    std::vector<int> host(count), out(count);
    for (int i = 0; i < count; ++i) host[i] = i + turn;
    int* device = nullptr;
    WT_HIP(hipMalloc(&device, count * sizeof(int)));
    WT_HIP(hipMemcpyAsync(device, host.data(), count * sizeof(int), hipMemcpyHostToDevice, used));
    transform<<<check::blocks_for(count, 128), 128, 0, used>>>(device, count, id);
    transform<<<check::blocks_for(count, 64), 64, 0, used>>>(device, count, turn);
    WT_HIP(hipMemcpyAsync(out.data(), device, count * sizeof(int), hipMemcpyDeviceToHost, used));
    WT_HIP(hipStreamSynchronize(used));
    for (int i = 0; i < count; ++i) g_errors += out[i] != ((i + turn) * 3 + id) * 3 + turn;
    WT_HIP(hipFree(device));
  }
  WT_HIP(hipStreamDestroy(stream));
}

int main() {
  std::vector<std::thread> threads;
  for (int id = 0; id < 8; ++id) threads.emplace_back(work, id);
  for (std::thread& t : threads) t.join();
  check::equal("wrong values over 8 threads x 25 rounds", g_errors.load(), 0);
  return check::finish();
}
