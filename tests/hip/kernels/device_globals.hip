// __constant__ and __device__ variables of several types: initial values, copies to and from
// symbols with offsets, address and size queries, and changes that persist between launches.
#include "check.h"

struct Settings {
  int scale;
  double offset;
  char name[12];
};

__constant__ int g_table[5] = {10, 20, 30, 40, 50};
__constant__ Settings g_settings = {3, 0.25, "initial"};
__device__ int g_counter = 7;
__device__ double g_values[64];
__device__ short g_shorts[3] = {-1, -2, -3};
static __device__ int g_static = 100;

__global__ void read_all(double* out) {
  const int i = threadIdx.x;
  out[i] = g_table[i % 5] * g_settings.scale + g_settings.offset + g_shorts[i % 3] +
           g_settings.name[i % 7];
}

__global__ void change(int by) {
  if (threadIdx.x == 0) g_counter += by;
  g_values[threadIdx.x] = threadIdx.x * 0.5 + g_static;
  __syncthreads();
  if (threadIdx.x == 0) g_static += 1;
}

int main() {
  check::Buffer<double> out(60);
  auto want = [](const int* table, const Settings& s, const short* shorts) {
    std::vector<double> values(60);
    for (int i = 0; i < 60; ++i)
      values[i] = table[i % 5] * s.scale + s.offset + shorts[i % 3] + s.name[i % 7];
    return values;
  };
  int table[5] = {10, 20, 30, 40, 50};
  short shorts[3] = {-1, -2, -3};
  Settings settings = {3, 0.25, "initial"};
  read_all<<<1, 60>>>(out);
  check::sync();
  check::equal("initial values", out.read(), want(table, settings, shorts));

  table[3] = 4000;
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(g_table), &table[3], sizeof(int), 3 * sizeof(int)));
  settings = {-2, 8.5, "changed"};
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(g_settings), &settings, sizeof settings));
  shorts[1] = 500;
  WT_HIP(hipMemcpyToSymbolAsync(HIP_SYMBOL(g_shorts), &shorts[1], sizeof(short), sizeof(short),
                                hipMemcpyHostToDevice, nullptr));
  read_all<<<1, 60>>>(out);
  check::sync();
  check::equal("after hipMemcpyToSymbol", out.read(), want(table, settings, shorts));

  change<<<1, 64>>>(5);
  change<<<1, 64>>>(30);
  int counter = 0;
  WT_HIP(hipMemcpyFromSymbol(&counter, HIP_SYMBOL(g_counter), sizeof counter));
  check::equal("a counter changed by two launches", counter, 42);
  double value = 0;
  WT_HIP(hipMemcpyFromSymbol(&value, HIP_SYMBOL(g_values), sizeof value, 9 * sizeof value));
  check::equal("an element read back by offset", value, 9 * 0.5 + 101);

  void* address = nullptr;
  size_t size = 0;
  WT_HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(g_values)));
  WT_HIP(hipGetSymbolSize(&size, HIP_SYMBOL(g_values)));
  check::equal("size of a symbol", size, 64 * sizeof(double));
  std::vector<double> values(64);
  WT_HIP(hipMemcpy(values.data(), address, size, hipMemcpyDeviceToHost));
  check::equal("a copy from the symbol's address", values[63], 63 * 0.5 + 101);
  WT_HIP_RETURNS(hipErrorInvalidValue,
                 hipMemcpyToSymbol(HIP_SYMBOL(g_table), table, sizeof table, sizeof(int)));
  return check::finish();
}
