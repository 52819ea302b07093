// The programs of the pages of wavetap sanitize's tools, as they stand there, and each with its fix: doc_programs NAME [fixed].
// check_docs.py runs them and holds the pages against this file.
#include <cstdio>
#include <cstring>

#include <hip/hip_runtime.h>

#pragma clang diagnostic ignored "-Wunused-value"
// clang-format off

// ---- docs/memcheck.md
__global__ void fill(int* data, int first) {
  data[first + threadIdx.x] = 1;
}
__global__ void fill_fixed(int* data, int first, int count) {
  if (first + static_cast<int>(threadIdx.x) < count) data[first + threadIdx.x] = 1;
}

// ---- docs/racecheck.md
__global__ void reverse(int* data) {
  __shared__ int line[256];
  line[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = line[255 - threadIdx.x];
}
__global__ void reverse_fixed(int* data) {
  __shared__ int line[256];
  line[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = line[255 - threadIdx.x];
}

// ---- docs/initcheck.md
__global__ void scale(const float* in, float* out, int count) {
  const int i = threadIdx.x;
  if (i < count) out[i] = in[i] * 2;
}
__global__ void count(const int* in, int* out) {
  __shared__ int total;
  if (in[threadIdx.x] > 0) atomicAdd(&total, 1);
  __syncthreads();
  if (threadIdx.x == 0) *out = total;
}
__global__ void count_fixed(const int* in, int* out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (in[threadIdx.x] > 0) atomicAdd(&total, 1);
  __syncthreads();
  if (threadIdx.x == 0) *out = total;
}
__global__ void pick(const int* in, int* out) {
  const int2 pair = reinterpret_cast<const int2*>(in)[threadIdx.x];
  if (pair.x + pair.y > 3) out[threadIdx.x] = 1;
}
__global__ void write_first(int2* to) { to[threadIdx.x].x = threadIdx.x; }
__global__ void write_second(int2* to) { to[threadIdx.x].y = threadIdx.x; }
__global__ void square(float* data) {
  float x;
  asm volatile("v_mul_f32 %0, v77, v77" : "=v"(x) : : "v77");
  data[threadIdx.x] = x;
}
__global__ void square_fixed(float* data) {
  float x;
  asm volatile("v_mul_f32 %0, %1, %1" : "=v"(x) : "v"(data[threadIdx.x]));
  data[threadIdx.x] = x;
}

// ---- docs/synccheck.md
__global__ void halves(int* data) {
  if (threadIdx.x % 2 == 0) {
    data[threadIdx.x] = 1;
    __syncthreads();
  }
  data[threadIdx.x + 256] = 2;
}
__global__ void halves_fixed(int* data) {
  if (threadIdx.x % 2 == 0) data[threadIdx.x] = 1;
  __syncthreads();
  data[threadIdx.x + 256] = 2;
}

// ---- docs/waitcheck.md
__global__ void sum(const float* in, float* out) {
  float a, b, both;
  asm volatile(
      "global_load_dword %0, %3, off\n"
      "global_load_dword %1, %3, off offset:4\n"
      "s_waitcnt vmcnt(1)\n"
      "v_add_f32 %2, %0, %1"
      : "=&v"(a), "=&v"(b), "=&v"(both) : "v"(in + threadIdx.x));
  out[threadIdx.x] = both;
}
__global__ void sum_fixed(const float* in, float* out) {
  float a, b, both;
  asm volatile(
      "global_load_dword %0, %3, off\n"
      "global_load_dword %1, %3, off offset:4\n"
      "s_waitcnt vmcnt(0)\n"
      "v_add_f32 %2, %0, %1"
      : "=&v"(a), "=&v"(b), "=&v"(both) : "v"(in + threadIdx.x));
  out[threadIdx.x] = both;
}

// ---- docs/fpcheck.md
__global__ void normalise(const float* in, float* out) {
  const int i = threadIdx.x;
  const float length = sqrtf(in[2 * i] * in[2 * i] + in[2 * i + 1] * in[2 * i + 1]);
  out[2 * i] = in[2 * i] / length;
}
__global__ void normalise_fixed(const float* in, float* out) {
  const int i = threadIdx.x;
  const float length = sqrtf(in[2 * i] * in[2 * i] + in[2 * i + 1] * in[2 * i + 1]);
  out[2 * i] = in[2 * i] / (length > 0 ? length : 1);
}

// ---- docs/leakcheck.md
__attribute__((noinline)) void upload(float* to, const float* from, size_t bytes) {
  hipMemcpy(to, from, bytes * sizeof(float), hipMemcpyHostToDevice);
}
__attribute__((noinline)) void upload_fixed(float* to, const float* from, size_t bytes) {
  (void)hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}
__attribute__((noinline)) float* workspace(size_t bytes) {
  float* memory = nullptr;
  hipMalloc(&memory, bytes);
  return memory;
}
// clang-format on

int main(int arguments, char** words) {
  const char* const name = arguments > 1 ? words[1] : "";
  const bool fixed = arguments > 2;
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  constexpr size_t kBytes = 1024 * sizeof(int);
  static char host[kBytes] = {};
  int* data = nullptr;
  int* out = nullptr;
  (void)hipMalloc(&data, is("fill") ? 256 : kBytes);
  (void)hipMalloc(&out, kBytes);
  const auto floats = [](int* of) { return reinterpret_cast<float*>(of); };
  const bool is_in_part = is("scale") || is("pick");
  if (!is_in_part && !is("fill")) (void)hipMemset(data, 0, kBytes);
  if (is("fill") && fixed) fill_fixed<<<1, 64>>>(data, 2, 64);
  else if (is("fill")) fill<<<1, 64>>>(data, 2);
  if (is("reverse") && fixed) reverse_fixed<<<1, 256>>>(data);
  else if (is("reverse")) reverse<<<1, 256>>>(data);
  if (is("scale")) {
    (void)hipMemset(data, 0, fixed ? 256 : 240);
    scale<<<1, 64>>>(floats(data), floats(out), 64);
  }
  if (is("count") && fixed) count_fixed<<<1, 256>>>(data, out);
  else if (is("count")) {
    (void)hipMemset(data, 1, kBytes);
    count<<<1, 256>>>(data, out);
  }
  if (is("pick")) {
    int2* const pairs = reinterpret_cast<int2*>(data);
    write_first<<<1, 256>>>(pairs);
    if (fixed) write_second<<<1, 256>>>(pairs);
    pick<<<1, 256>>>(data, out);
  }
  if (is("square") && fixed) square_fixed<<<1, 64>>>(floats(data));
  else if (is("square")) square<<<1, 64>>>(floats(data));
  if (is("halves") && fixed) halves_fixed<<<1, 256>>>(data);
  else if (is("halves")) halves<<<1, 256>>>(data);
  if (is("sum") && fixed) sum_fixed<<<1, 64>>>(floats(data), floats(out));
  else if (is("sum")) sum<<<1, 64>>>(floats(data), floats(out));
  if (is("normalise")) (void)hipMemset(data + 2, 0x3f, kBytes - 2 * sizeof(int));
  if (is("normalise") && fixed) normalise_fixed<<<1, 64>>>(floats(data), floats(out));
  else if (is("normalise")) normalise<<<1, 64>>>(floats(data), floats(out));
  if (is("upload")) {
    float* const memory[] = {workspace(256), workspace(100)};
    if (fixed) upload_fixed(memory[0], reinterpret_cast<float*>(host), 256);
    else upload(memory[0], reinterpret_cast<float*>(host), 256);
    for (float* one : memory)
      if (fixed || one == memory[0]) (void)hipFree(one);
  }
  const bool is_done = hipDeviceSynchronize() == hipSuccess;
  (void)hipFree(data);
  (void)hipFree(out);
  std::printf(is_done ? "done\n" : "failed\n");
  return 0;
}
