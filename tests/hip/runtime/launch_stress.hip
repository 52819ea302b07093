// Many small launches: thousands back to back, with synchronisation in between, empty kernels,
// kernels that differ in every argument; each must have run exactly once.
#include "check.h"

__global__ void count_up(unsigned* counter) {
  if (threadIdx.x == 0) atomicAdd(counter, 1u);
}
__global__ void nothing() {}
__global__ void write_at(unsigned* out, unsigned index, unsigned value) {
  if (threadIdx.x == 0) out[index] = value;
}

int main() {
  check::Buffer<unsigned> counter(1);
  counter.fill_bytes(0);
  for (int i = 0; i < 3000; ++i) count_up<<<1, 32>>>(counter);
  check::sync();
  check::equal("3000 launches", counter.read()[0], 3000u);
  for (int i = 0; i < 200; ++i) {
    count_up<<<2, 64>>>(counter);
    WT_HIP(hipDeviceSynchronize());
  }
  check::equal("200 more, waited for one by one", counter.read()[0], 3400u);
  for (int i = 0; i < 1000; ++i) nothing<<<1, 1>>>();
  check::sync();
  check::expect(true, "1000 empty kernels");
  const unsigned count = 2000;
  check::Buffer<unsigned> out(count);
  std::vector<unsigned> want(count);
  for (unsigned i = 0; i < count; ++i) {
    write_at<<<1, 64>>>(out, i, i * 2654435761u);
    want[i] = i * 2654435761u;
  }
  check::sync();
  check::equal("2000 launches with their own arguments", out.read(), want);
  return check::finish();
}
