// Integer division and remainder of every width and signedness, by variable and by constant
// divisors, with the awkward operands: extremes, one, powers of two, neighbours of powers of two.
#include "check.h"

template <class T>
std::vector<T> operands() {
  std::vector<T> values = {T(1), T(2), T(3), T(5), T(7), T(10), T(255), T(256), T(257), T(1000)};
  const int bits = 8 * sizeof(T);
  for (int b = 4; b < bits; b += 5) {
    values.push_back(T(T(1) << b));
    values.push_back(T((T(1) << b) - 1));
    values.push_back(T((T(1) << b) + 1));
    if (std::is_signed_v<T>) values.push_back(T(-(T(1) << (b - 1))));
  }
  values.push_back(std::numeric_limits<T>::max());
  values.push_back(std::numeric_limits<T>::min());
  values.push_back(T(~T(0)));
  check::Rng rng(bits);
  for (int i = 0; i < 12; ++i) values.push_back(static_cast<T>(rng.next64() >> rng.below(bits)));
  return values;
}

template <class T>
__global__ void divide(const T* a, const T* b, T* quotient, T* remainder, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  quotient[i] = a[i] / b[i];
  remainder[i] = a[i] % b[i];
}

template <class T>
__host__ __device__ T divide_by_constants(T v) {
  return T(v / T(3)) ^ T(v / T(7) * 2) ^ T(v % T(10) * 3) ^ T(v / T(125)) ^ T(v % T(16)) ^
         T(v / T(64));
}

template <class T>
__global__ void constants(const T* a, T* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = divide_by_constants(a[i]);
}

template <class T>
void run(const char* name) {
  const std::vector<T> values = operands<T>();
  std::vector<T> a, b, quotient, remainder, by_constants;
  for (T x : values) {
    for (T y : values) {
      // Division by zero and the one overflowing quotient have no defined result.
      if (y == 0 || (std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == T(-1)))
        continue;
      a.push_back(x);
      b.push_back(y);
      quotient.push_back(T(x / y));
      remainder.push_back(T(x % y));
      by_constants.push_back(divide_by_constants(x));
    }
  }
  const int count = static_cast<int>(a.size());
  check::Buffer<T> device_a(a), device_b(b), q(count), r(count);
  divide<<<check::blocks_for(count, 128), 128>>>(device_a.get(), device_b.get(), q.get(), r.get(),
                                                 count);
  check::sync();
  check::equal((std::string(name) + " quotients").c_str(), q.read(), quotient);
  check::equal((std::string(name) + " remainders").c_str(), r.read(), remainder);
  constants<<<check::blocks_for(count, 128), 128>>>(device_a.get(), q.get(), count);
  check::sync();
  check::equal((std::string(name) + " by constants").c_str(), q.read(), by_constants);
}

int main() {
  run<int8_t>("int8");
  run<uint8_t>("uint8");
  run<int16_t>("int16");
  run<uint16_t>("uint16");
  run<int32_t>("int32");
  run<uint32_t>("uint32");
  run<int64_t>("int64");
  run<uint64_t>("uint64");
  return check::finish();
}
