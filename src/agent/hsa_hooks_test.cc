// The HSA hooks over a runtime the tests hold in their hands: packet in, packet out, and what the
// trace says.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/hsa_load.h"
#include "agent/hsa_queue.h"
#include "agent/hsa_times.h"
#include "agent/recording.h"
#include "agent/test_fake_hsa.h"
#include "format/reader.h"

namespace wavetap::agent {
namespace {

namespace fs = std::filesystem;
using amd::PacketType;
using Packet = FakeHsa::Packet;

constexpr uint16_t header_of(PacketType type) { return static_cast<uint16_t>(type); }

struct Trace {
  std::vector<format::DispatchRecord> dispatches;
  std::vector<uint8_t> dispatch_flags;
  std::map<uint64_t, format::CompleteRecord> completions;
  std::vector<format::QueueFact> queues;
  std::vector<format::FaultFact> faults;
  std::vector<format::AllocateRecord> allocations;
  std::vector<format::FreeRecord> frees;
  std::vector<format::CopyRecord> copies;
  std::map<uint16_t, std::string> functions;
  std::vector<format::CallRecord> calls;
  uint64_t losses = 0;
};

class HsaHooksTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::path(testing::TempDir()) / "hsa-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("WAVETAP_SESSION", folder_.c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    unsetenv("WAVETAP_OPTIONS");
    record::forget_session();
  }
  void TearDown() override {
    on_hsa_unload();
    record::finish_process();
    record::forget_session();
    unsetenv("WAVETAP_OPTIONS");
    std::error_code error;
    for (int i = 0; i < 1000 && fs::exists(folder_); ++i) {
      fs::remove_all(folder_, error);
      std::this_thread::yield();
    }
  }

  void load() {
    on_hsa_load(&fake_.tables);
    program_.open(fake_.tables);
  }
  // The functions as the program calls them.
  const Hsa& program() const { return program_.next(); }

  HsaQueue* make_queue(uint32_t size = 64) {
    HsaQueue* queue = nullptr;
    EXPECT_EQ(program().hsa_queue_create(FakeHsa::kGpu, size, 0, nullptr, nullptr, 0, 0, &queue),
              kHsaSuccess);
    return queue;
  }
  FakeHsa::RealQueue& gpu(size_t i = 0) { return *fake_.queues.at(i); }

  uint64_t make_signal(int64_t value = 1) {
    uint64_t signal = 0;
    EXPECT_EQ(program().hsa_signal_create(value, 0, nullptr, &signal), kHsaSuccess);
    return signal;
  }

  static Packet kernel(uint64_t object, uint64_t signal = 0) {
    Packet packet{};
    packet.header = header_of(PacketType::kKernelDispatch) | 1 << 8 | 2 << 9 | 2 << 11;
    packet.setup = 1;
    packet.workgroup_size[0] = 64;
    packet.grid_size[0] = 256;
    packet.kernel_object = object;
    packet.completion_signal = signal;
    return packet;
  }

  void write(HsaQueue* queue, uint64_t index, const Packet& packet) {
    char* to = static_cast<char*>(queue->base_address) + index % queue->size * sizeof packet;
    std::memcpy(to + 4, reinterpret_cast<const char*>(&packet) + 4, sizeof packet - 4);
    uint32_t head;
    std::memcpy(&head, &packet, sizeof head);
    __atomic_store_n(reinterpret_cast<uint32_t*>(to), head, __ATOMIC_RELEASE);
  }

  uint64_t submit(HsaQueue* queue, const Packet& packet) {
    const uint64_t index = program().hsa_queue_add_write_index_relaxed(queue, 1);
    write(queue, index, packet);
    program().hsa_signal_store_screlease(queue->doorbell_signal, static_cast<int64_t>(index));
    return index;
  }

  Trace read_back() {
    Trace trace;
    {
      const Inside inside;
      g_harvest();
    }
    record::write_pending_facts();
    Result<format::SessionReader> session = format::SessionReader::open(folder_.string());
    EXPECT_TRUE(session.ok());
    for (const format::ProcessStreams& process : session->processes()) {
      for (format::StreamReader* const stream : process.streams) {
        format::Record record;
        while (stream->next(record)) add(trace, record);
      }
    }
    return trace;
  }

