// Host callbacks in streams: they run once, in order, after the work before and before the work
// after them, and see the data.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "check.h"

__global__ void fill(int* data, int count, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = value;
}

constexpr int kCount = 4000;
int* g_pinned = nullptr;
std::mutex g_lock;
std::vector<int> g_order;
std::atomic<int> g_wrong{0};

struct Call {
  int id;
  int expected;
};

void on_callback(hipStream_t, hipError_t status, void* user) {
  const Call* call = static_cast<const Call*>(user);
  if (status != hipSuccess) ++g_wrong;
  for (int i = 0; i < kCount; ++i) g_wrong += g_pinned[i] != call->expected;
  std::lock_guard<std::mutex> hold(g_lock);
  g_order.push_back(call->id);
}

int main() {
  WT_HIP(hipHostMalloc(&g_pinned, kCount * sizeof(int)));
  check::Buffer<int> device(kCount);
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  std::vector<Call> calls(20);
  std::vector<int> want;
  for (int i = 0; i < 20; ++i) {
    calls[i] = {i, i * 11};
    want.push_back(i);
    fill<<<check::blocks_for(kCount, 256), 256, 0, stream>>>(device, kCount, i * 11);
    WT_HIP(hipMemcpyAsync(g_pinned, device, kCount * sizeof(int), hipMemcpyDeviceToHost, stream));
    WT_HIP(hipStreamAddCallback(stream, on_callback, &calls[i], 0));
  }
  WT_HIP(hipStreamSynchronize(stream));
  // The stream is idle when the last callback was signalled; its own return may be a moment away.
  for (int i = 0; i < 2000; ++i) {
    {
      std::lock_guard<std::mutex> hold(g_lock);
      if (g_order.size() == calls.size()) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  check::equal("20 callbacks in order", g_order, want);
  check::equal("wrong values or states they saw", g_wrong.load(), 0);

  // HIP 5.2 declares hipLaunchHostFunc but does not have it yet.
  using LaunchHostFunc = hipError_t (*)(hipStream_t, void (*)(void*), void*);
  const auto launch_host_func =
      reinterpret_cast<LaunchHostFunc>(dlsym(RTLD_DEFAULT, "hipLaunchHostFunc"));
  if (launch_host_func != nullptr) {
    std::atomic<int> entered{0};
    const auto slow = [](void* user) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      static_cast<std::atomic<int>*>(user)->store(1);
    };
    WT_HIP(launch_host_func(stream, slow, &entered));
    WT_HIP(hipStreamSynchronize(stream));
    check::equal("hipLaunchHostFunc was waited for", entered.load(), 1);
  }
  WT_HIP(hipStreamDestroy(stream));
  WT_HIP(hipHostFree(g_pinned));
  return check::finish();
}
