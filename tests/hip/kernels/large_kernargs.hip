// Kernel arguments: structs by value up to almost 4 KiB, mixed alignments, many scalars, pointers
// in structs, arrays indexed by lane, and hipLaunchKernel with an argument array.
#include "check.h"

struct Big {
  int values[900];
  double scale;
  char tag;
};
struct Mixed {
  char c;
  short s;
  long long l;
  float f;
  const int* pointer;
  double d;
  bool flag;
};
struct alignas(64) Aligned {
  float4 a, b;
};

__global__ void use_big(Big big, double* out) {
  out[threadIdx.x] = big.values[threadIdx.x * 7 % 900] * big.scale + big.tag;
}

__global__ void use_mixed(char a, Mixed m, short b, Aligned v, uint8_t c, long long d,
                          double* out) {
  const int i = threadIdx.x;
  out[i] = double{0} + a + m.c + m.s + m.l + m.f + m.pointer[i] + m.d + (m.flag ? 1000 : 0) + b +
           v.a.x + v.b.w + c + d;
}

__global__ void many(int a0, int a1, int a2, int a3, long a4, long a5, float a6, double a7, char a8,
                     short a9, int a10, int a11, int a12, int a13, int a14, int a15, int* out) {
  out[threadIdx.x] = a0 + a1 * 2 + a2 * 3 + a3 * 4 + static_cast<int>(a4) * 5 +
                     static_cast<int>(a5) * 6 + static_cast<int>(a6) * 7 +
                     static_cast<int>(a7) * 8 + a8 * 9 + a9 * 10 + a10 * 11 + a11 * 12 + a12 * 13 +
                     a13 * 14 + a14 * 15 + a15 * 16 + threadIdx.x;
}

int main() {
  const int lanes = 64;
  Big big;
  for (int i = 0; i < 900; ++i) big.values[i] = i * i - 5000;
  big.scale = 1.25;
  big.tag = 9;
  check::Buffer<double> out(lanes);
  use_big<<<1, lanes>>>(big, out);
  check::sync();
  std::vector<double> want(lanes);
  for (int i = 0; i < lanes; ++i) want[i] = big.values[i * 7 % 900] * 1.25 + 9;
  check::equal("a struct of 3.6 kB by value", out.read(), want);

  std::vector<int> table(lanes);
  for (int i = 0; i < lanes; ++i) table[i] = i * 3;
  check::Buffer<int> device_table(table);
  const Mixed mixed = {1, -2, 1ll << 40, 0.5f, device_table, 0.125, true};
  const Aligned aligned = {make_float4(16, 0, 0, 0), make_float4(0, 0, 0, 32)};
  use_mixed<<<1, lanes>>>(3, mixed, -4, aligned, 250, -(1ll << 39), out);
  check::sync();
  for (int i = 0; i < lanes; ++i) {
    want[i] = 3.0 + 1 - 2 + static_cast<double>(1ll << 40) + 0.5 + i * 3 + 0.125 + 1000 - 4 + 16 +
              32 + 250 - static_cast<double>(1ll << 39);
  }
  check::equal("mixed sizes and alignments", out.read(), want);

  check::Buffer<int> ints(lanes);
  std::vector<int> want_ints(lanes);
  for (int i = 0; i < lanes; ++i)
    want_ints[i] =
        1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 81 + 100 + 121 + 144 + 169 + 196 + 225 + 256 + i;
  many<<<1, lanes>>>(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ints);
  check::sync();
  check::equal("seventeen scalars", ints.read(), want_ints);

  int a[16] = {1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 11, 12, 13, 14, 15, 16};
  long a4 = 5, a5 = 6;
  float a6 = 7;
  double a7 = 8;
  char a8 = 9;
  short a9 = 10;
  int* pointer = ints.get();
  ints.fill_bytes(0);
  void* arguments[] = {&a[0], &a[1],  &a[2],  &a[3],  &a4,    &a5,    &a6,    &a7,     &a8,
                       &a9,   &a[10], &a[11], &a[12], &a[13], &a[14], &a[15], &pointer};
  WT_HIP(hipLaunchKernel(reinterpret_cast<const void*>(many), dim3(1), dim3(lanes), arguments, 0,
                         nullptr));
  check::sync();
  check::equal("hipLaunchKernel", ints.read(), want_ints);
  return check::finish();
}
