// Launches that are hard to capture and replay, one per word on the command line.
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/wait.h>
#include <unistd.h>

// Behind the runtime's, which some generations need first.
#include <hip/hip_cooperative_groups.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

// Whoever listens to markers has them.
extern "C" {
__attribute__((weak)) int roctxRangePushA(const char* message);
__attribute__((weak)) int roctxRangePop();
__attribute__((weak)) uint64_t roctxRangeStartA(const char* message);
__attribute__((weak)) void roctxRangeStop(uint64_t range);
}

using Answer = long __attribute__((ext_vector_type(2)));
extern "C" __device__ Answer __ockl_call_host_function(uint64_t function, uint64_t, uint64_t,
                                                       uint64_t, uint64_t, uint64_t, uint64_t,
                                                       uint64_t);

// Not in a namespace without a name: HIP would not find them.
__device__ int target_of_pointer[64];
__device__ int* pointer_to_global = target_of_pointer;  // set when loaded
__device__ unsigned calls;
__constant__ int factors[64];

namespace {

struct Node {
  Node* next;
  int value;
  int sum;
};
struct ByValue {
  int scale;
  Node** heads;  // a pointer in an argument that is a struct, to pointers, to a list
  int count;
};

__global__ void walk(ByValue lists, int** totals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lists.count) return;
  int sum = 0;
  for (Node* node = lists.heads[i]; node != nullptr; node = node->next) {
    sum += node->value * lists.scale;
    node->sum = sum;
    node->value += 1;  // in place
  }
  *totals[i] = sum;
}

int linked() {
  constexpr int kLists = 40;
  constexpr int kNodes = 9;
  Node* nodes;
  Node** heads;
  int* sums;
  int** totals;
  WT_HIP(hipMalloc(&nodes, kLists * kNodes * sizeof(Node)));
  WT_HIP(hipMalloc(&heads, kLists * sizeof(Node*)));
  WT_HIP(hipMalloc(&sums, kLists * sizeof(int)));
  WT_HIP(hipMalloc(&totals, kLists * sizeof(int*)));
  std::vector<Node> host(kLists * kNodes);
  std::vector<Node*> host_heads(kLists);
  std::vector<int*> host_totals(kLists);
  for (int i = 0; i < kLists; ++i) {
    for (int j = 0; j < kNodes; ++j)
      host[j * kLists + i] = {j + 1 < kNodes ? nodes + (j + 1) * kLists + i : nullptr, i + j, 0};
    host_heads[i] = nodes + i;
    host_totals[i] = sums + (kLists - 1 - i);
  }
  WT_HIP(hipMemcpy(nodes, host.data(), host.size() * sizeof(Node), hipMemcpyHostToDevice));
  WT_HIP(hipMemcpy(heads, host_heads.data(), kLists * sizeof(Node*), hipMemcpyHostToDevice));
  WT_HIP(hipMemcpy(totals, host_totals.data(), kLists * sizeof(int*), hipMemcpyHostToDevice));
  for (int round = 0; round < 2; ++round) walk<<<1, 64>>>({3, heads, kLists}, totals);
  std::vector<int> result(kLists);
  WT_HIP(hipMemcpy(result.data(), sums, kLists * sizeof(int), hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kLists; ++i) {
    int want = 0;
    for (int j = 0; j < kNodes; ++j) want += (i + j + 1) * 3;
    wrong += result[kLists - 1 - i] != want;
  }
  return wrong;
}

__global__ void use_globals(int* out) {
  pointer_to_global[threadIdx.x] += factors[threadIdx.x];
  out[threadIdx.x] = pointer_to_global[threadIdx.x];
  atomicAdd(&calls, 1u);
}

int globals() {
  int host[64];
  for (int i = 0; i < 64; ++i) host[i] = i * i;
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(factors), host, sizeof host));
  int* out;
  WT_HIP(hipMalloc(&out, sizeof host));
  for (int round = 0; round < 3; ++round) use_globals<<<1, 64>>>(out);
  WT_HIP(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += host[i] != 3 * i * i;
  unsigned count = 0;
  WT_HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(calls), sizeof count));
  return wrong + (count != 192);
}

__global__ void accumulate(int* sums, const int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&sums[values[i] & 15], values[i]);
}

