// Two processes share VRAM and a signal: the child (this program, started again) opens the parent's
// handles, lets its GPU write the memory and completes the signal.
#include <sys/wait.h>
#include <unistd.h>

#include "hsa_test.h"

using namespace hsa_test;

namespace {

constexpr uint32_t kCount = 1 << 18;

template <class T>
std::string to_hex(const T& value) {
  std::string text;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  char digits[3];
  for (size_t i = 0; i < sizeof value; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

template <class T>
T from_hex(const char* text) {
  T value{};
  auto* bytes = reinterpret_cast<unsigned char*>(&value);
  for (size_t i = 0; i < sizeof value; ++i) {
    unsigned byte = 0;
    std::sscanf(text + 2 * i, "%2x", &byte);
    bytes[i] = static_cast<unsigned char>(byte);
  }
  return value;
}

int child(char** argv) {
  const Machine machine = start();
  const Agent& gpu = machine.gpus.at(std::atoi(argv[2]));
  const auto memory_handle = from_hex<hsa_amd_ipc_memory_t>(argv[3]);
  const auto signal_handle = from_hex<hsa_amd_ipc_signal_t>(argv[4]);
  void* memory = nullptr;
  HSA(hsa_amd_ipc_memory_attach(&memory_handle, kCount * 4, 1, &gpu.agent, &memory));
  hsa_signal_t shared{};
  HSA(hsa_amd_ipc_signal_attach(&signal_handle, &shared));
  const Kernels kernels(gpu);
  struct {
    void* out;
    uint32_t value, count;
  } args{memory, 1000, kCount};
  const hsa_signal_t done = make_signal(1);
  hsa_queue_t* queue = make_queue(gpu);
  const auto packet = kernels.packet("fill", kCount, make_kernarg(machine, args), done);
  submit(queue, &packet);
  const bool finished = wait_until(done, 0);
  hsa_signal_subtract_screlease(shared, 1);
  HSA(hsa_amd_ipc_memory_detach(memory));
  HSA(hsa_queue_destroy(queue));
  HSA(hsa_shut_down());
  return finished ? 0 : 1;
}

void parent(const char* self, int index, const Machine& machine, const Agent& gpu) {
  auto* memory = allocate_vram<uint32_t>(gpu, kCount);
  HSA(hsa_amd_memory_fill(memory, 0, kCount));
  hsa_amd_ipc_memory_t memory_handle{};
  HSA(hsa_amd_ipc_memory_create(memory, kCount * 4, &memory_handle));
  hsa_signal_t signal{};
  HSA(hsa_amd_signal_create(1, 0, nullptr, HSA_AMD_SIGNAL_IPC, &signal));
  hsa_amd_ipc_signal_t signal_handle{};
  HSA(hsa_amd_ipc_signal_create(signal, &signal_handle));
  const pid_t pid = fork();
  if (pid == 0) {
    execl(self, self, "child", std::to_string(index).c_str(), to_hex(memory_handle).c_str(),
          to_hex(signal_handle).c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  check(status == 0, "%s: the other process ends well (%d)", gpu.name.c_str(), status);
  check(hsa_signal_load_scacquire(signal) == 0, "%s: the shared signal was completed there",
        gpu.name.c_str());
  auto* host = machine.allocate_host<uint32_t>(kCount);
  const hsa_signal_t copied = make_signal(1);
  HSA(hsa_amd_memory_async_copy(host, machine.cpu.agent, memory, gpu.agent, kCount * 4, 0, nullptr,
                                copied));
  bool right = wait_until(copied, 0);
  for (uint32_t i = 0; i < kCount; ++i) right = right && host[i] == 1000 + i;
  check(right, "%s: the other process's kernel wrote our memory", gpu.name.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "child") == 0) return child(argv);
  const Machine machine = start();
  for (size_t i = 0; i < machine.gpus.size(); ++i)
    parent(argv[0], static_cast<int>(i), machine, machine.gpus[i]);
  return finish();
}
