// Queues: many of them, many producers, wrap-around, barriers within and across queues, soft and
// hard ends.
#include <chrono>
#include <thread>

#include "hsa_test.h"

using namespace hsa_test;

namespace {

void come_and_go(const Agent& gpu, int count) {
  int made = 0;
  for (int i = 0; i < count; ++i) {
    hsa_queue_t* queue = nullptr;
    if (hsa_queue_create(gpu.agent, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                         UINT32_MAX, &queue) != HSA_STATUS_SUCCESS) {
      break;
    }
    // Some are used, most are not.
    if (i % 16 == 0) {
      const hsa_signal_t signal = make_signal(1);
      hsa_barrier_and_packet_t packet{};
      packet.header = HSA_PACKET_TYPE_BARRIER_AND;
      packet.completion_signal = signal;
      submit(queue, &packet);
      if (!wait_until(signal, 0)) break;
      HSA(hsa_signal_destroy(signal));
    }
    if (hsa_queue_destroy(queue) != HSA_STATUS_SUCCESS) break;
    ++made;
  }
  check(made == count, "%s: %d queues come and go", gpu.name.c_str(), count);
}

void side_by_side(const Machine& machine, const Agent& gpu, const Kernels& kernels) {
  constexpr int kQueues = 64;
  auto* counter = machine.allocate_host<uint32_t>(1);
  *counter = 0;
  void* kernarg = make_kernarg(machine, counter);
  std::vector<hsa_queue_t*> queues;
  for (int i = 0; i < kQueues; ++i) queues.push_back(make_queue(gpu, 64));
  const hsa_signal_t signal = make_signal(kQueues);
  for (hsa_queue_t* queue : queues) {
    const auto packet = kernels.packet("add_one", 64, kernarg, signal);
    submit(queue, &packet);
  }
  const bool done = wait_until(signal, 0);  // before the counter is read for the message
  check(done && *counter == kQueues * 64, "%s: %d queues work side by side (%u)", gpu.name.c_str(),
        kQueues, *counter);
  for (hsa_queue_t* queue : queues) HSA(hsa_queue_destroy(queue));
  HSA(hsa_signal_destroy(signal));
}

void many_producers(const Machine& machine, const Agent& gpu, const Kernels& kernels) {
  constexpr int kThreads = 8;
  constexpr int kPackets = 1000;
  auto* counter = machine.allocate_host<uint32_t>(1);
  *counter = 0;
  void* kernarg = make_kernarg(machine, counter);
  hsa_queue_t* queue = make_queue(gpu, 64);  // far smaller than what goes through it
  const hsa_signal_t signal = make_signal(kThreads * kPackets);
  const auto packet = kernels.packet("add_one", 1, kernarg, signal);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kPackets; ++i) submit(queue, &packet);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const bool done = wait_until(signal, 0);
  check(done && *counter == kThreads * kPackets, "%s: 8 threads x 1000 packets (%u)",
        gpu.name.c_str(), *counter);
  HSA(hsa_queue_destroy(queue));
  HSA(hsa_signal_destroy(signal));
}

// Dispatch n may start only after n - 1, which is in another queue: the buffer holds the last
// writer.
void barrier_chain(const Machine& machine, const Agent& gpu, const Kernels& kernels) {
  constexpr int kQueues = 4;
  constexpr int kLinks = 200;
  auto* out = machine.allocate_host<uint32_t>(1);
  std::vector<hsa_queue_t*> queues;
  for (int i = 0; i < kQueues; ++i) queues.push_back(make_queue(gpu));
  std::vector<hsa_signal_t> signals;
  for (uint32_t i = 0; i < kLinks; ++i) {
    signals.push_back(make_signal(1));
    struct {
      uint32_t* out;
      uint32_t value, count;
    } args{out, i, 1};
    hsa_queue_t* queue = queues[i % kQueues];
    if (i > 0) {
      hsa_barrier_and_packet_t barrier{};
      barrier.header = HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER;
      barrier.dep_signal[i % 5] = signals[i - 1];
      submit(queue, &barrier);
    }
    const auto packet = kernels.packet("fill", 1, make_kernarg(machine, args), signals.back());
    submit(queue, &packet);
  }
  const bool reached = wait_until(signals.back(), 0);
  check(reached && *out == kLinks - 1, "%s: chain of %d dispatches over %d queues (%u)",
        gpu.name.c_str(), kLinks, kQueues, *out);

  const hsa_signal_t never = make_signal(1);
  const hsa_signal_t done = make_signal(1);
  hsa_barrier_or_packet_t either{};
  either.header = HSA_PACKET_TYPE_BARRIER_OR;
  either.dep_signal[0] = never;
  either.dep_signal[4] = signals[0];
  either.completion_signal = done;
  submit(queues[0], &either);
  check(wait_until(done, 0), "%s: OR barrier passes with one of two", gpu.name.c_str());
  for (hsa_queue_t* queue : queues) HSA(hsa_queue_destroy(queue));
  signals.push_back(never);
  signals.push_back(done);
  for (const hsa_signal_t signal : signals) HSA(hsa_signal_destroy(signal));
}

void ends(const Machine& machine, const Agent& gpu, const Kernels& kernels) {
  // Destroyed inside a kernel that waits for the host.
  auto* words = machine.allocate_host<uint32_t>(2);
  words[0] = words[1] = 0;
  struct {
    uint32_t *flag, *out;
  } args{words, words + 1};
  hsa_queue_t* queue = make_queue(gpu);
  const hsa_signal_t signal = make_signal(1);
  const auto packet = kernels.packet("wait_for_host", 1, make_kernarg(machine, args), signal);
  submit(queue, &packet);
  const auto begin = std::chrono::steady_clock::now();
  HSA(hsa_queue_destroy(queue));
  check(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5) &&
            hsa_signal_load_relaxed(signal) == 1,
        "%s: a queue is destroyed inside an endless kernel", gpu.name.c_str());

  // Destroyed in front of a barrier that never passes.
  queue = make_queue(gpu);
  hsa_barrier_and_packet_t barrier{};
  barrier.header = HSA_PACKET_TYPE_BARRIER_AND;
  barrier.dep_signal[0] = signal;
  submit(queue, &barrier);
  check(hsa_queue_destroy(queue) == HSA_STATUS_SUCCESS, "%s: and in front of a closed barrier",
        gpu.name.c_str());

  // The kernel that waits for the host ends when the host says so.
  queue = make_queue(gpu);
  submit(queue, &packet);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  __atomic_store_n(&words[0], 1u, __ATOMIC_RELEASE);
  check(wait_until(signal, 0) && words[1] == 1, "%s: a kernel sees a store of the host",
        gpu.name.c_str());
  HSA(hsa_queue_destroy(queue));
  HSA(hsa_signal_destroy(signal));
}

}  // namespace

int main() {
  const Machine machine = start();
  for (const Agent& gpu : machine.gpus) {
    const Kernels kernels(gpu);
    come_and_go(gpu, 1000);
    side_by_side(machine, gpu, kernels);
    many_producers(machine, gpu, kernels);
    barrier_chain(machine, gpu, kernels);
    ends(machine, gpu, kernels);
  }
  HSA(hsa_shut_down());
  return finish();
}
