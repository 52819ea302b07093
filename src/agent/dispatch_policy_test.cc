// Policies over a runtime that the tests hold in their hands, with a thread that plays the GPU where
// something has to run.
#include "agent/dispatch_policy.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "agent/copies_in_flight.h"
#include "agent/hsa_load.h"
#include "agent/recording.h"
#include "agent/test_fake_hsa.h"

namespace wavetap::agent {
namespace {

using amd::PacketType;
using Packet = FakeHsa::Packet;

// Takes packets of all queues in turn and completes them at once, the dispatches to `slow` only when
// told to.
class FakeGpu {
 public:
  explicit FakeGpu(FakeHsa& fake) : fake_(fake), thread_([this] { run(); }) {}
  ~FakeGpu() {
    leave_ = true;
    thread_.join();
  }

  static constexpr uint64_t kSlow = 0x5100;
  std::atomic<bool> may_finish{true};
  std::atomic<uint64_t> running{0};  // dispatches taken and not completed

 private:
  void run() {
    while (!leave_) {
      for (size_t i = 0; i < fake_.queues.size(); ++i) {
        FakeHsa::RealQueue& queue = *fake_.queues[i];
        if (queue.take(1) == 0) continue;
        const Packet packet = queue.taken.back();
        const bool slow = packet.kernel_object == kSlow &&
                          (packet.header & 0xff) == static_cast<int>(PacketType::kKernelDispatch);
        running = slow ? 1 : 0;
        while (slow && !may_finish && !leave_) std::this_thread::yield();
        running = 0;
        fake_.complete(packet);
      }
      std::this_thread::yield();
    }
  }

  FakeHsa& fake_;
  std::atomic<bool> leave_{false};
  std::thread thread_;
};

struct Told {
  std::vector<std::string> what;
  LockWord lock;
  void add(const std::string& text) {
    const Locked locked(lock);
    what.push_back(text);
  }
};

class PolicyTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "policy-XXXXXX").string();
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
    forget_dispatch_policies();
    g_copies_in_flight.clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void load() {
    on_hsa_load(&fake_.tables);
    program_.open(fake_.tables);
  }
  const Hsa& program() const { return program_.next(); }
  HsaQueue* make_queue(uint32_t size = 64) {
    HsaQueue* queue = nullptr;
    EXPECT_EQ(program().hsa_queue_create(FakeHsa::kGpu, size, 0, nullptr, nullptr, 0, 0, &queue),
              kHsaSuccess);
    return queue;
  }
  uint64_t make_signal() {
    uint64_t signal = 0;
    EXPECT_EQ(program().hsa_signal_create(1, 0, nullptr, &signal), kHsaSuccess);
    return signal;
  }
  int64_t value_of(uint64_t signal) {
    return __atomic_load_n(&fake_.signals.at(signal)->value, __ATOMIC_ACQUIRE);
  }

  static Packet kernel(uint64_t object, uint64_t signal = 0) {
    Packet packet{};
    packet.header = static_cast<uint16_t>(PacketType::kKernelDispatch) | 1 << 8;
    packet.setup = 1;
    packet.workgroup_size[0] = 64;
    packet.grid_size[0] = 256;
    packet.kernel_object = object;
    packet.completion_signal = signal;
    return packet;
  }
  void submit(HsaQueue* queue, const Packet& packet) {
    const uint64_t index = program().hsa_queue_add_write_index_relaxed(queue, 1);
    char* to = static_cast<char*>(queue->base_address) + index % queue->size * sizeof packet;
    std::memcpy(to + 4, reinterpret_cast<const char*>(&packet) + 4, sizeof packet - 4);
    uint32_t head;
    std::memcpy(&head, &packet, sizeof head);
    __atomic_store_n(reinterpret_cast<uint32_t*>(to), head, __ATOMIC_RELEASE);
    program().hsa_signal_store_screlease(queue->doorbell_signal, static_cast<int64_t>(index));
  }

  std::filesystem::path folder_;
  FakeHsa fake_;
  HsaTable program_{};
};

struct Swap : DispatchPolicy {
  Verdict before(DispatchView& dispatch) noexcept override {
    seen.push_back(dispatch.number);
    owner = dispatch.owner;
    agent = dispatch.agent;
    if (dispatch.packet.kernel_object == 0x1000) {
      dispatch.packet.kernel_object = 0x2000;
      dispatch.packet.grid_size[0] = 64;
    }
    dispatch.packet.completion_signal = 0xdead;  // not a policy's to change
    dispatch.packet.header = 0xffff;
    return Verdict::kPass;
  }
  std::vector<uint64_t> seen;
  format::Owner owner{};
  uint64_t agent = 0;
};

