// What reaches the program when a kernel or a packet is wrong: queue callbacks with the right
// status, the system event with the right address, and a machine that works on afterwards.
//
//   faults callbacks         errors of single queues; the program goes on
//   faults memory            a page fault, caught by a system event handler
//   faults memory-uncaught   the same without a handler: ROCr prints its report and aborts
#include <atomic>
#include <chrono>
#include <thread>

#include "hsa_test.h"

using namespace hsa_test;

namespace {

constexpr uint64_t kUnmapped = 0x123456789000;

struct QueueError {
  std::atomic<int> calls{0};
  std::atomic<uint32_t> status{0};
};

void on_queue_error(hsa_status_t status, hsa_queue_t*, void* data) {
  auto* error = static_cast<QueueError*>(data);
  error->status = status;
  ++error->calls;
}

bool waits_for(const std::atomic<int>& calls) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (calls == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return calls > 0;
}

// Submits a packet to a queue of its own and expects the callback with the given status.
void expect_error(const Agent& gpu, const void* packet, uint32_t status, const char* what) {
  QueueError error;
  hsa_queue_t* queue = make_queue(gpu, 64, on_queue_error, &error);
  submit(queue, packet);
  const bool called = waits_for(error.calls);
  check(called && error.status == status, "%s: %s gives status 0x%x (got 0x%x)", gpu.name.c_str(),
        what, status, error.status.load());
  HSA(hsa_queue_destroy(queue));
}

// VRAM that may be executed. ROCr 7 must be asked for it; versions that lack the flag refuse it.
uint8_t* allocate_code(const Agent& gpu, size_t bytes) {
#if HSA_AMD_INTERFACE_VERSION_MINOR >= 7
  constexpr uint32_t kExecutable = HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG;
#else
  constexpr uint32_t kExecutable = 0;
#endif
  void* pointer = nullptr;
  HSA(hsa_amd_memory_pool_allocate(gpu.global_pools.at(0).pool, bytes, kExecutable, &pointer));
  return static_cast<uint8_t*>(pointer);
}

void callbacks(const Machine& machine, const Agent& gpu) {
  const Kernels kernels(gpu);
  auto* out = machine.allocate_host<uint32_t>(64);
  *out = 0;
  const hsa_signal_t signal = make_signal(1);
  void* kernarg = make_kernarg(machine, out);

  const auto good = kernels.packet("add_one", 64, kernarg, signal);
  auto packet = good;
  packet.setup = 0;
  expect_error(gpu, &packet, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "no dimensions");
  packet = good;
  packet.group_segment_size = 1 << 20;
  expect_error(gpu, &packet, HSA_STATUS_ERROR_INVALID_ALLOCATION, "a megabyte of LDS");
  packet = good;
  packet.kernel_object = 0;
  expect_error(gpu, &packet, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "no kernel");
  packet = good;
  packet.workgroup_size_x = 2000;
  expect_error(gpu, &packet, HSA_STATUS_ERROR_INVALID_ARGUMENT, "2000 work-items in a workgroup");
  hsa_agent_dispatch_packet_t agent_packet{};
  agent_packet.header = HSA_PACKET_TYPE_AGENT_DISPATCH;
  expect_error(gpu, &agent_packet, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
               "an agent dispatch packet");
  uint8_t vendor[64] = {HSA_PACKET_TYPE_VENDOR_SPECIFIC, 0, 77};
  expect_error(gpu, vendor, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "an unknown vendor packet");

  const auto trap = kernels.packet("trap", 1, kernarg, signal);
  expect_error(gpu, &trap, HSA_STATUS_ERROR_EXCEPTION, "s_trap");
  check(*out == 1, "%s: the store before the trap was made", gpu.name.c_str());

  // An illegal instruction: a copy of a descriptor whose entry points at bytes that are no code.
  auto* code = allocate_code(gpu, 4096);
  std::vector<uint8_t> image(4096, 0xff);
  std::memset(image.data(), 0, 64);
  const int64_t entry = 256;
  std::memcpy(image.data() + 16, &entry, 8);
  auto* staging = machine.allocate_host<uint8_t>(4096);
  std::memcpy(staging, image.data(), 4096);
  const hsa_signal_t copied = make_signal(1);
  HSA(hsa_amd_memory_async_copy(code, gpu.agent, staging, machine.cpu.agent, 4096, 0, nullptr,
                                copied));
  wait_until(copied, 0);
  packet = good;
  packet.kernel_object = reinterpret_cast<uint64_t>(code);
  expect_error(gpu, &packet, HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction");

  struct {
    uint64_t address;
    uint32_t value;
  } wild{0x0003'0000'0000'0000, 1};
  const auto poke = kernels.packet("poke", 1, make_kernarg(machine, wild), signal);
  expect_error(gpu, &poke, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION,
               "a store outside every aperture");

  check(hsa_signal_load_relaxed(signal) == 1, "%s: no faulty packet completed its signal",
        gpu.name.c_str());
  hsa_queue_t* queue = make_queue(gpu);
  submit(queue, &good);
  check(wait_until(signal, 0) && *out == 65, "%s: another queue still works", gpu.name.c_str());
  HSA(hsa_queue_destroy(queue));
}

struct SystemEvent {
  std::atomic<int> calls{0};
  uint64_t address = 0;
  uint32_t reason = 0;
  hsa_agent_t agent{};
};

hsa_status_t on_system_event(const hsa_amd_event_t* event, void* data) {
  auto* seen = static_cast<SystemEvent*>(data);
  if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR;
  seen->address = event->memory_fault.virtual_address;
  seen->reason = event->memory_fault.fault_reason_mask;
  seen->agent = event->memory_fault.agent;
  ++seen->calls;
  return HSA_STATUS_SUCCESS;
}

// A store to memory nobody mapped.
void submit_wild_store(const Machine& machine, const Agent& gpu, const Kernels& kernels,
                       hsa_queue_t* queue) {
  struct {
    uint64_t address;
    uint32_t value;
  } args{kUnmapped + 0x44, 1};
  const auto packet = kernels.packet("poke", 1, make_kernarg(machine, args), hsa_signal_t{});
  submit(queue, &packet);
  (void)gpu;
}

void memory(const Machine& machine, const Agent& gpu) {
  static SystemEvent seen;
  HSA(hsa_amd_register_system_event_handler(on_system_event, &seen));
  const Kernels kernels(gpu);
  hsa_queue_t* queue = make_queue(gpu);
  submit_wild_store(machine, gpu, kernels, queue);
  check(waits_for(seen.calls), "%s: the system event handler is called", gpu.name.c_str());
  check(seen.address == kUnmapped, "with the page of the address (0x%llx)",
        static_cast<unsigned long long>(seen.address));
  check((seen.reason & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT) != 0,
        "because the page is not present (0x%x)", seen.reason);
  check(seen.agent.handle == gpu.agent.handle, "for the GPU that did it");
  HSA(hsa_queue_destroy(queue));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "callbacks";
  const Machine machine = start();
  if (what == "callbacks") {
    for (const Agent& gpu : machine.gpus) callbacks(machine, gpu);
  } else if (what == "memory") {
    memory(machine, machine.gpus.back());
  } else {
    const Agent& gpu = machine.gpus.front();
    const Kernels kernels(gpu);
    hsa_queue_t* queue = make_queue(gpu);
    submit_wild_store(machine, gpu, kernels, queue);
    std::this_thread::sleep_for(std::chrono::seconds(20));
    check(false, "still alive");
  }
  return finish();
}
