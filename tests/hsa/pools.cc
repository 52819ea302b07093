// Memory pools: every kind allocates and is reachable as its flags promise; access, pointer
// information, pinning, exhaustion.
#include "hsa_test.h"

using namespace hsa_test;

namespace {

void every_pool_allocates(const Machine& machine, const Agent& owner, const char* what) {
  for (const Pool& pool : owner.global_pools) {
    check(pool.size_bytes > 0, "%s pool has a size (%zu MiB)", what, pool.size_bytes >> 20);
    if (!pool.can_allocate) continue;
    size_t granule = 0;
    HSA(hsa_amd_memory_pool_get_info(pool.pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE,
                                     &granule));
    for (const size_t size : {size_t{1}, granule, granule * 3 + 1, size_t{5} << 20}) {
      void* pointer = nullptr;
      const hsa_status_t status = hsa_amd_memory_pool_allocate(pool.pool, size, 0, &pointer);
      check(status == HSA_STATUS_SUCCESS && pointer != nullptr,
            "%s pool with flags %u allocates %zu bytes", what, pool.flags, size);
      machine.allow_all(pointer);
      HSA(hsa_amd_memory_pool_free(pointer));
    }
  }
}

void pointer_info(const Machine& machine, const Agent& gpu) {
  auto* memory = allocate_vram<char>(gpu, 3 << 20);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  uint32_t accessible = 0;
  hsa_agent_t* agents = nullptr;
  HSA(hsa_amd_pointer_info(memory + 12345, &info, malloc, &accessible, &agents));
  check(info.type == HSA_EXT_POINTER_TYPE_HSA, "VRAM is known as an allocation");
  check(info.agentBaseAddress == memory && info.sizeInBytes >= 3 << 20,
        "an inner pointer finds its allocation");
  check(info.agentOwner.handle == gpu.agent.handle, "VRAM belongs to its GPU");
  check(accessible >= 1, "somebody may touch it");
  free(agents);
  HSA(hsa_amd_memory_pool_free(memory));

  auto* stack = new char[100];
  info.size = sizeof info;
  HSA(hsa_amd_pointer_info(stack, &info, nullptr, nullptr, nullptr));
  check(info.type == HSA_EXT_POINTER_TYPE_UNKNOWN, "plain memory is unknown");
  delete[] stack;
  (void)machine;
}

// Pins ordinary memory, lets the GPU read and write it, unpins it.
void pinning(const Machine& machine, Agent gpu, const Kernels& kernels) {
  constexpr uint32_t kCount = 5000;
  std::vector<uint32_t> in(kCount), out(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = 7 * i;
  void* gpu_in = nullptr;
  void* gpu_out = nullptr;
  HSA(hsa_amd_memory_lock(in.data(), kCount * 4, &gpu.agent, 1, &gpu_in));
  HSA(hsa_amd_memory_lock(out.data(), kCount * 4, &gpu.agent, 1, &gpu_out));
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  HSA(hsa_amd_pointer_info(in.data() + 17, &info, nullptr, nullptr, nullptr));
  check(info.type == HSA_EXT_POINTER_TYPE_LOCKED, "pinned memory is known as pinned");
  struct {
    void *in, *out;
    uint32_t count;
  } args{gpu_in, gpu_out, kCount};
  hsa_queue_t* queue = make_queue(gpu);
  const hsa_signal_t signal = make_signal(1);
  void* kernarg = make_kernarg(machine, args);
  const auto packet = kernels.packet("square_add", kCount, kernarg, signal);
  submit(queue, &packet);
  check(wait_until(signal, 0), "kernel over pinned memory finishes");
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) wrong += out[i] != i * i + 7 * i;
  check(wrong == 0, "kernel reads and writes pinned memory (%u wrong)", wrong);
  HSA(hsa_amd_memory_unlock(in.data()));
  HSA(hsa_amd_memory_unlock(out.data()));
  info.size = sizeof info;
  HSA(hsa_amd_pointer_info(in.data(), &info, nullptr, nullptr, nullptr));
  check(info.type == HSA_EXT_POINTER_TYPE_UNKNOWN, "unpinned memory is forgotten");
  HSA(hsa_queue_destroy(queue));
  HSA(hsa_signal_destroy(signal));
  HSA(hsa_amd_memory_pool_free(kernarg));
}

void exhaustion(const Agent& gpu) {
  const Pool& pool = gpu.global_pools.at(0);
  void* pointer = nullptr;
  check(hsa_amd_memory_pool_allocate(pool.pool, pool.size_bytes * 2, 0, &pointer) !=
            HSA_STATUS_SUCCESS,
        "twice the VRAM is refused");
  std::vector<void*> blocks;
  const size_t block = pool.size_bytes / 4;
  for (int i = 0; i < 6; ++i) {
    if (hsa_amd_memory_pool_allocate(pool.pool, block, 0, &pointer) != HSA_STATUS_SUCCESS) break;
    blocks.push_back(pointer);
  }
  check(blocks.size() >= 2 && blocks.size() <= 4, "quarters of the VRAM run out (%zu fit)",
        blocks.size());
  for (void* p : blocks) HSA(hsa_amd_memory_pool_free(p));
  check(hsa_amd_memory_pool_allocate(pool.pool, block, 0, &pointer) == HSA_STATUS_SUCCESS,
        "and come back");
  HSA(hsa_amd_memory_pool_free(pointer));
}

}  // namespace

int main() {
  const Machine machine = start();
  every_pool_allocates(machine, machine.cpu, "host");
  for (const Agent& gpu : machine.gpus) {
    const Kernels kernels(gpu);
    every_pool_allocates(machine, gpu, gpu.name.c_str());
    pointer_info(machine, gpu);
    pinning(machine, gpu, kernels);
    exhaustion(gpu);
  }
  HSA(hsa_shut_down());
  return finish();
}
