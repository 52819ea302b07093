// Dispatches of two streams, with and without something that orders them. `stream_races CASE bug|clean`; the case's
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
  int* go;
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

struct Case {
  const char* name;
  void (*run)(Test&);
} kCases[] = {
    {"write_write", write_write}, {"write_read", write_read},     {"read_write", read_write},
    {"overlap", overlap},         {"early_event", early_event},   {"through_third", through_third},
    {"host_waits", host_waits},   {"atomic_plain", atomic_plain}, {"fill", fill}};

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
  for (hipStream_t* stream : {&t.first, &t.second, &t.third})
    CHECK(hipStreamCreateWithFlags(stream, hipStreamNonBlocking));
  CHECK(hipEventCreateWithFlags(&t.event, hipEventDisableTiming));
  for (const Case& one : kCases) {
    if (std::strcmp(one.name, words[1]) != 0) continue;
    *t.go = 0;
    CHECK(hipDeviceSynchronize());
    one.run(t);
    __atomic_store_n(t.go, 1, __ATOMIC_SEQ_CST);
    CHECK(hipDeviceSynchronize());
    std::printf("ok\n");
    return 0;
  }
  return 2;
}
