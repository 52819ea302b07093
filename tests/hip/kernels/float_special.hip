// IEEE corner cases of f32 and f64: every pair of special values through +, -, *, /, sqrt, fma,
// min/max, comparisons and classification. Denormals are kept in both formats.
#include <limits>

#include "check.h"

template <class T>
struct Out {
  T add, subtract, multiply, divide, root, fused, minimum, maximum, floor_value, round_even,
      truncated;
  int compares, classes;
};

template <class T>
__host__ __device__ Out<T> compute(T a, T b) {
#pragma clang fp contract(off)
  Out<T> o;
  o.add = a + b;
  o.subtract = a - b;
  o.multiply = a * b;
  o.divide = a / b;
  if constexpr (sizeof(T) == 4) {
    o.root = sqrtf(a), o.fused = fmaf(a, b, a), o.minimum = fminf(a, b), o.maximum = fmaxf(a, b);
    o.floor_value = floorf(a), o.round_even = rintf(a), o.truncated = truncf(a);
  } else {
    o.root = sqrt(a), o.fused = fma(a, b, a), o.minimum = fmin(a, b), o.maximum = fmax(a, b);
    o.floor_value = floor(a), o.round_even = rint(a), o.truncated = trunc(a);
  }
  o.compares = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 |
               (a >= b) << 5 | __builtin_isunordered(a, b) << 6;
  o.classes = static_cast<int>(__builtin_isnan(a) != 0) |
              static_cast<int>(__builtin_isinf(a) != 0) << 1 |
              static_cast<int>(__builtin_isfinite(a) != 0) << 2 |
              static_cast<int>(__builtin_signbit(a) != 0) << 3;
  return o;
}

template <class T>
__global__ void run_kernel(const T* a, const T* b, Out<T>* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = compute(a[i], b[i]);
}

template <class T>
void run(const char* name) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> values = {T(0),
                                 -T(0),
                                 T(1),
                                 T(-1),
                                 T(0.5),
                                 T(1.5),
                                 T(2.5),
                                 T(-2.5),
                                 T(3),
                                 T(1) / T(3),
                                 Limits::min(),
                                 -Limits::min(),
                                 Limits::denorm_min(),
                                 -Limits::denorm_min(),
                                 Limits::min() / 3,
                                 Limits::max(),
                                 Limits::lowest(),
                                 Limits::epsilon(),
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::quiet_NaN(),
                                 T(1e10),
                                 T(123456.789),
                                 T(-7.25e-12)};
  std::vector<T> a, b;
  for (T x : values) {
    for (T y : values) a.push_back(x), b.push_back(y);
  }
  const int count = static_cast<int>(a.size());
  check::Buffer<T> device_a(a), device_b(b);
  check::Buffer<Out<T>> out(count);
  run_kernel<<<check::blocks_for(count, 64), 64>>>(device_a.get(), device_b.get(), out.get(),
                                                   count);
  check::sync();
  const std::vector<Out<T>> got = out.read();
  const struct {
    const char* what;
    T Out<T>::*field;
  } fields[] = {
      {"a + b", &Out<T>::add},       {"a - b", &Out<T>::subtract}, {"a * b", &Out<T>::multiply},
      {"a / b", &Out<T>::divide},    {"sqrt", &Out<T>::root},      {"fma", &Out<T>::fused},
      {"min", &Out<T>::minimum},     {"max", &Out<T>::maximum},    {"floor", &Out<T>::floor_value},
      {"rint", &Out<T>::round_even}, {"trunc", &Out<T>::truncated}};
  for (const auto& field : fields) {
    std::vector<T> g, w;
    for (int i = 0; i < count; ++i) {
      T got_value = got[i].*field.field, want_value = compute(a[i], b[i]).*field.field;
      // The payload of a NaN and the sign of a zero picked by min/max are free.
      if (std::isnan(got_value) && std::isnan(want_value)) got_value = want_value;
      const bool either_zero = field.field == &Out<T>::minimum || field.field == &Out<T>::maximum;
      if (either_zero && got_value == 0 && want_value == 0) got_value = want_value;
      g.push_back(got_value);
      w.push_back(want_value);
    }
    check::equal((std::string(name) + " " + field.what).c_str(), g, w);
  }
  std::vector<int> got_flags, want_flags;
  for (int i = 0; i < count; ++i) {
    const Out<T> w = compute(a[i], b[i]);
    got_flags.push_back(got[i].compares | got[i].classes << 8);
    want_flags.push_back(w.compares | w.classes << 8);
  }
  check::equal((std::string(name) + " comparisons and classes").c_str(), got_flags, want_flags);
}

int main() {
  run<float>("float");
  run<double>("double");
  return check::finish();
}
