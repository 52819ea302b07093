// Dispatches and copies of two streams, with and without something that orders them. `stream_races CASE|all bug|clean`; the case's
// label says what racecheck finds in the one with the bug. The other one must stay silent.
//
// So that both are submitted before either is over, whatever the machine does, the first kernel waits for a flag
// that the host sets at the end.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                  \
  do {                                                               \
    if (hipError_t error = (call); error != hipSuccess) {            \
      std::printf("FAIL %s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                  \
    }                                                                \
  } while (0)

constexpr int kCount = 1024;

__device__ void wait_for(volatile int* go) {
  while (*go == 0) __builtin_amdgcn_s_sleep(8);
}

__global__ void put(int* to, volatile int* go, int value) {
  wait_for(go);
  to[blockIdx.x * blockDim.x + threadIdx.x] = value;  // MARK put
}
__global__ void put_again(int* to, int value) {
  to[blockIdx.x * blockDim.x + threadIdx.x] = value;  // MARK put_again
}
__global__ void get(const int* from, int* to, volatile int* go) {
  wait_for(go);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i] + 1;  // MARK get
}
// These do it first and wait then, for a flag on the GPU: the host has no part in it.
__global__ void put_first(int* to, volatile int* gate, int value) {
  to[blockIdx.x * blockDim.x + threadIdx.x] = value;  // MARK put_first
  wait_for(gate);
}
__global__ void get_first(const int* from, int* to, volatile int* gate) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i] + 1;  // MARK get_first
  wait_for(gate);
}
__global__ void open_gate(volatile int* gate) { *gate = 1; }
__global__ void get_at_once(const int* from, int* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i] + 1;  // MARK get_at_once
}
__global__ void count(int* to, volatile int* go) {
  wait_for(go);
  atomicAdd(&to[threadIdx.x], 1);  // MARK count
}

struct Test {
  int *a, *b, *c;
  int* host;  // pinned, so that the copy engine reaches it
  int* go;
  int* gate;  // on the GPU
  hipStream_t first, second, third;
  hipEvent_t event;
  bool bug;

  // What has been submitted to `of` comes before what follows in `then`.
  void order(hipStream_t of, hipStream_t then) {
    CHECK(hipEventRecord(event, of));
    CHECK(hipStreamWaitEvent(then, event, 0));
  }
  void order_if_clean(hipStream_t of, hipStream_t then) {
    if (!bug) order(of, then);
  }
};

const dim3 kGrid(kCount / 256), kBlock(256);

void write_write(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  t.order_if_clean(t.first, t.second);
  put_again<<<kGrid, kBlock, 0, t.second>>>(t.a, 2);
}
void write_read(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  t.order_if_clean(t.first, t.second);
  get_at_once<<<kGrid, kBlock, 0, t.second>>>(t.a, t.b);
}
void read_write(Test& t) {
  get<<<kGrid, kBlock, 0, t.first>>>(t.a, t.b, t.go);
  t.order_if_clean(t.first, t.second);
  put_again<<<kGrid, kBlock, 0, t.second>>>(t.a, 2);
}
// Only some bytes are common; the clean one begins behind them.
void overlap(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  put_again<<<dim3(1), kBlock, 0, t.second>>>(t.a + (t.bug ? kCount - 1 : kCount), 2);
}
// The event is recorded before the kernel that matters.
void early_event(Test& t) {
  if (t.bug) t.order(t.first, t.second);
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  t.order_if_clean(t.first, t.second);
  put_again<<<kGrid, kBlock, 0, t.second>>>(t.a, 2);
}
// By way of a third stream, or only half the way.
void through_third(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  t.order_if_clean(t.first, t.third);
  put_again<<<kGrid, kBlock, 0, t.third>>>(t.c, 3);
  t.order(t.third, t.second);
  put_again<<<kGrid, kBlock, 0, t.second>>>(t.a, 2);
}
// The host waits for the first one.
void host_waits(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (!t.bug) {
    __atomic_store_n(t.go, 1, __ATOMIC_SEQ_CST);
    CHECK(hipStreamSynchronize(t.first));
  }
  put_again<<<kGrid, kBlock, 0, t.second>>>(t.a, 2);
}
void atomic_plain(Test& t) {
  count<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go);
  t.order_if_clean(t.first, t.second);
  put_again<<<kGrid, kBlock, 0, t.second>>>(t.a, 2);
}
// A fill of the runtime's is a kernel as well.
void fill(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  t.order_if_clean(t.first, t.second);
  CHECK(hipMemsetAsync(t.a, 0, kCount * sizeof(int), t.second));
}

// Copies between pinned memory and the GPU are the copy engine's. The runtime may wait, on the host, for what a copy is
// behind; so the kernel is let go first where that is the case.
void let_go(Test& t) { __atomic_store_n(t.go, 1, __ATOMIC_SEQ_CST); }
constexpr size_t kBytes = kCount * sizeof(int);
constexpr auto kIn = hipMemcpyHostToDevice, kOut = hipMemcpyDeviceToHost;

