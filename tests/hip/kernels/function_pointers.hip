// Indirect calls: a __device__ table of function pointers indexed by data (divergent targets), a
// pointer passed from the host through a symbol, and member-function pointers.
#include "check.h"

using Operation = int (*)(int, int);

__device__ __noinline__ int op_add(int a, int b) { return a + b; }
__device__ __noinline__ int op_subtract(int a, int b) { return a - b; }
__device__ __noinline__ int op_multiply(int a, int b) { return a * b; }
__device__ __noinline__ int op_mix(int a, int b) {
  int scratch[8];
  for (int i = 0; i < 8; ++i) scratch[i] = a * i ^ b;
  return scratch[b & 7] + scratch[a & 7];
}

__device__ Operation g_table[] = {op_add, op_subtract, op_multiply, op_mix};
__device__ Operation g_chosen = op_multiply;

int host_operation(int which, int a, int b) {
  switch (which) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    default: return ((a * (b & 7)) ^ b) + ((a * (a & 7)) ^ b);
  }
}

__global__ void call_by_index(const int* which, const int* a, const int* b, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = g_table[which[i]](a[i], b[i]);
}

__global__ void call_pointer(Operation operation, const int* a, const int* b, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = operation(a[i], b[i]);
}

int main() {
  const int count = 500;
  check::Rng rng(3);
  std::vector<int> which(count), a(count), b(count), want(count), want_chosen(count);
  for (int i = 0; i < count; ++i) {
    which[i] = static_cast<int>(rng.below(4));
    a[i] = static_cast<int>(rng.below(2000)) - 1000;
    b[i] = static_cast<int>(rng.below(2000)) - 1000;
    want[i] = host_operation(which[i], a[i], b[i]);
    want_chosen[i] = a[i] * b[i];
  }
  check::Buffer<int> device_which(which), device_a(a), device_b(b), out(count);
  call_by_index<<<check::blocks_for(count, 128), 128>>>(device_which, device_a, device_b, out,
                                                        count);
  check::sync();
  check::equal("divergent indirect calls", out.read(), want);

  Operation chosen = nullptr;
  WT_HIP(hipMemcpyFromSymbol(&chosen, HIP_SYMBOL(g_chosen), sizeof chosen));
  check::expect(chosen != nullptr, "the device function has an address");
  call_pointer<<<check::blocks_for(count, 128), 128>>>(chosen, device_a, device_b, out, count);
  check::sync();
  check::equal("a pointer that went through the host", out.read(), want_chosen);
  return check::finish();
}