TEST_F(PolicyTest, MayReplaceAKernelButNotItsSignal) {
  Swap swap;
  ASSERT_TRUE(add_dispatch_policy(swap));
  load();
  HsaQueue* queue = make_queue();
  const uint64_t signal = make_signal();
  submit(queue, kernel(0x1000, signal));
  submit(queue, kernel(0x3000));
  ASSERT_EQ(fake_.queues[0]->take(9), 2u);
  const Packet& first = fake_.queues[0]->taken[0];
  EXPECT_EQ(first.kernel_object, 0x2000u);
  EXPECT_EQ(first.grid_size[0], 64u);
  EXPECT_EQ(first.completion_signal, signal);
  EXPECT_EQ(first.header & 0xff, static_cast<int>(PacketType::kKernelDispatch));
  EXPECT_EQ(fake_.queues[0]->taken[1].kernel_object, 0x3000u);
  EXPECT_EQ(swap.seen, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(swap.agent, FakeHsa::kGpu);
}

TEST_F(PolicyTest, IsAskedWhileNothingIsRecordedAndToldWhoseCallItIs) {
  setenv("WAVETAP_OPTIONS", "paused", 1);
  Swap swap;
  ASSERT_TRUE(add_dispatch_policy(swap));
  load();
  HsaQueue* queue = make_queue();
  submit(queue, kernel(0x1000));
  EXPECT_EQ(swap.seen.size(), 1u);
  EXPECT_EQ(swap.owner.call, 0u);
  record::start_recording(1);
  OpenCall call;
  ASSERT_TRUE(enter_call(call, 1));
  submit(queue, kernel(0x1000));
  leave_call(call, 1, 0);
  EXPECT_EQ(swap.owner.call, call.call);
}

// Wants dispatches of one kernel alone, and looks whether they are.
struct Alone : DispatchPolicy {
  Verdict before(DispatchView& dispatch) noexcept override {
    return dispatch.packet.kernel_object == wanted ? Verdict::kAlone : Verdict::kPass;
  }
  void alone_before(DispatchView& dispatch) noexcept override {
    told.add("before");
    if (look) look();
    dispatch.packet.grid_size[0] = 128;
  }
  void alone_after(const DispatchView& dispatch, const DispatchTimes& times) noexcept override {
    told.add("after");
    EXPECT_EQ(dispatch.packet.grid_size[0], 128u);
    EXPECT_NE(times.end, 0u);
    if (look_after) look_after();
  }
  void alone_given_up(const DispatchView&) noexcept override { told.add("given up"); }
  void not_alone(const DispatchView&) noexcept override { told.add("not alone"); }
  int64_t patience_ns() const noexcept override { return patience; }

  uint64_t wanted = 0x1000;
  std::function<void()> look, look_after;
  int64_t patience = 60'000'000'000;
  Told told;
};

class AlonePolicyTest : public PolicyTest, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(RecordedOrNot, AlonePolicyTest, testing::Values("", "paused"));

TEST_P(AlonePolicyTest, RunsADispatchAndTellsBeforeAndAfter) {
  setenv("WAVETAP_OPTIONS", GetParam(), 1);
  Alone alone;
  ASSERT_TRUE(add_dispatch_policy(alone));
  load();
  HsaQueue* queue = make_queue();
  HsaQueue* other = make_queue();
  const uint64_t signal = make_signal();
  const uint64_t last = make_signal();
  {
    FakeGpu gpu(fake_);
    const std::thread::id own = std::this_thread::get_id();
    alone.look = [&] {
      EXPECT_NE(std::this_thread::get_id(), own);
      EXPECT_EQ(gpu.running, 0u);
      EXPECT_EQ(value_of(signal), 1);
    };
    alone.look_after = [&] { EXPECT_EQ(value_of(signal), 1) << "the program knows already"; };
    submit(queue, kernel(0x3000));
    submit(other, kernel(FakeGpu::kSlow));
    submit(queue, kernel(0x1000, signal));
    EXPECT_EQ(alone.told.what, (std::vector<std::string>{"before", "after"}));
    submit(queue, kernel(0x3000, last));
    while (value_of(signal) != 0 || value_of(last) != 0) std::this_thread::yield();
  }
  // What the GPU was given, without the packets of ours.
  std::vector<uint64_t> kernels;
  for (const Packet& packet : fake_.queues[0]->taken)
    if ((packet.header & 0xff) == static_cast<int>(PacketType::kKernelDispatch))
      kernels.push_back(packet.kernel_object);
  EXPECT_EQ(kernels, (std::vector<uint64_t>{0x3000, 0x1000, 0x3000}));
}

TEST_P(AlonePolicyTest, GivesUpWaitingForADispatchThatWaitsForTheProgram) {
  setenv("WAVETAP_OPTIONS", GetParam(), 1);
  Alone alone;
  alone.wanted = FakeGpu::kSlow;
  alone.patience = 20'000'000;
  ASSERT_TRUE(add_dispatch_policy(alone));
  load();
  HsaQueue* queue = make_queue();
  HsaQueue* other = make_queue();
  const uint64_t signal = make_signal();
  const uint64_t others = make_signal();
  const uint64_t last = make_signal();
  FakeGpu gpu(fake_);
  gpu.may_finish = false;
  submit(queue, kernel(FakeGpu::kSlow, signal));  // comes back
  EXPECT_EQ(alone.told.what, (std::vector<std::string>{"before", "given up"}));
  EXPECT_EQ(value_of(signal), 1);
  submit(other, kernel(0x3000, others));
  gpu.may_finish = true;
  submit(queue, kernel(0x3000, last));
  while (value_of(signal) != 0 || value_of(others) != 0 || value_of(last) != 0)
    std::this_thread::yield();
}

TEST_F(PolicyTest, WaitsForWhatOtherQueuesRunAndForCopies) {
  Alone alone;
  ASSERT_TRUE(add_dispatch_policy(alone));
  load();
  HsaQueue* queue = make_queue();
  HsaQueue* other = make_queue();
  const uint64_t copied = make_signal();
  FakeGpu gpu(fake_);
  gpu.may_finish = false;
  submit(other, kernel(FakeGpu::kSlow));
  while (gpu.running == 0) std::this_thread::yield();
  char bytes[8];
  ASSERT_EQ(program().hsa_amd_memory_async_copy(bytes, FakeHsa::kGpu, bytes, FakeHsa::kCpu, 8, 0,
                                                nullptr, copied),
            kHsaSuccess);
  std::thread submitter([&] { submit(queue, kernel(0x1000)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(alone.told.what.empty());
  gpu.may_finish = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(alone.told.what.empty()) << "the copy has not ended";
  fake_.complete_copy(copied, 10, 20);
  submitter.join();
  EXPECT_EQ(alone.told.what, (std::vector<std::string>{"before", "after"}));
}

TEST_F(PolicyTest, KeepsOtherThreadsFromGivingTheGpuWork) {
  Alone alone;
  ASSERT_TRUE(add_dispatch_policy(alone));
  load();
  HsaQueue* queue = make_queue();
  HsaQueue* other = make_queue();
  FakeGpu gpu(fake_);
  std::atomic<bool> submitted{false};
  std::thread second;
  alone.look = [&] {
    second = std::thread([&] {
      submit(other, kernel(0x3000));
      submitted = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(submitted);
  };
  alone.look_after = [&] { EXPECT_FALSE(submitted); };
  submit(queue, kernel(0x1000));
  second.join();
  EXPECT_TRUE(submitted);
}

TEST_F(PolicyTest, LetsADispatchGoWhenTheRestDoesNotEnd) {
  Alone alone;
  alone.patience = 20'000'000;
  ASSERT_TRUE(add_dispatch_policy(alone));
  load();
  HsaQueue* queue = make_queue();
  HsaQueue* other = make_queue();
  FakeGpu gpu(fake_);
  gpu.may_finish = false;
  submit(other, kernel(FakeGpu::kSlow));
  while (gpu.running == 0) std::this_thread::yield();
  submit(queue, kernel(0x1000));
  EXPECT_EQ(alone.told.what, (std::vector<std::string>{"not alone"}));
  gpu.may_finish = true;
  // And the next one is alone again, however late a busy machine ends the slow one.
  alone.patience = 60'000'000'000;
  submit(queue, kernel(0x1000));
  EXPECT_EQ(alone.told.what, (std::vector<std::string>{"not alone", "before", "after"}));
}

// The place of a packet is the program's again once the GPU has read it, long before the dispatch's thread comes back.
TEST_F(PolicyTest, APlaceThatIsWrittenAgainMeanwhileKeepsItsPacket) {
  Alone alone;
  ASSERT_TRUE(add_dispatch_policy(alone));
  load();
  HsaQueue* queue = make_queue();
  const auto is_read = [&](uint64_t count) {
    for (int i = 0; i < 5000; ++i) {
      if (program().hsa_queue_load_read_index_scacquire(queue) >= count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  bool is_free = false;
  alone.look_after = [&] {
    std::thread other([&] {
      is_free = is_read(1);
      for (uint32_t i = 0; i < queue->size; ++i) submit(queue, kernel(0x2000));
    });
    other.join();
  };
  FakeGpu gpu(fake_);
  submit(queue, kernel(0x1000));
  EXPECT_TRUE(is_free);
  EXPECT_TRUE(is_read(queue->size + 1)) << "the packet in the first one's place is lost";
}

TEST_F(PolicyTest, TwoThreadsThatWantToBeAloneTakeTurns) {
  Alone alone;
  std::atomic<int> at_once{0};
  alone.look = [&] { EXPECT_EQ(at_once.fetch_add(1), 0); };
  alone.look_after = [&] { at_once.fetch_sub(1); };
  ASSERT_TRUE(add_dispatch_policy(alone));
  load();
  HsaQueue* queues[] = {make_queue(), make_queue()};
  {
    FakeGpu gpu(fake_);
    std::vector<std::thread> threads;
    for (HsaQueue* queue : queues)
      threads.emplace_back([&, queue] {
        for (int i = 0; i < 10; ++i) submit(queue, kernel(0x1000));
      });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(alone.told.what.size(), 40u);
}

}  // namespace
}  // namespace wavetap::agent
