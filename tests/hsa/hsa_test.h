// What the HSA test programs share: checks that print PASS or FAIL, the agents and pools of the
// machine, kernels of kernels.cl, and queues with a producer.
//
// A program's main() ends with `return finish();`: 0 only when at least one check ran and none
// failed.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sched.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace hsa_test {

inline std::atomic<int> g_passed{0};
inline std::atomic<int> g_failed{0};

__attribute__((format(printf, 2, 3))) inline bool check(bool ok, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  std::printf("%s %s\n", ok ? "PASS" : "FAIL", text);
  std::fflush(stdout);
  ++(ok ? g_passed : g_failed);
  return ok;
}

inline int finish() {
  std::printf("%d passed, %d failed\n", g_passed.load(), g_failed.load());
  return g_failed == 0 && g_passed > 0 ? 0 : 1;
}

// Stops the program when a call that must work does not.
inline void must(hsa_status_t status, const char* call, int line) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  const char* text = "unknown status";
  hsa_status_string(status, &text);
  std::printf("FAIL line %d: %s: 0x%x %s\n", line, call, static_cast<unsigned>(status), text);
  std::fflush(stdout);
  std::_Exit(1);
}
#define HSA(call) hsa_test::must((call), #call, __LINE__)

struct Pool {
  hsa_amd_memory_pool_t pool{};
  uint32_t flags = 0;
  size_t size_bytes = 0;
  bool can_allocate = false;
};

struct Agent {
  hsa_agent_t agent{};
  std::string name;
  uint32_t node = 0;
  std::vector<Pool> global_pools;

  const Pool* pool_with(uint32_t flag) const {
    for (const Pool& pool : global_pools) {
      if (pool.flags & flag) return &pool;
    }
    return nullptr;
  }
};

struct Machine {
  Agent cpu;
  std::vector<Agent> gpus;

  hsa_amd_memory_pool_t kernarg() const {
    return cpu.pool_with(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)->pool;
  }
  hsa_amd_memory_pool_t host() const {
    return cpu.pool_with(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)->pool;
  }
  // Memory every GPU may touch.
  template <class T>
  T* allocate_host(size_t count) const {
    void* pointer = nullptr;
    HSA(hsa_amd_memory_pool_allocate(host(), count * sizeof(T), 0, &pointer));
    allow_all(pointer);
    return static_cast<T*>(pointer);
  }
  void allow_all(void* pointer) const {
    std::vector<hsa_agent_t> agents;
    for (const Agent& gpu : gpus) agents.push_back(gpu.agent);
    HSA(hsa_amd_agents_allow_access(static_cast<uint32_t>(agents.size()), agents.data(), nullptr,
                                    pointer));
  }
};

template <class T>
T* allocate_vram(const Agent& gpu, size_t count) {
  void* pointer = nullptr;
  HSA(hsa_amd_memory_pool_allocate(gpu.global_pools.at(0).pool, count * sizeof(T), 0, &pointer));
  return static_cast<T*>(pointer);
}

inline hsa_status_t add_pool(hsa_amd_memory_pool_t handle, void* agent) {
  hsa_amd_segment_t segment{};
  hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  Pool pool;
  pool.pool = handle;
  hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &pool.flags);
  hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_SIZE, &pool.size_bytes);
  hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                               &pool.can_allocate);
  static_cast<Agent*>(agent)->global_pools.push_back(pool);
  return HSA_STATUS_SUCCESS;
}

inline hsa_status_t add_agent(hsa_agent_t handle, void* machine_pointer) {
  auto* machine = static_cast<Machine*>(machine_pointer);
  hsa_device_type_t type{};
  hsa_agent_get_info(handle, HSA_AGENT_INFO_DEVICE, &type);
  Agent agent;
  agent.agent = handle;
  char name[64] = "";
  hsa_agent_get_info(handle, HSA_AGENT_INFO_NAME, name);
  agent.name = name;
  hsa_agent_get_info(handle, HSA_AGENT_INFO_NODE, &agent.node);
  hsa_amd_agent_iterate_memory_pools(handle, add_pool, &agent);
  if (type == HSA_DEVICE_TYPE_GPU) {
    machine->gpus.push_back(agent);
  } else if (type == HSA_DEVICE_TYPE_CPU) {
    machine->cpu = agent;
  }
  return HSA_STATUS_SUCCESS;
}

