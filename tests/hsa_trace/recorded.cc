// What a program may rely on of its queues and signals, with the recorder in between or without:
// the checks are the same. Ends with the number of kernels it submitted, which the trace must have,
// each with its times.
#include <thread>

#include "../hsa/hsa_test.h"

using namespace hsa_test;

namespace {

std::atomic<uint64_t> g_kernels{0};

struct Setup {
  const Machine& machine;
  const Agent& gpu;
  const Kernels& kernels;
  std::atomic<uint32_t>* counter;  // seen by host and GPU
  void* counter_argument;

  // 64 work-items that each add one to the counter.
  hsa_kernel_dispatch_packet_t count(hsa_signal_t signal = {}) const {
    ++g_kernels;
    return kernels.packet("add_one", 64, counter_argument, signal);
  }
};

hsa_barrier_and_packet_t barrier(hsa_signal_t completion,
                                 std::initializer_list<hsa_signal_t> dependencies = {}) {
  hsa_barrier_and_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  size_t i = 0;
  for (const hsa_signal_t dependency : dependencies) packet.dep_signal[i++] = dependency;
  packet.completion_signal = completion;
  return packet;
}

uint64_t now() {
  uint64_t time = 0;
  HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time));
  return time;
}

// Waits for everything on the queue.
bool drain(hsa_queue_t* queue) {
  const hsa_signal_t done = make_signal(1);
  const auto packet = barrier(done);
  submit(queue, &packet);
  const bool ended = wait_until(done, 0);
  HSA(hsa_signal_destroy(done));
  return ended;
}

void event_times(const Setup& setup) {
  hsa_queue_t* queue = make_queue(setup.gpu);
  HSA(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  bool inside = true;
  uint64_t last_end = 0;
  for (int i = 0; i < 20; ++i) {
    const hsa_signal_t signal = make_signal(1);
    const uint64_t before = now();
    const auto packet = setup.count(signal);
    submit(queue, &packet);
    inside = inside && wait_until(signal, 0);
    const uint64_t after = now();
    hsa_amd_profiling_dispatch_time_t time{};
    HSA(hsa_amd_profiling_get_dispatch_time(setup.gpu.agent, signal, &time));
    // The clocks of host and GPU are compared to within a few microseconds.
    constexpr uint64_t kSlack = 100'000;
    inside = inside && time.start + kSlack >= before && time.end <= after + kSlack &&
             time.start <= time.end && time.start + kSlack >= last_end;
    last_end = time.end;
    HSA(hsa_signal_destroy(signal));
  }
  check(inside, "the program's signals carry the times of its kernels");
  HSA(hsa_amd_profiling_set_profiler_enabled(queue, 0));
  const auto packet = setup.count();
  submit(queue, &packet);
  check(drain(queue), "kernels run with profiling off");
  HSA(hsa_queue_destroy(queue));
}

void null_signals(const Setup& setup) {
  hsa_queue_t* queue = make_queue(setup.gpu);
  setup.counter->store(0);
  constexpr uint32_t kCount = 300;  // more than the queue holds
  for (uint32_t i = 0; i < kCount; ++i) {
    const auto packet = setup.count();
    submit(queue, &packet);
  }
  const bool ended = drain(queue);
  check(ended && setup.counter->load() == kCount * 64,
        "kernels without signals end before the barrier behind them");
  check(hsa_queue_load_read_index_scacquire(queue) == kCount + 1 &&
            hsa_queue_load_write_index_scacquire(queue) == kCount + 1,
        "the queue's indices count the program's packets");
  HSA(hsa_queue_destroy(queue));
}

void write_packet(hsa_queue_t* queue, uint64_t index, const void* packet) {
  char* slot = static_cast<char*>(queue->base_address) + index % queue->size * 64;
  std::memcpy(slot + 4, static_cast<const char*>(packet) + 4, 60);
  uint32_t head = 0;
  std::memcpy(&head, packet, 4);
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), head, __ATOMIC_RELEASE);
}