// In its memory: where it comes from is the caller's business.
int accumulate_in(int* sums, int* values, hipStream_t stream = nullptr, bool with_graph = false) {
  constexpr int kCount = 1000;
  std::vector<int> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = i * 7 % 101;
  WT_HIP(hipMemcpyAsync(values, host.data(), kCount * sizeof(int), hipMemcpyDefault, stream));
  WT_HIP(hipMemsetAsync(sums, 0, 16 * sizeof(int), stream));
  WT_HIP(hipStreamSynchronize(stream));
  if (with_graph) {
    hipGraph_t graph;
    hipGraphExec_t executable;
    WT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int round = 0; round < 3; ++round) accumulate<<<4, 256, 0, stream>>>(sums, values, kCount);
    WT_HIP(hipStreamEndCapture(stream, &graph));
    WT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    WT_HIP(hipGraphLaunch(executable, stream));
  } else {
    for (int round = 0; round < 3; ++round) accumulate<<<4, 256, 0, stream>>>(sums, values, kCount);
  }
  WT_HIP(hipStreamSynchronize(stream));
  std::vector<int> got(16), want(16);
  WT_HIP(hipMemcpy(got.data(), sums, 16 * sizeof(int), hipMemcpyDefault));
  for (const int value : host) want[value & 15] += 3 * value;
  return got != want;
}

int device_memory() {
  int *sums, *values;
  WT_HIP(hipMalloc(&sums, 4096));
  WT_HIP(hipMalloc(&values, 4096));
  return accumulate_in(sums, values);
}
int graph() {
  int *sums, *values;
  WT_HIP(hipMalloc(&sums, 4096));
  WT_HIP(hipMalloc(&values, 4096));
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  return accumulate_in(sums, values, stream, true);
}
int managed() {
  int *sums, *values;
  WT_HIP(hipMallocManaged(&sums, 4096));
  WT_HIP(hipMallocManaged(&values, 4096));
  return accumulate_in(sums, values);
}
int pinned() {
  int *sums, *values;
  WT_HIP(hipMalloc(&sums, 4096));
  WT_HIP(hipHostMalloc(&values, 4096, hipHostMallocMapped));
  return accumulate_in(sums, values);
}
int registered() {
  auto* memory = static_cast<int*>(std::aligned_alloc(4096, 8192));
  std::memset(memory, 0, 8192);
  WT_HIP(hipHostRegister(memory, 8192, hipHostRegisterMapped));
  int* device = nullptr;
  WT_HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), memory, 0));
  return accumulate_in(device, device + 1024);
}
int fine_grained() {
  int *sums, *values;
  WT_HIP(hipMalloc(&sums, 4096));
  WT_HIP(hipHostMalloc(&values, 4096, hipHostMallocMapped | hipHostMallocCoherent));
  return accumulate_in(sums, values);
}
int pool() {
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  int *sums, *values;
  WT_HIP(hipMallocAsync(reinterpret_cast<void**>(&sums), 4096, stream));
  WT_HIP(hipMallocAsync(reinterpret_cast<void**>(&values), 4096, stream));
  return accumulate_in(sums, values, stream);
}

