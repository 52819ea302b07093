// Element-wise addition over one-dimensional grids, for every element width, with sizes around the
// wave and block boundaries so that partial waves and partial blocks both occur.
#include "check.h"

template <class T>
__global__ void add(const T* a, const T* b, T* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = static_cast<T>(a[i] + b[i]);
}

template <class T>
void run(const char* type_name, unsigned block) {
  for (int count : {1, 31, 32, 33, 63, 64, 65, 1000, 4099}) {
    check::Rng rng(count);
    std::vector<T> a(count), b(count), want(count);
    for (int i = 0; i < count; ++i) {
      // Small enough that no signed type overflows and every float sum is exact.
      a[i] = static_cast<T>(rng.below(60));
      b[i] = static_cast<T>(rng.below(60));
      want[i] = static_cast<T>(a[i] + b[i]);
    }
    // One spare element behind the result shows a write past the end.
    check::Buffer<T> device_a(a), device_b(b), sum(count + 1);
    sum.fill_bytes(0x55);
    add<<<check::blocks_for(count, block), block>>>(device_a.get(), device_b.get(), sum.get(),
                                                    count);
    check::sync();
    std::vector<T> got = sum.read();
    T canary;
    std::memset(&canary, 0x55, sizeof canary);
    want.push_back(canary);
    char what[64];
    std::snprintf(what, sizeof what, "%s[%d], block %u", type_name, count, block);
    check::equal(what, got, want);
  }
}

int main() {
  run<int8_t>("int8", 64);
  run<uint16_t>("uint16", 96);
  run<int32_t>("int32", 256);
  run<int64_t>("int64", 1);
  run<float>("float", 1024);
  run<double>("double", 37);
  return check::finish();
}