  static void add(Trace& trace, const format::Record& record) {
    using format::Kind;
    switch (record.header.kind) {
      case Kind::kDispatch:
        trace.dispatches.push_back(*record.as<format::DispatchRecord>());
        trace.dispatch_flags.push_back(record.header.flags);
        break;
      case Kind::kComplete: {
        const auto* complete = record.as<format::CompleteRecord>();
        EXPECT_TRUE(trace.completions.emplace(complete->id, *complete).second) << "completed twice";
        break;
      }
      case Kind::kQueue: trace.queues.push_back(*record.as<format::QueueFact>()); break;
      case Kind::kFault: trace.faults.push_back(*record.as<format::FaultFact>()); break;
      case Kind::kAllocate:
        trace.allocations.push_back(*record.as<format::AllocateRecord>());
        break;
      case Kind::kCopy: trace.copies.push_back(*record.as<format::CopyRecord>()); break;
      case Kind::kFree: trace.frees.push_back(*record.as<format::FreeRecord>()); break;
      case Kind::kFunction:
        trace.functions[static_cast<uint16_t>(record.as<format::FunctionFact>()->number)] =
            format::TextCursor(record.after<format::FunctionFact>()).next();
        break;
      case Kind::kLoss: trace.losses += record.as<format::LossFact>()->count; break;
      case Kind::kCall: trace.calls.push_back(*record.as<format::CallRecord>()); break;
      default: break;
    }
  }

  fs::path folder_;
  FakeHsa fake_;
  HsaTable program_{};
};

TEST_F(HsaHooksTest, AKernelWithoutSignalGetsOneAndNothingElseChanges) {
  load();
  HsaQueue* queue = make_queue();
  const Packet in = kernel(0x1234);
  submit(queue, in);
  ASSERT_EQ(gpu().take(9), 1u);
  Packet out = gpu().taken[0];
  EXPECT_NE(out.completion_signal, 0u);
  fake_.complete(out);
  out.completion_signal = 0;
  EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0);

  const Trace trace = read_back();
  ASSERT_EQ(trace.dispatches.size(), 1u);
  EXPECT_EQ(trace.dispatches[0].kernel_object, 0x1234u);
  EXPECT_EQ(trace.dispatches[0].grid[0], 256u);
  EXPECT_EQ(trace.dispatches[0].packet_header, in.header);
  ASSERT_EQ(trace.completions.count(trace.dispatches[0].id), 1u);
  const format::CompleteRecord& done = trace.completions.at(trace.dispatches[0].id);
  EXPECT_EQ(done.end_ns - done.start_ns, 10);
}

TEST_F(HsaHooksTest, OtherPacketsPassUntouched) {
  load();
  HsaQueue* queue = make_queue();
  const uint64_t signal = make_signal();
  for (const PacketType type : {PacketType::kBarrierAnd, PacketType::kBarrierOr,
                                PacketType::kVendorSpecific, PacketType::kAgentDispatch}) {
    Packet in{};
    std::memset(&in, 0x5a, sizeof in);
    in.header = header_of(type);
    in.completion_signal = signal;
    submit(queue, in);
    ASSERT_EQ(gpu().take(1), 1u);
    EXPECT_EQ(std::memcmp(&in, &gpu().taken.back(), sizeof in), 0);
  }
  EXPECT_TRUE(read_back().dispatches.empty());
}

TEST_F(HsaHooksTest, TheProgramsSignalStaysAndKeepsItsTimes) {
  load();
  HsaQueue* queue = make_queue();
  const uint64_t signal = make_signal();
  submit(queue, kernel(1, signal));
  gpu().take(1);
  EXPECT_EQ(gpu().taken[0].completion_signal, signal);
  FakeHsa::complete(signal, 500, 600);
  EXPECT_EQ(fake_.signals.at(signal)->start_ts, 500u);
  EXPECT_EQ(fake_.signals.at(signal)->end_ts, 600u);

  // Submitted again before anyone looked: the first times are collected before the GPU may
  // overwrite them.
  fake_.set(signal, 1);
  submit(queue, kernel(2, signal));
  gpu().take(1);
  FakeHsa::complete(signal, 700, 800);
  // Destroyed right after the wait.
  EXPECT_EQ(program().hsa_signal_destroy(signal), kHsaSuccess);

  const Trace trace = read_back();
  ASSERT_EQ(trace.completions.size(), 2u);
  EXPECT_EQ(trace.completions.at(trace.dispatches[0].id).start_ns, 5000);
  EXPECT_EQ(trace.completions.at(trace.dispatches[0].id).end_ns, 6000);
  EXPECT_EQ(trace.completions.at(trace.dispatches[1].id).start_ns, 7000);
}

