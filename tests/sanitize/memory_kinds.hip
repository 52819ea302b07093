// Memory of every kind, 1000 bytes of it, and one access that is wrong: the element behind the last one, or one of memory that was
// given back. check_kinds.py knows what must be found.
//   memory_kinds KIND right|past|freed|…
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "check.h"

constexpr size_t kBytes = 1000;
constexpr int kInts = kBytes / sizeof(int);

__global__ void fill(int* data, int first, int end) {
  const int i = first + int(threadIdx.x);
  if (i < end) data[i] = i;  // MARK fill
}
// When the host says so.
__global__ void fill_late(volatile int* go, int* data) {
  while (*go == 0) __builtin_amdgcn_s_sleep(4);
  data[threadIdx.x] = 1;  // MARK late
}
__device__ const int g_constants[64] = {1, 2, 3};
__device__ int g_variables[64] = {4, 5, 6};
__global__ void write_code(bool code, bool is_right) {
  unsigned long long here;
  asm volatile("s_getpc_b64 %0" : "=s"(here));
  int* there = code ? reinterpret_cast<int*>(here & ~255ull) : const_cast<int*>(g_constants);
  asm volatile("" : "+v"(there));  // the compiler knows that one is a constant
  volatile int* const to = is_right ? g_variables : there;
  if (threadIdx.x == 0) to[1] = 0;  // MARK code
}
__global__ void take(void** to, size_t bytes) {
  to[threadIdx.x] = malloc(bytes);  // MARK take
}
__global__ void take_new(void** to, int ints) {
  to[threadIdx.x] = new int[ints];  // MARK new
}
__global__ void give(void** from) {
  free(from[threadIdx.x]);  // MARK give
}