void copy_in_read(Test& t) {
  get<<<kGrid, kBlock, 0, t.first>>>(t.a, t.b, t.go);
  if (!t.bug) let_go(t);
  t.order_if_clean(t.first, t.second);
  CHECK(hipMemcpyAsync(t.a, t.host, kBytes, kIn, t.second));  // MARK copy_in_read
}
void copy_in_written(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (!t.bug) let_go(t);
  t.order_if_clean(t.first, t.second);
  CHECK(hipMemcpyAsync(t.a, t.host, kBytes, kIn, t.second));  // MARK copy_in_written
}
void copy_out(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (!t.bug) let_go(t);
  t.order_if_clean(t.first, t.second);
  CHECK(hipMemcpyAsync(t.host, t.a, kBytes, kOut, t.second));  // MARK copy_out
}
// In the same stream, or in another one.
void copy_stream(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (!t.bug) let_go(t);
  hipStream_t stream = t.bug ? t.second : t.first;
  CHECK(hipMemcpyAsync(t.host, t.a, kBytes, kOut, stream));  // MARK copy_stream
}
// The event is recorded before the kernel that matters.
void copy_early_event(Test& t) {
  if (t.bug) t.order(t.first, t.second);
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (!t.bug) let_go(t);
  t.order_if_clean(t.first, t.second);
  CHECK(hipMemcpyAsync(t.host, t.a, kBytes, kOut, t.second));  // MARK copy_early_event
}
// Only the last element is common; the clean one begins behind it.
void copy_overlap(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  int* const to = t.a + (t.bug ? kCount - 1 : kCount);
  CHECK(hipMemcpyAsync(to, t.host, kBytes, kIn, t.second));  // MARK copy_overlap
}
// The kernel, in another stream, reaches the host's end of the copy.
void copy_host_end(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.host, t.go, 1);
  if (!t.bug) let_go(t);
  t.order_if_clean(t.first, t.second);
  CHECK(hipMemcpyAsync(t.a, t.host, kBytes, kIn, t.second));  // MARK copy_host_end
}
// The host waits for the kernel, or for something else.
void copy_host_waits(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (!t.bug) let_go(t);
  CHECK(hipStreamSynchronize(t.bug ? t.third : t.first));
  CHECK(hipMemcpyAsync(t.host, t.a, kBytes, kOut, t.second));  // MARK copy_host_waits
}
// A copy that waits, on the host as well, but not for the kernel's stream.
void copy_blocking(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (!t.bug) {
    let_go(t);
    CHECK(hipStreamSynchronize(t.first));
  }
  CHECK(hipMemcpy(t.host, t.a, kBytes, hipMemcpyDeviceToHost));  // MARK copy_blocking
}
void copy_counter(Test& t) {
  count<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go);
  if (!t.bug) let_go(t);
  t.order_if_clean(t.first, t.second);
  CHECK(hipMemcpyAsync(t.host, t.a, kBytes, kOut, t.second));  // MARK copy_counter
}

// Blocking calls, which do not wait for the kernel's stream either. What the runtime makes of them: kernels of its own, or
// copies by way of memory of its own.
void before_blocking(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (t.bug) return;
  let_go(t);
  CHECK(hipStreamSynchronize(t.first));
}
void fill_blocking(Test& t) {
  before_blocking(t);
  CHECK(hipMemset(t.a, 0, kBytes));
}
void copy_pageable(Test& t) {
  static int pageable[kCount];
  before_blocking(t);
  CHECK(hipMemcpy(pageable, t.a, kBytes, kOut));  // MARK copy_pageable
}
void copy_rows(Test& t) {
  static int rows[8][32];
  before_blocking(t);
  CHECK(hipMemcpy2D(t.a, 256, rows, 128, 64, 8, kIn));  // MARK copy_rows
}
void copy_on_gpu(Test& t) {
  put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  if (!t.bug) let_go(t);
  t.order_if_clean(t.first, t.second);
  CHECK(hipMemcpyAsync(t.b, t.a, kBytes, hipMemcpyDeviceToDevice, t.second));
}