TEST_F(HsaHooksTest, ABarrierOnTheSameSignalDoesNotSpoilTheKernelsTimes) {
  load();
  HsaQueue* queue = make_queue();
  const uint64_t signal = make_signal();
  submit(queue, kernel(1, signal));
  gpu().take(1);
  FakeHsa::complete(signal, 500, 600);
  fake_.set(signal, 1);
  Packet barrier{};
  barrier.header = header_of(PacketType::kBarrierAnd);
  barrier.completion_signal = signal;
  submit(queue, barrier);
  gpu().take(1);
  FakeHsa::complete(signal, 900, 901);
  const Trace trace = read_back();
  EXPECT_EQ(trace.completions.at(trace.dispatches[0].id).end_ns, 6000);
}

TEST_F(HsaHooksTest, ASignalManyKernelsCountDownIsCompletedOncePerKernelInOrder) {
  load();
  HsaQueue* queue = make_queue();
  const uint64_t signal = make_signal(3);
  for (uint64_t i = 1; i <= 3; ++i) submit(queue, kernel(i, signal));
  while (gpu().take(1) == 1) fake_.complete(gpu().taken.back());
  EXPECT_EQ(fake_.signals.at(signal)->value, 0);
  ASSERT_EQ(gpu().taken.size(), 6u);
  for (size_t i = 0; i < 6; i += 2) {
    EXPECT_EQ(gpu().taken[i].kernel_object, i / 2 + 1);
    EXPECT_NE(gpu().taken[i].completion_signal, signal);
    EXPECT_EQ(gpu().taken[i + 1].header & 0xff, header_of(PacketType::kBarrierAnd));
    EXPECT_EQ(gpu().taken[i + 1].completion_signal, signal);
  }
  EXPECT_EQ(program().hsa_queue_load_read_index_scacquire(queue), 3u);

  const Trace trace = read_back();
  ASSERT_EQ(trace.completions.size(), 3u);
  // What the program is told are the last kernel's times, not the barrier's.
  HsaTimes times{};
  EXPECT_EQ(program().hsa_amd_profiling_get_dispatch_time(FakeHsa::kGpu, signal, &times),
            kHsaSuccess);
  EXPECT_EQ(static_cast<int64_t>(times.start),
            trace.completions.at(trace.dispatches[2].id).start_ns);
  EXPECT_EQ(static_cast<int64_t>(times.end), trace.completions.at(trace.dispatches[2].id).end_ns);
}

TEST_F(HsaHooksTest, AnInsertedPacketIsNotCountedAsTheProgramsUntilBothAreRead) {
  load();
  HsaQueue* queue = make_queue();
  submit(queue, kernel(1, make_signal(2)));
  EXPECT_EQ(program().hsa_queue_load_read_index_relaxed(queue), 0u);
  gpu().take(1);
  EXPECT_EQ(program().hsa_queue_load_read_index_relaxed(queue), 0u);
  gpu().take(1);
  EXPECT_EQ(program().hsa_queue_load_read_index_relaxed(queue), 1u);
}