void many_at_once(const Setup& setup) {
  hsa_queue_t* queue = make_queue(setup.gpu);
  setup.counter->store(0);
  const hsa_signal_t done = make_signal(1);
  const uint64_t first = hsa_queue_add_write_index_relaxed(queue, 8);
  const auto last = barrier(done);
  write_packet(queue, first + 7, &last);
  for (uint64_t i = 7; i-- > 0;) {  // the first becomes valid last
    const auto packet = setup.count();
    write_packet(queue, first + i, &packet);
  }
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(first + 7));
  check(wait_until(done, 0) && setup.counter->load() == 7 * 64,
        "eight packets behind one doorbell");

  // One producer that moves the index itself.
  hsa_signal_store_relaxed(done, 1);
  const uint64_t next = hsa_queue_load_write_index_relaxed(queue);
  const auto packet = setup.count(done);
  write_packet(queue, next, &packet);
  hsa_queue_store_write_index_screlease(queue, next + 1);
  hsa_signal_store_relaxed(queue->doorbell_signal, static_cast<hsa_signal_value_t>(next));
  check(wait_until(done, 0), "a packet whose index was stored");
  HSA(hsa_signal_destroy(done));
  HSA(hsa_queue_destroy(queue));
}

void full_queue(const Setup& setup) {
  hsa_queue_t* queue = make_queue(setup.gpu, 64);
  setup.counter->store(0);
  const hsa_signal_t gate = make_signal(1);
  const auto closed = barrier({}, {gate});
  submit(queue, &closed);
  for (uint32_t i = 1; i < queue->size; ++i) {
    const auto packet = setup.count();
    submit(queue, &packet);
  }
  const uint64_t read = hsa_queue_load_read_index_scacquire(queue);
  const bool waits = read <= 1 && setup.counter->load() == 0;
  hsa_signal_store_screlease(gate, 0);
  bool ended = drain(queue);
  check(waits && ended && setup.counter->load() == (queue->size - 1) * 64,
        "a full queue behind a closed barrier");
  for (int i = 0; i < 1000; ++i) {
    const auto packet = setup.count();
    submit(queue, &packet);
  }
  ended = drain(queue);
  check(ended && setup.counter->load() == (queue->size - 1 + 1000) * 64,
        "the ring goes round many times");
  HSA(hsa_signal_destroy(gate));
  HSA(hsa_queue_destroy(queue));
}

void signal_reuse(const Setup& setup) {
  hsa_queue_t* queue = make_queue(setup.gpu);
  setup.counter->store(0);
  constexpr uint32_t kCount = 300;
  const hsa_signal_t again = make_signal(1);
  bool right = true;
  for (uint32_t i = 0; i < kCount; ++i) {
    hsa_signal_store_relaxed(again, 1);
    const auto packet = setup.count(again);
    submit(queue, &packet);
    right = right && wait_until(again, 0) && setup.counter->load() == (i + 1) * 64;
  }
  check(right, "one signal for %u kernels in turn", kCount);
  HSA(hsa_signal_destroy(again));
  for (uint32_t i = 0; i < kCount; ++i) {
    const hsa_signal_t fresh = make_signal(1);
    const auto packet = setup.count(fresh);
    submit(queue, &packet);
    right = right && wait_until(fresh, 0);
    HSA(hsa_signal_destroy(fresh));
  }
  check(right && setup.counter->load() == 2 * kCount * 64,
        "signals destroyed as soon as they are waited for");
  HSA(hsa_queue_destroy(queue));
}

void shared_signal(const Setup& setup) {
  hsa_queue_t* queues[2] = {make_queue(setup.gpu), make_queue(setup.gpu)};
  setup.counter->store(0);
  constexpr uint32_t kCount = 40;
  const hsa_signal_t all = make_signal(kCount);
  const uint64_t before = now();
  for (uint32_t i = 0; i < kCount; ++i) {
    const auto packet = setup.count(all);
    submit(queues[i % 2], &packet);
  }
  const bool ended = wait_until(all, 0);
  check(ended && setup.counter->load() == kCount * 64,
        "a signal that %u kernels on two queues count down", kCount);
  hsa_amd_profiling_dispatch_time_t time{};
  HSA(hsa_amd_profiling_get_dispatch_time(setup.gpu.agent, all, &time));
  check(time.start + 100'000 >= before && time.start <= time.end,
        "and it carries the times of one of them");
  HSA(hsa_signal_destroy(all));
  for (hsa_queue_t* queue : queues) HSA(hsa_queue_destroy(queue));
}

