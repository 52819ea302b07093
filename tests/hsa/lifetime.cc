// Beginnings and ends: the runtime started and stopped many times, a child after fork, a program
// that leaves while a kernel runs.
//
//   lifetime          cycles and fork
//   lifetime leave    returns 7 from main with an endless kernel on the GPU
#include <sys/wait.h>
#include <unistd.h>

#include "hsa_test.h"

using namespace hsa_test;

namespace {

// One dispatch from hsa_init to its result.
bool dispatch_once(const Machine& machine) {
  bool right = true;
  for (const Agent& gpu : machine.gpus) {
    const Kernels kernels(gpu);
    auto* counter = machine.allocate_host<uint32_t>(1);
    *counter = 0;
    void* kernarg = make_kernarg(machine, counter);
    const hsa_signal_t signal = make_signal(1);
    hsa_queue_t* queue = make_queue(gpu);
    const auto packet = kernels.packet("add_one", 64, kernarg, signal);
    submit(queue, &packet);
    right = right && wait_until(signal, 0) && *counter == 64;
    HSA(hsa_queue_destroy(queue));
    HSA(hsa_signal_destroy(signal));
    HSA(hsa_amd_memory_pool_free(counter));
    HSA(hsa_amd_memory_pool_free(kernarg));
  }
  return right;
}

void cycles() {
  int good = 0;
  for (int i = 0; i < 20; ++i) {
    const Machine machine = start();
    good += dispatch_once(machine);
    HSA(hsa_shut_down());
  }
  check(good == 20, "20 times from hsa_init to hsa_shut_down (%d)", good);
}

// A child of fork starts its own runtime while the parent's is not in use, and the parent starts
// again.
void forks() {
  const pid_t child = fork();
  if (child == 0) {
    const Machine machine = start();
    _exit(dispatch_once(machine) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  check(status == 0, "a forked child uses the GPU (%d)", status);

  const Machine machine = start();
  const pid_t idle_child = fork();
  if (idle_child == 0) _exit(3);
  waitpid(idle_child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 3,
        "a forked child that does not use it ends as it likes");
  check(dispatch_once(machine), "the parent goes on");
}

int leave() {
  const Machine machine = start();
  const Agent& gpu = machine.gpus.front();
  static const Kernels kernels(gpu);
  auto* words = machine.allocate_host<uint32_t>(2);
  words[0] = 0;
  struct {
    uint32_t *flag, *out;
  } args{words, words + 1};
  hsa_queue_t* queue = make_queue(gpu);
  const auto packet =
      kernels.packet("wait_for_host", 1, make_kernarg(machine, args), make_signal(1));
  submit(queue, &packet);
  usleep(20'000);
  return 7;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "leave") == 0) return leave();
  cycles();
  forks();
  return finish();
}