TEST_F(HsaHooksTest, AFullQueueWrapsWithoutLosingOrReorderingAnything) {
  load();
  constexpr uint64_t kPackets = 5000;
  HsaQueue* queue = make_queue(16);
  const uint64_t shared = make_signal(1 << 20);
  std::mt19937 random(7);
  uint64_t written = 0;
  while (gpu().read.load() == 0 || program().hsa_queue_load_read_index_relaxed(queue) < kPackets) {
    // As much as fits, several packets per doorbell.
    const uint64_t read = program().hsa_queue_load_read_index_scacquire(queue);
    ASSERT_LE(read, written);
    uint64_t free = 16 - (written - read);
    uint64_t count = std::min<uint64_t>(random() % (free + 1), kPackets - written);
    if (count != 0) {
      const uint64_t first = program().hsa_queue_add_write_index_screlease(queue, count);
      ASSERT_EQ(first, written);
      for (uint64_t i = 0; i < count; ++i) {
        write(queue, first + i, kernel(first + i + 1, random() % 3 == 0 ? shared : 0));
      }
      written += count;
      program().hsa_signal_store_relaxed(queue->doorbell_signal, static_cast<int64_t>(written - 1));
    }
    const size_t before = gpu().taken.size();
    gpu().take(random() % 20);
    for (size_t i = before; i < gpu().taken.size(); ++i) fake_.complete(gpu().taken[i]);
    if (random() % 50 == 0) g_harvest();
  }
  uint64_t expected = 1;
  for (const Packet& packet : gpu().taken) {
    if ((packet.header & 0xff) == header_of(PacketType::kKernelDispatch)) {
      ASSERT_EQ(packet.kernel_object, expected++);
    }
  }
  EXPECT_EQ(expected, kPackets + 1);
  const Trace trace = read_back();
  EXPECT_EQ(trace.dispatches.size(), kPackets);
  EXPECT_EQ(trace.completions.size(), kPackets);
  EXPECT_EQ(trace.losses, 0u);
}