namespace {

// What the GPU uses, and how it is given back.
struct Memory {
  int* device = nullptr;
  void* host = nullptr;
};

bool is_of(const std::string& kind, const char* family) { return kind.rfind(family, 0) == 0; }

char* g_pages = nullptr;  // what is registered lies in it
// Of pools: ROCm 5.2 crashes when the null stream is given for one. Not of the heap: there a kernel's questions to the host are
// not answered any more when a second stream has got kernels that could ask.
hipStream_t g_stream = nullptr;

int* heap_block(const std::string& kind) {
  void** slot = nullptr;
  WT_HIP(hipMalloc(&slot, 3 * sizeof(void*)));
  if (kind == "heap-new") take_new<<<1, 3>>>(slot, kInts);
  else take<<<1, 3>>>(slot, kind == "heap-large" ? 5 * kBytes : kBytes);
  check::sync();
  void* blocks[3] = {};
  WT_HIP(hipMemcpy(blocks, slot, sizeof blocks, hipMemcpyDeviceToHost));
  WT_HIP(hipFree(slot));
  return static_cast<int*>(blocks[1]);
}

void give_heap_block(const Memory& memory) {
  void** slot = nullptr;
  WT_HIP(hipMalloc(&slot, sizeof(void*)));
  void* block = memory.device;
  WT_HIP(hipMemcpy(slot, &block, sizeof block, hipMemcpyHostToDevice));
  give<<<1, 1>>>(slot);
  check::sync();
  WT_HIP(hipFree(slot));
}

Memory allocate(const std::string& kind) {
  Memory memory;
  if (is_of(kind, "async") || kind == "pool") WT_HIP(hipStreamCreate(&g_stream));
  void** const to = reinterpret_cast<void**>(&memory.device);
  if (kind == "malloc") WT_HIP(hipMalloc(to, kBytes));
  if (kind == "managed") WT_HIP(hipMallocManaged(to, kBytes));
  if (kind == "async") WT_HIP(hipMallocAsync(to, kBytes, g_stream));
  if (kind == "async-again") {  // a piece of the pool that was used before, for more
    WT_HIP(hipMallocAsync(to, kBytes + 24, g_stream));
    WT_HIP(hipFreeAsync(*to, g_stream));
    WT_HIP(hipStreamSynchronize(g_stream));
    WT_HIP(hipMallocAsync(to, kBytes, g_stream));
  }
  if (kind == "pool") {
    hipMemPool_t pool = nullptr;
    WT_HIP(hipDeviceGetDefaultMemPool(&pool, 0));
    WT_HIP(hipMallocFromPoolAsync(to, kBytes, pool, g_stream));
  }
  if (kind == "host" || kind == "host-mapped") {
    WT_HIP(hipHostMalloc(&memory.host, kBytes, kind == "host" ? 0 : hipHostMallocMapped));
    WT_HIP(hipHostGetDevicePointer(to, memory.host, 0));
  }
  if (kind == "registered") {
    g_pages = static_cast<char*>(std::aligned_alloc(4096, 3 * 4096));
    memory.host = g_pages + 4096 + 128;
    WT_HIP(hipHostRegister(memory.host, kBytes, 0));
    WT_HIP(hipHostGetDevicePointer(to, memory.host, 0));
  }
  if (is_of(kind, "heap")) memory.device = heap_block(kind);
  return memory;
}

void release(const std::string& kind, const Memory& memory) {
  if (kind == "malloc" || kind == "managed") WT_HIP(hipFree(memory.device));
  if (is_of(kind, "async") || kind == "pool") WT_HIP(hipFreeAsync(memory.device, g_stream));
  if (is_of(kind, "host")) WT_HIP(hipHostFree(memory.host));
  if (kind == "registered") WT_HIP(hipHostUnregister(memory.host));
  if (is_of(kind, "heap")) give_heap_block(memory);
}

void use(int* data, const std::string& how, int count) {
  const int first = how == "before" ? -1 : how == "past" ? count - 200 : 0;
  const int end = how == "past" ? count + 1 : how == "before" ? 200 : std::min(count, 256);
  fill<<<1, 256, 0, g_stream>>>(data, first, end);
  (void)hipStreamSynchronize(g_stream);
}

// Memory that is taken away below HIP, which would wait for the kernel, while a kernel has it.
void free_in_use(int* data) {
  using Free = int (*)(void*);
  const Free free_memory = reinterpret_cast<Free>(dlsym(RTLD_DEFAULT, "hsa_amd_memory_pool_free"));
  int* go = nullptr;
  WT_HIP(hipHostMalloc(reinterpret_cast<void**>(&go), sizeof(int), 0));
  *go = 0;
  fill_late<<<1, 64>>>(go, data);
  check::expect(free_memory != nullptr && free_memory(data) == 0, "it is freed");
  __atomic_store_n(go, 1, __ATOMIC_RELEASE);
  (void)hipDeviceSynchronize();
}

// Memory of another GPU, which this one was given no rights to.
void use_others(const std::string& how) {
  int* data = nullptr;
  WT_HIP(hipMalloc(reinterpret_cast<void**>(&data), kBytes));
  WT_HIP(hipSetDevice(1));
  if (how == "right") WT_HIP(hipDeviceEnablePeerAccess(0, 0));
  use(data, "right", kInts);
}

// Rows of 100 bytes and what is behind the last of them.
void use_rows(const std::string& kind, const std::string& how) {
  char* data = nullptr;
  size_t pitch = 0;
  if (kind == "pitch") {
    // Refused by HIP itself where ROCr has no image support, as on hosts that are not x86.
    if (hipMallocPitch(reinterpret_cast<void**>(&data), &pitch, 100, 5) != hipSuccess) {
      std::puts("not supported");
      return;
    }
  } else {
    hipPitchedPtr volume{};
    if (hipMalloc3D(&volume, make_hipExtent(100, 5, 1)) != hipSuccess) {
      std::puts("not supported");
      return;
    }
    data = static_cast<char*>(volume.ptr);
    pitch = volume.pitch;
  }
  std::printf("rows take %zu bytes\n", 5 * pitch);
  std::fflush(stdout);  // a fault of what follows may end the process
  if (how == "freed") WT_HIP(hipFree(data));
  use(reinterpret_cast<int*>(data), how, int(pitch * 5 / sizeof(int)));
  if (how == "row")  // past the second row, in what is between it and the third
    use(reinterpret_cast<int*>(data + pitch), "past", 100 / sizeof(int));
  if (how != "freed") WT_HIP(hipFree(data));
}

// Another process has allocated it.
int use_imported(const std::string& how, int from_parent) {
  hipIpcMemHandle_t handle;
  if (read(from_parent, &handle, sizeof handle) != sizeof handle) return 1;
  int* data = nullptr;
  WT_HIP(
      hipIpcOpenMemHandle(reinterpret_cast<void**>(&data), handle, hipIpcMemLazyEnablePeerAccess));
  if (how == "freed") WT_HIP(hipIpcCloseMemHandle(data));
  use(data, how, kInts);
  if (how != "freed") WT_HIP(hipIpcCloseMemHandle(data));
  return 0;
}

int export_to_child(char** words) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", words[0], words[1], words[2], std::to_string(ends[0]).c_str(), nullptr);
    std::_Exit(1);
  }
  void* data = nullptr;
  WT_HIP(hipMalloc(&data, kBytes));
  hipIpcMemHandle_t handle;
  WT_HIP(hipIpcGetMemHandle(&handle, data));
  if (write(ends[1], &handle, sizeof handle) != sizeof handle) return 1;
  int status = 0;
  waitpid(child, &status, 0);
  WT_HIP(hipFree(data));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  const std::string kind = words[1];
  const std::string how = words[2];
  if (count > 3) return use_imported(how, std::atoi(words[3]));
  if (kind == "imported") return export_to_child(words);
  if (kind == "pitch" || kind == "volume") {
    use_rows(kind, how);
    return 0;
  }
  if (kind == "others") {
    use_others(how);
    return 0;
  }
  if (kind == "code" || kind == "constants") {
    write_code<<<1, 64>>>(kind == "code", how == "right");
    (void)hipDeviceSynchronize();
    return 0;
  }
  const Memory memory = allocate(kind);
  if (how == "in-use") {
    free_in_use(memory.device);
    std::_Exit(0);
  }
  if (how == "freed" || how == "twice" || how == "twice-used") release(kind, memory);
  if (how == "twice") release(kind, memory);
  else use(memory.device, how, kind == "heap-large" ? 5 * kInts : kInts);
  if (how == "inside") release(kind, {memory.device + 1, memory.host});
  if (how == "right" || how == "past" || how == "before") release(kind, memory);
  return 0;
}