// 5 GiB, of which a few bytes are used.
__global__ void far_apart(char* memory, size_t bytes) {
  memory[threadIdx.x] = static_cast<char>(threadIdx.x + memory[bytes / 2 + threadIdx.x]);
  memory[bytes - 64 + threadIdx.x] += 1;
}
int sparse() {
  const size_t bytes = size_t{5} << 30;
  char* memory;
  WT_HIP(hipMalloc(&memory, bytes));
  WT_HIP(hipMemset(memory + bytes / 2, 40, 64));
  WT_HIP(hipMemset(memory + bytes - 64, 7, 64));
  far_apart<<<1, 64>>>(memory, bytes);
  char host[64], end[64];
  WT_HIP(hipMemcpy(host, memory, 64, hipMemcpyDeviceToHost));
  WT_HIP(hipMemcpy(end, memory + bytes - 64, 64, hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += host[i] != 40 + i || end[i] != 8;
  return wrong;
}

__global__ void slow_fill(int* data, int rounds) {
  for (int i = 0; i < rounds; ++i) data[threadIdx.x] = data[threadIdx.x] * 5 + i;
}
// The other stream writes what this one reads; only the captured kernel's own moment counts.
int second_stream() {
  hipStream_t first, second;
  WT_HIP(hipStreamCreate(&first));
  WT_HIP(hipStreamCreate(&second));
  int *a, *sums;
  WT_HIP(hipMalloc(&a, 4096));
  WT_HIP(hipMalloc(&sums, 4096));
  WT_HIP(hipMemset(a, 1, 4096));
  WT_HIP(hipMemset(sums, 0, 4096));
  WT_HIP(hipDeviceSynchronize());
  slow_fill<<<1, 64, 0, first>>>(a, 3000);
  accumulate<<<1, 64, 0, second>>>(sums, a, 64);
  slow_fill<<<1, 64, 0, first>>>(a, 3000);
  WT_HIP(hipDeviceSynchronize());
  return 0;
}

// A kernel that ends only when the host says so.
__global__ void until_told(volatile int* flag) {
  flag[1] = 1;
  while (*flag == 0) __builtin_amdgcn_s_sleep(10);
}
int endless_neighbour() {
  hipStream_t first, second;
  WT_HIP(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  WT_HIP(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  int *flag, *sums;
  WT_HIP(hipHostMalloc(&flag, 4096, hipHostMallocMapped | hipHostMallocCoherent));
  WT_HIP(hipMalloc(&sums, 8192));
  WT_HIP(hipMemset(sums, 0, 8192));
  WT_HIP(hipDeviceSynchronize());
  *flag = 0;
  flag[1] = 0;
  until_told<<<1, 1, 0, first>>>(flag);
  while (static_cast<volatile int*>(flag)[1] == 0) usleep(100);
  accumulate<<<1, 64, 0, second>>>(sums, sums + 1024, 64);
  WT_HIP(hipStreamSynchronize(second));
  *static_cast<volatile int*>(flag) = 1;
  WT_HIP(hipDeviceSynchronize());
  return 0;
}

__global__ void no_arguments() { atomicAdd(&calls, 1u); }
int nothing() {
  unsigned before = 0;
  WT_HIP(hipMemcpyFromSymbol(&before, HIP_SYMBOL(calls), sizeof before));
  no_arguments<<<2, 64>>>();
  unsigned count = 0;
  WT_HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(calls), sizeof count));
  return count - before != 128;
}

// On every GPU there is.
int every_gpu() {
  int count = 0;
  int wrong = 0;
  WT_HIP(hipGetDeviceCount(&count));
  for (int i = 0; i < count; ++i) {
    WT_HIP(hipSetDevice(i));
    wrong += device_memory();
  }
  return wrong;
}

__global__ void says(int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && i % 50 == 7) printf("thread %d of %s has %.2f\n", i, "this kernel", i * 0.5);
  if (i < count) out[i] = i * 3;
}
int prints() {
  int* out;
  WT_HIP(hipMalloc(&out, 4096));
  WT_HIP(hipMemset(out, 0, 4096));
  says<<<2, 64>>>(out, 100);
  WT_HIP(hipDeviceSynchronize());
  int last = 0;
  WT_HIP(hipMemcpy(&last, out + 99, sizeof last, hipMemcpyDeviceToHost));
  return last != 297;
}

__global__ void allocates(int* out) {
  auto* own = static_cast<int*>(malloc(16 * sizeof(int)));
  if (own == nullptr) return;
  for (int i = 0; i < 16; ++i) own[i] = threadIdx.x + i;
  int sum = 0;
  for (int i = 0; i < 16; ++i) sum += own[i];
  free(own);
  out[threadIdx.x] = sum;
}
int heap() {
  int* out;
  WT_HIP(hipMalloc(&out, 4096));
  WT_HIP(hipMemset(out, 0, 4096));
  allocates<<<1, 64>>>(out);
  int host[64];
  WT_HIP(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += host[i] != 16 * i + 120;
  return wrong;
}

// Memory that two addresses show: what is written through one is read through the other.
__global__ void through_both(int* one, int* other, int count) {
  const int i = threadIdx.x;
  if (i < count) one[i] = i * 5;
  __threadfence();
  __syncthreads();
  if (i < count) other[count + i] = static_cast<volatile int*>(other)[count - 1 - i] + 1;
}
__global__ void copy_ints(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void add_one(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
// HIP's own copies and fills take memory of HSA's in ROCm 5 only.
int check_both(int* one, int* other) {
  constexpr int kCount = 200;
  through_both<<<1, 256>>>(one, other, kCount);
  int* copy;
  WT_HIP(hipMalloc(&copy, 2 * kCount * sizeof(int)));
  copy_ints<<<1, 2 * kCount>>>(one, copy);
  std::vector<int> host(2 * kCount);
  WT_HIP(hipMemcpy(host.data(), copy, 2 * kCount * sizeof(int), hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kCount; ++i)
    wrong += host[i] != i * 5 || host[kCount + i] != (kCount - 1 - i) * 5 + 1;
  return wrong;
}
hsa_status_t first_gpu(hsa_agent_t agent, void* found) {
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_agent_t*>(found) = agent;
  return HSA_STATUS_INFO_BREAK;
}
// A handle of our own memory, imported again.
int alias() {
  constexpr size_t kBytes = size_t{2} << 20;
  int* one;
  WT_HIP(hipMalloc(&one, kBytes));
  hsa_agent_t gpu{};
  hsa_iterate_agents(first_gpu, &gpu);
  hsa_amd_ipc_memory_t handle{};
  void* other = nullptr;
  if (hsa_amd_ipc_memory_create(one, kBytes, &handle) != HSA_STATUS_SUCCESS ||
      hsa_amd_ipc_memory_attach(&handle, kBytes, 1, &gpu, &other) != HSA_STATUS_SUCCESS ||
      other == one)
    return 1000;
  return check_both(one, static_cast<int*>(other));
}
// Two pieces of memory in one reserved range, one of them in another range as well. HSA's own functions, which HIP 6 calls as
// well; ROCm 5 has none.
hsa_status_t device_pool(hsa_amd_memory_pool_t pool, void* found) {
  hsa_amd_segment_t segment;
  bool may_allocate = false;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &may_allocate);
  if (segment != HSA_AMD_SEGMENT_GLOBAL || !may_allocate) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_amd_memory_pool_t*>(found) = pool;
  return HSA_STATUS_INFO_BREAK;
}
struct Reserved {
  int* low = nullptr;        // a piece
  int* high = nullptr;       // another one, behind it
  int* elsewhere = nullptr;  // the same memory as `high`, where that was asked for
  int wrong = 0;
};
Reserved reserve_and_map(bool twice) {
  struct Access {
    hsa_access_permission_t permissions;
    hsa_agent_t agent;
  };
  const auto find = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
  const auto reserve = reinterpret_cast<hsa_status_t (*)(void**, size_t, uint64_t, uint64_t)>(
      find("hsa_amd_vmem_address_reserve"));
  const auto create =
      reinterpret_cast<hsa_status_t (*)(hsa_amd_memory_pool_t, size_t, int, uint64_t, uint64_t*)>(
          find("hsa_amd_vmem_handle_create"));
  const auto map = reinterpret_cast<hsa_status_t (*)(void*, size_t, size_t, uint64_t, uint64_t)>(
      find("hsa_amd_vmem_map"));
  const auto set_access = reinterpret_cast<hsa_status_t (*)(void*, size_t, const Access*, size_t)>(
      find("hsa_amd_vmem_set_access"));
  if (reserve == nullptr || create == nullptr || map == nullptr || set_access == nullptr) {
    std::printf("SKIP vmm: this ROCr has no hsa_amd_vmem_* (from ROCm 6 on)\n");
    std::exit(77);
  }
  constexpr size_t kPiece = size_t{2} << 20;
  WT_HIP(hipInit(0));
  int* warm;
  WT_HIP(hipMalloc(&warm, 4));
  hsa_agent_t gpu{};
  hsa_amd_memory_pool_t pool{};
  hsa_iterate_agents(first_gpu, &gpu);
  hsa_amd_agent_iterate_memory_pools(gpu, device_pool, &pool);
  void *base = nullptr, *elsewhere = nullptr;
  uint64_t first = 0, second = 0;
  const Access access = {HSA_ACCESS_PERMISSION_RW, gpu};
  int wrong = 0;
  const auto must = [&](hsa_status_t status) { wrong += status != HSA_STATUS_SUCCESS; };
  must(reserve(&base, 2 * kPiece, 0, 0));
  must(reserve(&elsewhere, kPiece, 0, 0));
  must(create(pool, kPiece, 0, 0, &first));
  must(create(pool, kPiece, 0, 0, &second));
  char* const high = static_cast<char*>(base) + kPiece;
  must(map(base, kPiece, 0, first, 0));
  must(map(high, kPiece, 0, second, 0));
  if (twice) must(map(elsewhere, kPiece, 0, second, 0));
  must(set_access(base, 2 * kPiece, &access, 1));
  if (twice) must(set_access(elsewhere, kPiece, &access, 1));
  return {static_cast<int*>(base), reinterpret_cast<int*>(high), static_cast<int*>(elsewhere),
          wrong};
}
int vmm() {
  const Reserved memory = reserve_and_map(/*twice=*/true);
  return memory.wrong != 0 ? memory.wrong : check_both(memory.high, memory.elsewhere);
}
// From one piece to the other.
int vmm_pieces() {
  const Reserved memory = reserve_and_map(/*twice=*/false);
  if (memory.wrong != 0) return memory.wrong;
  through_both<<<1, 256>>>(memory.low, memory.low, 200);
  add_one<<<1, 256>>>(memory.low, memory.high);
  WT_HIP(hipDeviceSynchronize());
  int* copy;
  WT_HIP(hipMalloc(&copy, 256 * sizeof(int)));
  copy_ints<<<1, 256>>>(memory.high, copy);
  std::vector<int> host(256);
  WT_HIP(hipMemcpy(host.data(), copy, 256 * sizeof(int), hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 200; ++i) wrong += host[i] != i * 5 + 1;
  return wrong;
}

// Memory of another process. The child is this program once more.
int imported() {
  hipIpcMemHandle_t handle;
  if (std::fread(&handle, sizeof handle, 1, stdin) != 1) return 1;
  int* sums;
  WT_HIP(
      hipIpcOpenMemHandle(reinterpret_cast<void**>(&sums), handle, hipIpcMemLazyEnablePeerAccess));
  return accumulate_in(sums, sums + 1024);
}
int ipc() {
  int* sums;
  WT_HIP(hipMalloc(&sums, 8192));
  hipIpcMemHandle_t handle;
  WT_HIP(hipIpcGetMemHandle(&handle, sums));
  FILE* child =
      popen((std::string("exec /proc/") + std::to_string(getpid()) + "/exe imported").c_str(), "w");
  if (child == nullptr) return 1;
  std::fwrite(&handle, sizeof handle, 1, child);
  return pclose(child);
}

// Launches in and out of marked ranges; the number says which.
__global__ void marked(int* out, int number) { out[number] += number; }
__attribute__((noinline)) void launch_marked(int* out, int number) {
  marked<<<1, 1>>>(out, number);
  WT_HIP(hipDeviceSynchronize());
}
int ranges() {
  if (roctxRangePushA == nullptr) return 1;
  int* out;
  WT_HIP(hipMalloc(&out, 4096));
  WT_HIP(hipMemset(out, 0, 4096));
  launch_marked(out, 1);
  roctxRangePushA("warm-up");
  launch_marked(out, 2);
  roctxRangePop();
  roctxRangePushA("step 3");
  launch_marked(out, 3);
  roctxRangePushA("inner");
  launch_marked(out, 4);
  roctxRangePop();
  launch_marked(out, 5);
  roctxRangePop();
  launch_marked(out, 6);
  // A started range is everybody's, a pushed one its thread's.
  const uint64_t phase = roctxRangeStartA("phase");
  std::thread([&] { launch_marked(out, 7); }).join();
  roctxRangeStop(phase);
  launch_marked(out, 8);
  roctxRangePushA("step 4");
  std::thread([&] { launch_marked(out, 9); }).join();
  roctxRangePop();
  return 0;
}

// A kernel that has a function of the program called, by the device library's own means.
void answer(uint64_t* output, const uint64_t* input) { output[0] = input[0] + 1; }
__global__ void asks_host(uint64_t* out, uint64_t function) {
  out[0] = static_cast<uint64_t>(__ockl_call_host_function(function, 41, 0, 0, 0, 0, 0, 0)[0]);
}
int host_function() {
  uint64_t* out;
  WT_HIP(hipMalloc(&out, 4096));
  asks_host<<<1, 1>>>(out, reinterpret_cast<uint64_t>(&answer));
  uint64_t host = 0;
  WT_HIP(hipMemcpy(&host, out, sizeof host, hipMemcpyDeviceToHost));
  return host != 42;
}

// Of both pages the kernel uses the first 256 bytes; what lies behind them is none of its business.
int secret() {
  constexpr int kSecret = 0x5ec2e75e;
  std::vector<int> host(1024, kSecret);
  for (int i = 0; i < 64; ++i) host[i] = i;
  int *in, *out;
  WT_HIP(hipMalloc(&in, 4096));
  WT_HIP(hipMalloc(&out, 4096));
  WT_HIP(hipMemcpy(in, host.data(), 4096, hipMemcpyHostToDevice));
  WT_HIP(hipMemcpy(out, host.data(), 4096, hipMemcpyHostToDevice));
  add_one<<<1, 64>>>(in, out);
  WT_HIP(hipMemcpy(host.data(), out, 4096, hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 1024; ++i) wrong += host[i] != (i < 64 ? i + 1 : kSecret);
  return wrong;
}

// One launch on all GPUs at once, each grid waiting for the others.
__global__ void add_on_all(int* sum) {
  cooperative_groups::this_multi_grid().sync();
  if (threadIdx.x == 0) atomicAdd(sum, 1);
}
int every_gpu_together() {
  int count = 0;
  WT_HIP(hipGetDeviceCount(&count));
  std::vector<int*> sums(count);
  std::vector<void*> arguments(count);
  std::vector<hipLaunchParams> launches(count);
  for (int i = 0; i < count; ++i) {
    WT_HIP(hipSetDevice(i));
    WT_HIP(hipMalloc(&sums[i], 4096));
    WT_HIP(hipMemset(sums[i], 0, 4096));
    hipStream_t stream;
    WT_HIP(hipStreamCreate(&stream));
    arguments[i] = &sums[i];
    launches[i] = {
        reinterpret_cast<void*>(add_on_all), dim3(2), dim3(64), &arguments[i], 0, stream};
  }
  WT_HIP(hipLaunchCooperativeKernelMultiDevice(launches.data(), count, 0));
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    WT_HIP(hipSetDevice(i));
    WT_HIP(hipDeviceSynchronize());
    int sum = 0;
    WT_HIP(hipMemcpy(&sum, sums[i], sizeof sum, hipMemcpyDeviceToHost));
    wrong += sum != 2;
  }
  return wrong;
}

struct Case {
  const char* name;
  int (*run)();
};
constexpr Case kCases[] = {
    {"linked", linked},
    {"globals", globals},
    {"device_memory", device_memory},
    {"graph", graph},
    {"managed", managed},
    {"pinned", pinned},
    {"registered", registered},
    {"fine_grained", fine_grained},
    {"pool", pool},
    {"sparse", sparse},
    {"second_stream", second_stream},
    {"endless_neighbour", endless_neighbour},
    {"nothing", nothing},
    {"every_gpu", every_gpu},
    {"prints", prints},
    {"heap", heap},
    {"alias", alias},
    {"vmm", vmm},
    {"vmm_pieces", vmm_pieces},
    {"ranges", ranges},
    {"host_function", host_function},
    {"ipc", ipc},
    {"imported", imported},
    {"secret", secret},
    {"every_gpu_together", every_gpu_together},
};

}  // namespace

int main(int count, char** words) {
  int failed = 0;
  for (int i = 1; i < count; ++i) {
    bool known = false;
    for (const Case& one : kCases) {
      if (std::strcmp(one.name, words[i]) != 0) continue;
      known = true;
      const int wrong = one.run();
      std::printf("%s: %d wrong\n", one.name, wrong);
      failed += wrong != 0;
    }
    if (!known) {
      std::printf("FAIL no case %s\n", words[i]);
      ++failed;
    }
  }
  return failed != 0;
}