TEST_F(HsaHooksTest, EightThreadsOnOneQueue) {
  load();
  constexpr uint64_t kThreads = 8;
  constexpr uint64_t kEach = 4000;
  HsaQueue* queue = make_queue(64);
  std::atomic<bool> done{false};
  std::thread processor([&] {
    while (!done.load() || program().hsa_queue_load_read_index_relaxed(queue) < kThreads * kEach) {
      const size_t before = gpu().taken.size();
      if (gpu().take(8) == 0) std::this_thread::yield();
      for (size_t i = before; i < gpu().taken.size(); ++i) fake_.complete(gpu().taken[i]);
    }
  });
  std::vector<std::thread> threads;
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> made(kThreads);  // index, object
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        OpenCall call;
        ASSERT_TRUE(enter_call(call, 5));
        const uint64_t index = program().hsa_queue_add_write_index_scacq_screl(queue, 1);
        while (index - program().hsa_queue_load_read_index_scacquire(queue) >= 64)
          std::this_thread::yield();
        const uint64_t object = static_cast<uint64_t>(stream()->number()) << 32 | call.call;
        write(queue, index, kernel(object));
        program().hsa_signal_store_screlease(queue->doorbell_signal, static_cast<int64_t>(index));
        made[t].emplace_back(index, object);
        leave_call(call, 5, 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done.store(true);
  processor.join();

  ASSERT_EQ(gpu().taken.size(), kThreads * kEach);
  for (const auto& thread : made) {
    for (const auto& [index, object] : thread) ASSERT_EQ(gpu().taken[index].kernel_object, object);
  }
  const Trace trace = read_back();
  ASSERT_EQ(trace.dispatches.size(), kThreads * kEach);
  EXPECT_EQ(trace.completions.size(), kThreads * kEach);
  EXPECT_EQ(trace.losses, 0u);
  // Whoever's doorbell moved it, a dispatch belongs to the call that reserved its packet.
  for (const format::DispatchRecord& dispatch : trace.dispatches) {
    ASSERT_EQ(static_cast<uint64_t>(dispatch.owner.stream) << 32 | dispatch.owner.call,
              dispatch.kernel_object);
  }
}

TEST_F(HsaHooksTest, APacketThatBecomesValidAfterItsDoorbellIsNotForgotten) {
  load();
  HsaQueue* queue = make_queue();
  const uint64_t index = program().hsa_queue_add_write_index_relaxed(queue, 2);
  write(queue, index, kernel(1));
  program().hsa_signal_store_screlease(queue->doorbell_signal, static_cast<int64_t>(index + 1));
  EXPECT_EQ(gpu().take(9), 1u);
  write(queue, index + 1, kernel(2));
  Queue::harvest_all(true);
  gpu().take(9);
  ASSERT_EQ(gpu().taken.size(), 2u);
  EXPECT_EQ(gpu().taken[1].kernel_object, 2u);
}

TEST_F(HsaHooksTest, WriteIndexIsReservedByStoreAndCasToo) {
  load();
  HsaQueue* queue = make_queue();
  OpenCall call;
  ASSERT_TRUE(enter_call(call, 5));
  program().hsa_queue_store_write_index_screlease(queue, 1);
  write(queue, 0, kernel(1));
  program().hsa_signal_store_relaxed(queue->doorbell_signal, 0);
  leave_call(call, 5, 0);
  OpenCall second;
  ASSERT_TRUE(enter_call(second, 5));
  EXPECT_EQ(program().hsa_queue_cas_write_index_relaxed(queue, 0, 7), 1u);
  EXPECT_EQ(program().hsa_queue_cas_write_index_scacquire(queue, 1, 2), 1u);
  EXPECT_EQ(program().hsa_queue_load_write_index_scacquire(queue), 2u);
  write(queue, 1, kernel(2));
  program().hsa_signal_store_relaxed(queue->doorbell_signal, 1);
  leave_call(second, 5, 0);
  const Trace trace = read_back();
  ASSERT_EQ(trace.dispatches.size(), 2u);
  EXPECT_EQ(trace.dispatches[0].owner.call, call.call);
  EXPECT_EQ(trace.dispatches[1].owner.call, second.call);
}

TEST_F(HsaHooksTest, DispatchesOfOneCallAreNumbered) {
  load();
  HsaQueue* queue = make_queue();
  OpenCall call;
  ASSERT_TRUE(enter_call(call, 5));
  for (uint64_t i = 0; i < 3; ++i) submit(queue, kernel(i));
  leave_call(call, 5, 0);
  const Trace trace = read_back();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(trace.dispatches.at(i).ordinal, i);
}

TEST_F(HsaHooksTest, QueueFunctionsReachTheRealQueue) {
  load();
  HsaQueue* queue = make_queue(128);
  EXPECT_EQ(queue->size, 128u);
  EXPECT_EQ(gpu().handle()->size, 256u);
  EXPECT_EQ(program().hsa_amd_queue_set_priority(queue, 2), kHsaSuccess);
  EXPECT_TRUE(gpu().profiling);
  EXPECT_EQ(program().hsa_amd_profiling_set_profiler_enabled(queue, 0), kHsaSuccess);
  EXPECT_TRUE(gpu().profiling);
  EXPECT_EQ(program().hsa_queue_destroy(queue), kHsaSuccess);
  const Trace trace = read_back();
  EXPECT_EQ(trace.queues.size(), 2u);
  // The place is used again.
  EXPECT_EQ(make_queue(128), queue);
}

TEST_F(HsaHooksTest, TheLargestQueueIsMadeWithoutRoomForOurPackets) {
  load();
  HsaQueue* queue = make_queue(1 << 17);
  EXPECT_EQ(gpu().handle()->size, 1u << 17);
  const uint64_t signal = make_signal(2);
  submit(queue, kernel(1, signal));
  ASSERT_EQ(gpu().take(9), 1u);
  EXPECT_EQ(gpu().taken[0].completion_signal, signal);
  const Trace trace = read_back();
  EXPECT_NE(trace.dispatch_flags.at(0) & format::kDispatchUntimed, 0);
  EXPECT_EQ(trace.losses, 1u);
}

TEST_F(HsaHooksTest, SignalsTheProgramDidNotCreateHereAreNotTouched) {
  load();
  HsaQueue* queue = make_queue();
  submit(queue, kernel(1, 0xdead0000));
  ASSERT_EQ(gpu().take(9), 1u);
  EXPECT_EQ(gpu().taken[0].completion_signal, 0xdead0000u);
  const Trace trace = read_back();
  EXPECT_NE(trace.dispatch_flags.at(0) & format::kDispatchUntimed, 0);
  EXPECT_EQ(trace.losses, 1u);
}

TEST_F(HsaHooksTest, QueueErrorsAreFactsAndReachTheProgramWithItsOwnQueue) {
  load();
  struct Seen {
    HsaStatus status = 0;
    HsaQueue* queue = nullptr;
  } seen;
  const auto callback = +[](HsaStatus status, HsaQueue* queue, void* data) {
    *static_cast<Seen*>(data) = {status, queue};
  };
  HsaQueue* queue = nullptr;
  program().hsa_queue_create(FakeHsa::kGpu, 64, 0, reinterpret_cast<void*>(callback), &seen, 0, 0,
                             &queue);
  gpu().callback(0x1009, gpu().handle(), gpu().callback_data);
  EXPECT_EQ(seen.status, 0x1009u);
  EXPECT_EQ(seen.queue, queue);
  const Trace trace = read_back();
  ASSERT_EQ(trace.faults.size(), 1u);
  EXPECT_EQ(trace.faults[0].reason, 0x1009u);
  // Without a callback the runtime's own handler acts.
  make_queue();
  EXPECT_EQ(gpu(1).callback, nullptr);
}

TEST_F(HsaHooksTest, StoppedQueuesCarryPacketsAndRecordNothing) {
  setenv("WAVETAP_OPTIONS", "paused", 1);
  load();
  HsaQueue* queue = make_queue();
  const Packet in = kernel(1);
  submit(queue, in);
  ASSERT_EQ(gpu().take(9), 1u);
  EXPECT_EQ(std::memcmp(&in, &gpu().taken[0], sizeof in), 0);
  EXPECT_TRUE(read_back().dispatches.empty());
}

TEST_F(HsaHooksTest, StatusNamesTheKernelsInFlight) {
  load();
  HsaQueue* queue = make_queue();
  submit(queue, kernel(1));
  submit(queue, kernel(2, make_signal()));
  submit(queue, kernel(3));
  gpu().take(1);
  fake_.complete(gpu().taken[0]);
  char text[4096];
  const std::string lines(text, Queue::write_status(text, sizeof text));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  // The seconds it has been there are as the machine is.
  const std::string start = "kernel " + std::to_string(Queue::from(queue)->number()) + " ? ";
  ASSERT_EQ(lines.rfind(start, 0), 0u) << lines;
  EXPECT_NE(std::isdigit(lines.at(start.size())), 0) << lines;
  // What does not fit is left out, line by line.
  const size_t some_of_two = lines.find('\n') + lines.size() / 4;
  const std::string_view shorter(text, Queue::write_status(text, some_of_two));
  EXPECT_EQ(std::count(shorter.begin(), shorter.end(), '\n'), 1) << shorter;
  EXPECT_TRUE(shorter.ends_with('\n')) << shorter;
}

TEST_F(HsaHooksTest, AllocationsAndFrees) {
  load();
  void* memory = nullptr;
  ASSERT_EQ(program().hsa_amd_memory_pool_allocate(FakeHsa::kVramPool, 4096, 0, &memory),
            kHsaSuccess);
  ASSERT_EQ(program().hsa_amd_memory_pool_free(memory), kHsaSuccess);
  const Trace trace = read_back();
  ASSERT_EQ(trace.allocations.size(), 1u);
  EXPECT_EQ(trace.allocations[0].bytes, 4096u);
  EXPECT_EQ(trace.allocations[0].agent, 1u);
  ASSERT_EQ(trace.frees.size(), 1u);
  EXPECT_EQ(trace.frees[0].address, reinterpret_cast<uint64_t>(memory));
}

class HsaCopiesTest : public HsaHooksTest {
 protected:
  HsaStatus copy(uint64_t signal, size_t bytes) {
    return program().hsa_amd_memory_async_copy(&to_, FakeHsa::kGpu, &from_, FakeHsa::kCpu, bytes, 0,
                                               nullptr, signal);
  }
  char to_ = 0;
  char from_ = 0;
};

TEST_F(HsaCopiesTest, ACopyHasThePlacesBytesAndTimes) {
  load();
  const uint64_t signal = make_signal();
  ASSERT_EQ(copy(signal, 100), kHsaSuccess);
  EXPECT_TRUE(read_back().completions.empty());
  const auto now = static_cast<uint64_t>(boottime_ns());
  fake_.complete_copy(signal, now + 10, now + 30);
  const Trace trace = read_back();
  ASSERT_EQ(trace.copies.size(), 1u);
  EXPECT_EQ(trace.copies[0].bytes, 100u);
  EXPECT_EQ(trace.copies[0].destination, reinterpret_cast<uint64_t>(&to_));
  EXPECT_EQ(trace.copies[0].destination_agent, 1u);
  EXPECT_EQ(trace.copies[0].source_agent, 0u);
  ASSERT_EQ(trace.completions.count(trace.copies[0].id), 1u);
  EXPECT_EQ(trace.completions.at(trace.copies[0].id).start_ns, static_cast<int64_t>(now + 10));
  EXPECT_EQ(trace.completions.at(trace.copies[0].id).end_ns, static_cast<int64_t>(now + 30));
}

TEST_F(HsaCopiesTest, ASignalUsedAgainGivesEachCopyItsTimes) {
  load();
  const uint64_t signal = make_signal();
  for (uint64_t i = 1; i <= 3; ++i) {
    fake_.set(signal, 1);  // set anew, as HIP does, before anyone has looked
    copy(signal, i);
    const auto now = static_cast<uint64_t>(boottime_ns());
    fake_.complete_copy(signal, now, now + i);
  }
  program().hsa_signal_destroy(signal);
  const Trace trace = read_back();
  ASSERT_EQ(trace.copies.size(), 3u);
  for (const format::CopyRecord& record : trace.copies) {
    const format::CompleteRecord& done = trace.completions.at(record.id);
    EXPECT_EQ(done.end_ns - done.start_ns, static_cast<int64_t>(record.bytes));
  }
}

TEST_F(HsaCopiesTest, RowsThatShareASignalAreOneCopy) {
  load();
  const uint64_t signal = make_signal(4);
  OpenCall call;
  ASSERT_TRUE(enter_call(call, 5));
  const int64_t before = boottime_ns();
  for (int row = 0; row < 4; ++row) copy(signal, 100);
  leave_call(call, 5, 0);
  const auto now = static_cast<uint64_t>(boottime_ns());
  for (uint64_t row = 0; row < 4; ++row)
    fake_.complete_copy(signal, now + row * 10, now + row * 10 + 5);
  // The next rectangle, smaller, with the same signal.
  fake_.set(signal, 2);
  for (int row = 0; row < 2; ++row) copy(signal, 7);
  for (uint64_t row = 0; row < 2; ++row) fake_.complete_copy(signal, now + 100, now + 200);

  const Trace trace = read_back();
  ASSERT_EQ(trace.copies.size(), 2u);
  EXPECT_EQ(trace.copies[0].bytes, 400u);
  EXPECT_EQ(trace.copies[0].owner.call, call.call);
  EXPECT_EQ(trace.copies[1].bytes, 14u);
  const format::CompleteRecord& done = trace.completions.at(trace.copies[0].id);
  EXPECT_GE(done.start_ns, before);
  EXPECT_EQ(done.end_ns, static_cast<int64_t>(now + 35));
  EXPECT_EQ(trace.losses, 0u);
}

TEST_F(HsaCopiesTest, WhatTheRuntimeRefusesIsNotRecorded) {
  load();
  const uint64_t signal = make_signal();
  fake_.copy_status = kHsaError;
  EXPECT_EQ(copy(signal, 100), kHsaError);
  fake_.copy_status = kHsaSuccess;
  program().hsa_signal_destroy(signal);
  const Trace trace = read_back();
  EXPECT_TRUE(trace.copies.empty());
  EXPECT_EQ(trace.losses, 0u);
}

TEST_F(HsaCopiesTest, AFillIsDoneWhenItReturns) {
  load();
  ASSERT_EQ(program().hsa_amd_memory_fill(&to_, 7, 3), kHsaSuccess);
  const Trace trace = read_back();
  ASSERT_EQ(trace.copies.size(), 1u);
  EXPECT_EQ(trace.copies[0].bytes, 12u);
  EXPECT_EQ(trace.copies[0].source, 7u);
  EXPECT_EQ(trace.completions.count(trace.copies[0].id), 1u);
}

TEST_F(HsaHooksTest, WithHsaEveryCallIsRecordedAndTheOuterCallStaysTheOwner) {
  setenv("WAVETAP_OPTIONS", "hsa", 1);
  load();
  HsaQueue* queue = make_queue();
  OpenCall call;
  ASSERT_TRUE(enter_call(call, 5));
  submit(queue, kernel(1));
  leave_call(call, 5, 0);
  submit(queue, kernel(2));
  const Trace trace = read_back();
  std::map<std::string, int> count;
  uint32_t last_reserve = 0;
  for (const format::CallRecord& made : trace.calls) {
    const auto name = trace.functions.find(made.function);
    if (name == trace.functions.end()) continue;
    ++count[name->second];
    if (name->second == "hsa_queue_add_write_index_relaxed") last_reserve = made.call;
  }
  EXPECT_EQ(count["hsa_queue_create"], 1);
  EXPECT_EQ(count["hsa_queue_add_write_index_relaxed"], 2);
  EXPECT_EQ(count["hsa_signal_store_screlease"], 2);
  ASSERT_EQ(trace.dispatches.size(), 2u);
  EXPECT_EQ(trace.dispatches[0].owner.call, call.call);
  EXPECT_EQ(trace.dispatches[1].owner.call, last_reserve);
}

TEST_F(HsaHooksTest, TheRuntimeMayComeAgain) {
  load();
  submit(make_queue(), kernel(1));
  on_hsa_unload();
  FakeHsa again;
  on_hsa_load(&again.tables);
  HsaTable program;
  program.open(again.tables);
  HsaQueue* queue = nullptr;
  ASSERT_EQ(program.next().hsa_queue_create(FakeHsa::kGpu, 64, 0, nullptr, nullptr, 0, 0, &queue),
            kHsaSuccess);
  const uint64_t index = program.next().hsa_queue_add_write_index_relaxed(queue, 1);
  write(queue, index, kernel(2));
  program.next().hsa_signal_store_screlease(queue->doorbell_signal, static_cast<int64_t>(index));
  EXPECT_EQ(again.queues.at(0)->take(9), 1u);
  on_hsa_unload();
}

// Entries were put into the middle of AMD's table twice; each must be found where that table has
// it.
TEST(HsaTableTest, PlacesDependOnTheSizeOfTheTable) {
  struct Case {
    size_t entries;
    size_t pool_info, cu_get_mask, vmem_map;
  };
  constexpr size_t kNone = SIZE_MAX;
  for (const Case& expected :
       {Case{47, 16, kNone, kNone}, Case{48, 16, 47, kNone}, Case{51, 16, 50, kNone},
        Case{55, 18, 52, kNone}, Case{67, 18, 52, 59}, Case{100, 18, 52, 59}}) {
    std::vector<uint64_t> memory(2 + expected.entries, 0xf00d);
    auto* version = reinterpret_cast<HsaTableVersion*>(memory.data());
    *version = {2, static_cast<uint32_t>(memory.size() * 8), 0, 0};
    HsaTables tables{};
    tables.amd_ext = version;
    HsaTable table{};
    table.open(tables);
    const auto place = [&](size_t index) {
      void** entry = table.entry(index);
      return entry == nullptr
                 ? kNone
                 : static_cast<size_t>(reinterpret_cast<uint64_t*>(entry) - memory.data()) - 2;
    };
    EXPECT_EQ(place(table.index_of(&Hsa::hsa_amd_agent_memory_pool_get_info)), expected.pool_info);
    EXPECT_EQ(place(table.index_of(&Hsa::hsa_amd_queue_cu_get_mask)), expected.cu_get_mask);
    EXPECT_EQ(place(table.index_of(&Hsa::hsa_amd_vmem_map)), expected.vmem_map);
    // No core table at all.
    EXPECT_EQ(table.entry(table.index_of(&Hsa::hsa_queue_create)), nullptr);
  }
}

}  // namespace
}  // namespace wavetap::agent