inline Machine start() {
  HSA(hsa_init());
  Machine machine;
  HSA(hsa_iterate_agents(add_agent, &machine));
  if (machine.gpus.empty()) {
    std::printf("FAIL no GPU\n");
    std::exit(1);
  }
  return machine;
}

// The code object of kernels.cl, loaded for one agent.
class Kernels {
 public:
  explicit Kernels(const Agent& gpu) : gpu_(gpu) {
    const std::string path =
        std::string(WT_CODE_OBJECT_DIR) + "/hsa_kernels_" + gpu.name + ".hsaco";
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    if (bytes_.empty()) {
      std::printf("FAIL cannot read %s\n", path.c_str());
      std::_Exit(1);
    }
    hsa_code_object_reader_t reader{};
    HSA(hsa_code_object_reader_create_from_memory(bytes_.data(), bytes_.size(), &reader));
    HSA(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                  nullptr, &executable_));
    HSA(hsa_executable_load_agent_code_object(executable_, gpu.agent, reader, nullptr, nullptr));
    HSA(hsa_executable_freeze(executable_, nullptr));
    HSA(hsa_code_object_reader_destroy(reader));
  }
  ~Kernels() { hsa_executable_destroy(executable_); }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  hsa_kernel_dispatch_packet_t packet(const char* name, uint32_t work_items, void* kernarg,
                                      hsa_signal_t signal) const {
    hsa_executable_symbol_t symbol{};
    HSA(hsa_executable_get_symbol_by_name(executable_, (std::string(name) + ".kd").c_str(),
                                          &gpu_.agent, &symbol));
    hsa_kernel_dispatch_packet_t p{};
    const auto info = [&](hsa_executable_symbol_info_t what, void* value) {
      HSA(hsa_executable_symbol_get_info(symbol, what, value));
    };
    info(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &p.kernel_object);
    info(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &p.group_segment_size);
    info(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &p.private_segment_size);
    p.header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER |
               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    p.setup = 1;
    p.workgroup_size_x = 64;
    p.workgroup_size_y = p.workgroup_size_z = 1;
    p.grid_size_x = work_items;
    p.grid_size_y = p.grid_size_z = 1;
    p.kernarg_address = kernarg;
    p.completion_signal = signal;
    return p;
  }

 private:
  const Agent& gpu_;
  std::vector<char> bytes_;  // ROCr may refer to it as long as the executable lives
  hsa_executable_t executable_{};
};

// The implicit arguments a kernel might look at follow the explicit ones; they stay zero.
template <class Args>
void* make_kernarg(const Machine& machine, const Args& args) {
  void* pointer = nullptr;
  HSA(hsa_amd_memory_pool_allocate(machine.kernarg(), 4096, 0, &pointer));
  machine.allow_all(pointer);
  std::memset(pointer, 0, 4096);
  std::memcpy(pointer, &args, sizeof args);
  return pointer;
}

// Any packet type, any number of producers.
inline uint64_t submit(hsa_queue_t* queue, const void* packet) {
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) sched_yield();
  char* slot = static_cast<char*>(queue->base_address) + index % queue->size * 64;
  std::memcpy(slot + 4, static_cast<const char*>(packet) + 4, 60);
  uint32_t head = 0;
  std::memcpy(&head, packet, 4);
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), head, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  return index;
}

inline hsa_signal_t make_signal(hsa_signal_value_t value) {
  hsa_signal_t signal{};
  HSA(hsa_signal_create(value, 0, nullptr, &signal));
  return signal;
}

// Waits until the signal is `value`; false after twenty seconds.
inline bool wait_until(hsa_signal_t signal, hsa_signal_value_t value) {
  uint64_t hertz = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hertz);
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, 20 * hertz,
                                   HSA_WAIT_STATE_BLOCKED) == value;
}

inline hsa_queue_t* make_queue(const Agent& gpu, uint32_t size = 256,
                               void (*callback)(hsa_status_t, hsa_queue_t*, void*) = nullptr,
                               void* data = nullptr) {
  hsa_queue_t* queue = nullptr;
  HSA(hsa_queue_create(gpu.agent, size, HSA_QUEUE_TYPE_MULTI, callback, data, UINT32_MAX,
                       UINT32_MAX, &queue));
  return queue;
}

}  // namespace hsa_test