void across_queues(const Setup& setup) {
  hsa_queue_t* first = make_queue(setup.gpu);
  hsa_queue_t* second = make_queue(setup.gpu);
  bool right = true;
  setup.counter->store(0);
  for (uint32_t i = 0; i < 50; ++i) {
    const hsa_signal_t produced = make_signal(1);
    const hsa_signal_t consumed = make_signal(1);
    const auto wait = barrier({}, {produced});
    submit(second, &wait);
    const auto consumer = setup.count(consumed);
    submit(second, &consumer);
    const auto producer = setup.count(produced);
    submit(first, &producer);
    right = right && wait_until(consumed, 0) && hsa_signal_load_scacquire(produced) == 0;
    HSA(hsa_signal_destroy(produced));
    HSA(hsa_signal_destroy(consumed));
  }
  check(right && setup.counter->load() == 100 * 64, "a queue waits for a kernel of another");
  HSA(hsa_queue_destroy(first));
  HSA(hsa_queue_destroy(second));
}

void threads(const Setup& setup) {
  hsa_queue_t* queue = make_queue(setup.gpu, 64);
  setup.counter->store(0);
  constexpr uint32_t kThreads = 8;
  constexpr uint32_t kEach = 100;
  const hsa_signal_t some = make_signal(kThreads);
  std::vector<std::thread> running;
  for (uint32_t t = 0; t < kThreads; ++t) {
    running.emplace_back([&] {
      for (uint32_t i = 0; i < kEach; ++i) {
        const auto packet = setup.count(i + 1 == kEach ? some : hsa_signal_t{});
        submit(queue, &packet);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  const bool ended = wait_until(some, 0) && drain(queue);
  check(ended && setup.counter->load() == kThreads * kEach * 64, "eight threads on one queue");
  HSA(hsa_signal_destroy(some));
  HSA(hsa_queue_destroy(queue));
}

void queue_properties(const Setup& setup) {
  hsa_queue_t* queue = make_queue(setup.gpu, 128);
  check(queue->size == 128, "a queue has the size that was asked for");
  uint32_t mask[4] = {0x3, 0, 0, 0};
  const hsa_status_t set = hsa_amd_queue_cu_set_mask(queue, 128, mask);
  check(set == HSA_STATUS_SUCCESS || set == static_cast<hsa_status_t>(HSA_STATUS_CU_MASK_REDUCED),
        "mask of units");
  uint32_t read[4] = {};
  check(hsa_amd_queue_cu_get_mask(queue, 128, read) == HSA_STATUS_SUCCESS && read[0] == 0x3,
        "mask is what was set");
  check(hsa_amd_queue_set_priority(queue, HSA_AMD_QUEUE_PRIORITY_HIGH) == HSA_STATUS_SUCCESS,
        "priority");
  const auto packet = setup.count();
  submit(queue, &packet);
  check(drain(queue), "a masked queue of high priority works");
  check(hsa_queue_inactivate(queue) == HSA_STATUS_SUCCESS, "inactivate");
  HSA(hsa_queue_destroy(queue));

  bool cooperative = false;
  hsa_agent_get_info(setup.gpu.agent,
                     static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES),
                     &cooperative);
  if (!cooperative) return;
  // All cooperative queues are one to the runtime.
  hsa_queue_t* both[2] = {};
  for (hsa_queue_t*& one : both) {
    HSA(hsa_queue_create(setup.gpu.agent, 64, HSA_QUEUE_TYPE_COOPERATIVE, nullptr, nullptr,
                         UINT32_MAX, UINT32_MAX, &one));
  }
  setup.counter->store(0);
  for (int i = 0; i < 300; ++i) {
    const auto grid = setup.count();
    submit(both[i % 2], &grid);
  }
  const bool ended = drain(both[0]) && drain(both[1]);
  check(ended && setup.counter->load() == 300 * 64, "two cooperative queues work");
  for (hsa_queue_t* one : both) HSA(hsa_queue_destroy(one));
}

}  // namespace

int main() {
  const Machine machine = start();
  const Agent& gpu = machine.gpus[0];
  {
    const Kernels kernels(gpu);
    auto* counter = machine.allocate_host<std::atomic<uint32_t>>(1);
    const Setup setup{machine, gpu, kernels, counter, make_kernarg(machine, counter)};
    event_times(setup);
    null_signals(setup);
    many_at_once(setup);
    full_queue(setup);
    signal_reuse(setup);
    shared_signal(setup);
    across_queues(setup);
    threads(setup);
    queue_properties(setup);
  }
  std::printf("kernels %lu\n", static_cast<unsigned long>(g_kernels.load()));
  HSA(hsa_shut_down());
  return finish();
}