// Small copies the host makes itself, where it reaches the memory: with loads and stores that no queue has.
constexpr size_t kSmall = 64;
void open(Test& t) { open_gate<<<1, 1, 0, t.second>>>(t.gate); }
void open_if_clean(Test& t) {
  if (t.bug) return;
  open(t);
  CHECK(hipStreamSynchronize(t.first));
}
void host_copy_in(Test& t) {
  static int few[kSmall / sizeof(int)];
  put_first<<<kGrid, kBlock, 0, t.first>>>(t.a, t.gate, 1);
  open_if_clean(t);
  CHECK(hipMemcpy(t.a, few, kSmall, kIn));  // MARK host_copy_in
}
void host_copy_read(Test& t) {
  static int few[kSmall / sizeof(int)];
  get_first<<<kGrid, kBlock, 0, t.first>>>(t.a, t.b, t.gate);
  open_if_clean(t);
  CHECK(hipMemcpy(t.a, few, kSmall, kIn));  // MARK host_copy_read
}
void host_copy_out(Test& t) {
  static int one;
  put_first<<<kGrid, kBlock, 0, t.first>>>(t.a, t.gate, 1);
  open_if_clean(t);
  CHECK(hipMemcpy(&one, t.a + 5, sizeof one, kOut));  // MARK host_copy_out
}
// The clean one begins behind what the kernel stores.
void host_copy_overlap(Test& t) {
  static int few[kSmall / sizeof(int)];
  put_first<<<kGrid, kBlock, 0, t.first>>>(t.a, t.gate, 1);
  int* const to = t.a + (t.bug ? kCount - 1 : kCount);
  CHECK(hipMemcpy(to, few, kSmall, kIn));  // MARK host_copy_overlap
}
void host_copy_pinned(Test& t) {
  static int few[kSmall / sizeof(int)];
  put_first<<<kGrid, kBlock, 0, t.first>>>(t.host, t.gate, 1);
  open_if_clean(t);
  CHECK(hipMemcpy(t.host, few, kSmall, hipMemcpyHostToHost));  // MARK host_copy_pinned
}
// The kernel comes behind the copy by a flag that the host sets afterwards; or does not look at it first.
void host_copy_flag(Test& t) {
  static int few[kSmall / sizeof(int)];
  if (t.bug) put_first<<<kGrid, kBlock, 0, t.first>>>(t.a, t.gate, 1);
  else put<<<kGrid, kBlock, 0, t.first>>>(t.a, t.go, 1);
  CHECK(hipMemcpy(t.a, few, kSmall, kIn));  // MARK host_copy_flag
}

struct Case {
  const char* name;
  void (*run)(Test&);
} kCases[] = {{"write_write", write_write},
              {"write_read", write_read},
              {"read_write", read_write},
              {"overlap", overlap},
              {"early_event", early_event},
              {"through_third", through_third},
              {"host_waits", host_waits},
              {"atomic_plain", atomic_plain},
              {"fill", fill},
              {"copy_in_read", copy_in_read},
              {"copy_in_written", copy_in_written},
              {"copy_out", copy_out},
              {"copy_stream", copy_stream},
              {"copy_early_event", copy_early_event},
              {"copy_overlap", copy_overlap},
              {"copy_host_end", copy_host_end},
              {"copy_host_waits", copy_host_waits},
              {"copy_blocking", copy_blocking},
              {"copy_counter", copy_counter},
              {"fill_blocking", fill_blocking},
              {"copy_pageable", copy_pageable},
              {"copy_rows", copy_rows},
              {"copy_on_gpu", copy_on_gpu},
              {"host_copy_in", host_copy_in},
              {"host_copy_read", host_copy_read},
              {"host_copy_out", host_copy_out},
              {"host_copy_overlap", host_copy_overlap},
              {"host_copy_pinned", host_copy_pinned},
              {"host_copy_flag", host_copy_flag}};

int main(int count, char** words) {
  if (count < 3) return 2;
  Test t;
  t.bug = std::strcmp(words[2], "bug") == 0;
  const size_t bytes = 2 * kCount * sizeof(int);
  for (int** p : {&t.a, &t.b, &t.c}) {
    CHECK(hipMalloc(p, bytes));
    CHECK(hipMemset(*p, 0, bytes));
  }
  CHECK(hipHostMalloc(&t.go, sizeof(int)));
  CHECK(hipMalloc(&t.gate, sizeof(int)));
  CHECK(hipMemset(t.gate, 0, sizeof(int)));
  CHECK(hipHostMalloc(&t.host, bytes));
  std::memset(t.host, 0, bytes);
  for (hipStream_t* stream : {&t.first, &t.second, &t.third})
    CHECK(hipStreamCreateWithFlags(stream, hipStreamNonBlocking));
  CHECK(hipEventCreateWithFlags(&t.event, hipEventDisableTiming));
  const bool all = std::strcmp(words[1], "all") == 0;
  int ran = 0;
  for (const Case& one : kCases) {
    if (!all && std::strcmp(one.name, words[1]) != 0) continue;
    *t.go = 0;
    CHECK(hipMemset(t.gate, 0, sizeof(int)));
    CHECK(hipDeviceSynchronize());
    one.run(t);
    __atomic_store_n(t.go, 1, __ATOMIC_SEQ_CST);
    if (std::strncmp(one.name, "host_copy", 9) == 0) open(t);
    CHECK(hipDeviceSynchronize());
    ++ran;
  }
  std::printf("ok %d\n", ran);
  return ran > 0 ? 0 : 2;
}
