// Recursive device functions: Fibonacci, Ackermann, quicksort with per-lane depth, mutual
// recursion, and pointers into callers' frames.
#include <algorithm>

#include "check.h"

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ void quicksort(int* data, int low, int high) {
  if (low >= high) return;
  const int pivot = data[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i <= j) {
      const int kept = data[i];
      data[i++] = data[j];
      data[j--] = kept;
    }
  }
  quicksort(data, low, j);
  quicksort(data, i, high);
}

__device__ int is_odd(int n);
__device__ __noinline__ int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
__device__ __noinline__ int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }

// Each level adds its depth to a counter that lives in the outermost frame.
__device__ __noinline__ void descend(int depth, int* outer) {
  int local[4] = {depth, depth * 2, depth * 3, depth * 4};
  *outer += local[depth & 3];
  if (depth > 0) descend(depth - 1, outer);
  *outer += local[(depth + 1) & 3];
}

__global__ void run_scalar(int* fib, int* ack, int* parity, int* frames) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  fib[i] = fibonacci(i % 12);
  ack[i] = ackermann(i % 3, i % 4);
  parity[i] = is_even(i % 20);
  int sum = 0;
  descend(i % 9, &sum);
  frames[i] = sum;
}

__global__ void run_sort(int* data, int length) {
  quicksort(data + threadIdx.x * length, 0, length - 1 - static_cast<int>(threadIdx.x % 5));
}

int host_fibonacci(int n) { return n < 2 ? n : host_fibonacci(n - 1) + host_fibonacci(n - 2); }
int host_ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return n == 0 ? host_ackermann(m - 1, 1) : host_ackermann(m - 1, host_ackermann(m, n - 1));
}

int main() {
  const int count = 100;
  std::vector<int> fib(count), ack(count), parity(count), frames(count);
  for (int i = 0; i < count; ++i) {
    fib[i] = host_fibonacci(i % 12);
    ack[i] = host_ackermann(i % 3, i % 4);
    parity[i] = i % 20 % 2 == 0;
    for (int d = i % 9; d >= 0; --d) frames[i] += d * ((d & 3) + 1) + d * (((d + 1) & 3) + 1);
  }
  check::Buffer<int> device_fib(count), device_ack(count), device_parity(count),
      device_frames(count);
  run_scalar<<<2, 50>>>(device_fib, device_ack, device_parity, device_frames);
  check::sync();
  check::equal("Fibonacci", device_fib.read(), fib);
  check::equal("Ackermann", device_ack.read(), ack);
  check::equal("mutual recursion", device_parity.read(), parity);
  check::equal("pointers into outer frames", device_frames.read(), frames);

  const int lanes = 70, length = 60;
  check::Rng rng(1);
  std::vector<int> data(lanes * length);
  for (int& v : data) v = static_cast<int>(rng.below(1000));
  check::Buffer<int> device(data);
  run_sort<<<1, lanes>>>(device, length);
  check::sync();
  for (int l = 0; l < lanes; ++l)
    std::sort(data.begin() + l * length, data.begin() + (l + 1) * length - l % 5);
  check::equal("quicksort per lane", device.read(), data);
  return check::finish();
}
