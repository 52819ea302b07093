// Workgroups that wait for each other: a chain where block n spins on block n-1's flag, a ring
// buffer between a producer and a consumer block, a ticket lock, and a kernel that spins on the
// host.
#include <thread>

#include "check.h"

// Decoupled look-back: each block publishes its running total, the next one waits for it.
__global__ void chained_scan(const int* in, int* out, volatile int* flags, int* totals,
                             int* order) {
  __shared__ int block;
  __shared__ int before;
  if (threadIdx.x == 0) block = atomicAdd(order, 1);
  __syncthreads();
  const int i = block * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) {
    int sum = 0;
    if (block > 0) {
      while (flags[block - 1] == 0) __builtin_amdgcn_s_sleep(1);
      __threadfence();
      sum = __hip_atomic_load(&totals[block - 1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
    before = sum;
    for (unsigned k = 0; k < blockDim.x; ++k) sum += in[block * blockDim.x + k];
    __hip_atomic_store(&totals[block], sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __threadfence();
    flags[block] = 1;
  }
  __syncthreads();
  int own = 0;
  for (unsigned k = 0; k <= threadIdx.x; ++k) own += in[block * blockDim.x + k];
  out[i] = before + own;
}

__global__ void ring(int* slots, unsigned* head, unsigned* tail, int* received, int messages,
                     unsigned capacity) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int m = 0; m < messages; ++m) {
      const unsigned at = static_cast<unsigned>(m);
      while (at - __hip_atomic_load(tail, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) >= capacity) {
      }
      __hip_atomic_store(&slots[at % capacity], m * m, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      __hip_atomic_store(head, at + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
  } else {
    for (int m = 0; m < messages; ++m) {
      const unsigned at = static_cast<unsigned>(m);
      while (__hip_atomic_load(head, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == at) {
      }
      received[m] =
          __hip_atomic_load(&slots[at % capacity], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      __hip_atomic_store(tail, at + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
  }
}

__global__ void ticket_lock(unsigned* next, volatile unsigned* serving, volatile int* unprotected,
                            int times) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < times; ++i) {
    const unsigned own = atomicAdd(next, 1u);
    while (*serving != own) __builtin_amdgcn_s_sleep(1);
    __threadfence();
    *unprotected = *unprotected + 1;
    __threadfence();
    *serving = own + 1;
  }
}

__global__ void wait_for_host(volatile int* flag, int* result) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(2);
  __threadfence_system();
  *result = *flag * 3;
}

int main() {
  const int blocks = 24, threads = 64, count = blocks * threads;
  check::Rng rng(5);
  std::vector<int> in(count), want(count);
  int sum = 0;
  for (int i = 0; i < count; ++i) want[i] = sum += in[i] = static_cast<int>(rng.below(100));
  check::Buffer<int> device_in(in), out(count), flags(blocks), totals(blocks), order(1);
  flags.fill_bytes(0);
  order.fill_bytes(0);
  chained_scan<<<blocks, threads>>>(device_in, out, flags, totals, order);
  check::sync();
  check::equal("chained scan over 24 blocks", out.read(), want);

  const int messages = 200;
  check::Buffer<int> slots(4), received(messages);
  check::Buffer<unsigned> head(1), tail(1);
  head.fill_bytes(0);
  tail.fill_bytes(0);
  ring<<<2, 32>>>(slots, head, tail, received, messages, 4);
  check::sync();
  std::vector<int> squares(messages);
  for (int m = 0; m < messages; ++m) squares[m] = m * m;
  check::equal("ring of 4 slots, 200 messages", received.read(), squares);

  check::Buffer<unsigned> tickets(2);
  check::Buffer<int> counter(1);
  tickets.fill_bytes(0);
  counter.fill_bytes(0);
  ticket_lock<<<16, 32>>>(tickets.get(), tickets.get() + 1, counter, 10);
  check::sync();
  check::equal("ticket lock, 16 blocks x 10", counter.read()[0], 160);

  int* shared = nullptr;
  WT_HIP(hipHostMalloc(&shared, 2 * sizeof(int), hipHostMallocCoherent));
  shared[0] = shared[1] = 0;
  wait_for_host<<<1, 1>>>(shared, shared + 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  check::expect(hipStreamQuery(nullptr) == hipErrorNotReady, "the kernel is still spinning");
  (void)hipGetLastError();
  __atomic_store_n(&shared[0], 14, __ATOMIC_RELEASE);
  check::sync();
  check::equal("a kernel that waited for the host", shared[1], 42);
  WT_HIP(hipHostFree(shared));
  return check::finish();
}
