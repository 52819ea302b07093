// A dispatch that runs alone, for a policy that wants to look at memory before and after
// (dispatch_policy.h).
//
//   1. The gate is closed: no thread gives any GPU anything more.
//   2. Every queue gets a barrier packet of ours; when all have completed, and all copies, nothing
//      runs. What does not end in time is the program's business, and the dispatch is not alone.
//   3. alone_before() on a thread of its own; the dispatch, with a signal of ours; alone_after(). If
//      it does not end in time, it may wait for the program, which waits for us: alone_given_up().
//   4. The gate is opened, and a barrier packet completes the program's signal: until then the
//      program cannot know that its kernel has run.
//
// The thread that rang the doorbell waits meanwhile, in the middle of HIP perhaps. The callbacks get
// another one, because they may need a stack, and calls into the runtime, that this one has no room
// for.
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>

#include "agent/copies_in_flight.h"
#include "agent/hsa_queue.h"
#include "agent/hsa_queue_arena.h"
#include "agent/hsa_table.h"

namespace wavetap::agent {

constinit Gate g_gate;

namespace {

constexpr uint16_t kBarrierHeader =
    static_cast<uint16_t>(amd::PacketType::kBarrierAnd) | 1 << 8;  // waits for all before it
constexpr int64_t kForEver = INT64_MAX;

int64_t end_of_patience(int64_t began_ns, int64_t patience_ns) {
  return patience_ns < kForEver - began_ns ? began_ns + patience_ns : kForEver;
}

int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// Longer the longer it takes already.
void pause_since(int64_t began) {
  const int64_t waited = monotonic_ns() - began;
  const timespec pause{0, waited < 1'000'000 ? 20'000 : 200'000};
  sys::call(SYS_nanosleep, &pause, nullptr);
}

// Runs work() on a fresh thread, all signals blocked, and waits for it. On this one where there can be
// no other.
template <class Work>
void on_own_thread(Work& work) {
  struct Errand {
    Work* work;
    std::atomic<uint32_t> done{0};
  } errand{&work};
  const auto run = [](void* data) -> void* {
    auto* const own = static_cast<Errand*>(data);
    {
      const Inside inside;
      (*own->work)();
    }
    own->done.store(1, std::memory_order_release);
    sys::futex_wake(&own->done, 1);
    return nullptr;
  };
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, run, &errand) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) {
    run(&errand);
    return;
  }
  while (errand.done.load(std::memory_order_acquire) == 0) sys::futex_wait(&errand.done, 0, 0);
  pthread_join(thread, nullptr);
}

template <class Do>
void for_each_policy(uint32_t policies, Do what) {
  for (uint32_t i = 0; i < kMaxPolicies; ++i)
    if ((policies >> i & 1) != 0) what(*dispatch_policy(i));
}

}  // namespace

amd::Signal* Queue::own_signal() {
  if (own_signal_ == 0 &&
      hsa().hsa_amd_signal_create(1, 0, nullptr, kSignalGpuOnly, &own_signal_) != kHsaSuccess) {
    own_signal_ = 0;
    return nullptr;
  }
  auto* const signal = reinterpret_cast<amd::Signal*>(own_signal_);
  __atomic_store_n(&signal->start_ts, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&signal->end_ts, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&signal->value, 1, __ATOMIC_RELEASE);
  return signal;
}

bool Queue::wait_for(const amd::Signal& signal, int64_t until_ns) const {
  const int64_t began = monotonic_ns();
  while (__atomic_load_n(&signal.value, __ATOMIC_ACQUIRE) > 0) {
    if (broken_.load(std::memory_order_acquire) || monotonic_ns() > until_ns) return false;
    pause_since(began);
  }
  return true;
}

// Behind everything on the real ring, which must have room.
void Queue::put_next(const void* packet, uint64_t consumed) {
  const uint64_t real = hsa().hsa_queue_add_write_index_relaxed(real_, 1);
  while (real + 1 > room_until_)
    room_until_ = hsa().hsa_queue_load_read_index_scacquire(real_) + real_mask_ + 1;
  // Other queues of ours may have written to the same ring meanwhile.
  const uint64_t last = last_real_.load(std::memory_order_relaxed);
  const uint64_t first = real - last > consumed_mask_ ? real - consumed_mask_ : last;
  const uint64_t before =
      last == 0 ? 0 : consumed_[(last - 1) & consumed_mask_].load(std::memory_order_relaxed);
  for (uint64_t i = first; i < real; ++i)
    consumed_[i & consumed_mask_].store(before, std::memory_order_release);
  put(real, packet, consumed);
  last_real_.store(real + 1, std::memory_order_release);
}

// The gate is closed: nobody else writes. False: there is nothing to wait for.
bool Queue::begin_drain() {
  const uint64_t written = last_real_.load(std::memory_order_acquire);
  amd::Signal* const done = written == 0 ? nullptr : own_signal();
  if (done == nullptr) return false;
  amd::BarrierPacket barrier{};
  barrier.header = kBarrierHeader;
  barrier.completion_signal = own_signal_;
  put_next(&barrier, consumed_[(written - 1) & consumed_mask_].load(std::memory_order_relaxed));
  ring_real();
  return true;
}

// All queues and copies; the gate is closed.
bool Queue::drain_all(int64_t patience_ns) {
  const int64_t began = monotonic_ns();
  const int64_t until = end_of_patience(began, patience_ns);
  g_arena.each([](Queue& queue) {
    queue.draining_ = queue.ready_.load(std::memory_order_acquire) && queue.begin_drain();
  });
  bool ended = true;
  g_arena.each([&](Queue& queue) {
    if (!queue.draining_) return;
    if (queue.wait_for(*reinterpret_cast<amd::Signal*>(queue.own_signal_), until)) return;
    queue.own_signal_ = 0;  // its packet is still there and may complete it any time
    ended = false;
  });
  while (ended && !g_copies_in_flight.all_ended()) {
    ended = monotonic_ns() < until;
    pause_since(began);
  }
  return ended;
}

bool Queue::move_alone(DispatchView& dispatch, uint64_t index, uint32_t policies, GateScope& gate) {
  int64_t patience = kForEver;
  dispatch.real_queue = real_;
  for_each_policy(policies, [&](DispatchPolicy& policy) {
    patience = std::min(patience, policy.patience_ns());
  });
  ring_real();
  gate.close();
  bool drained = false;
  const auto make_ready = [&] {
    drained = drain_all(patience);
    // Nobody else writes to the queue until it is there.
    dispatch.packet_number = hsa().hsa_queue_load_write_index_relaxed(real_);
    dispatch.packet_address = reinterpret_cast<uint64_t>(
        real_ring_ + (dispatch.packet_number & real_mask_) * amd::kAqlPacketBytes);
    if (drained)
      for_each_policy(policies, [&](DispatchPolicy& policy) { policy.alone_before(dispatch); });
  };
  on_own_thread(make_ready);

  amd::BarrierPacket barrier{};
  if (drained) {
    amd::Signal* const done = prepare_alone(dispatch.packet, index, &barrier);
    put_next(&dispatch.packet, barrier.header != 0 ? index : index + 1);
    ring_real();
    DispatchTimes times;
    const bool ended =
        done != nullptr && wait_for(*done, end_of_patience(monotonic_ns(), patience));
    const bool gives_up = done != nullptr && !ended && !broken_.load(std::memory_order_acquire);
    if (ended)
      times = {__atomic_load_n(&done->start_ts, __ATOMIC_ACQUIRE),
               __atomic_load_n(&done->end_ts, __ATOMIC_ACQUIRE)};
    const auto look = [&] {
      for_each_policy(policies, [&](DispatchPolicy& policy) {
        if (gives_up) policy.alone_given_up(dispatch);
        else policy.alone_after(dispatch, times);
      });
    };
    on_own_thread(look);
    if (gives_up) own_signal_ = 0;  // the dispatch completes it some time
    else if (barrier.header != 0)
      g_program_signals.note_substituted(barrier.completion_signal, times.start, times.end);
  } else {
    for_each_policy(policies, [&](DispatchPolicy& policy) { policy.not_alone(dispatch); });
  }
  gate.open();
  if (!drained) return false;
  if (barrier.header != 0) put_next(&barrier, index + 1);
  return true;
}

// Records the dispatch when that is wanted and gives it a signal of ours, which is returned.
// `barrier` completes the program's afterwards, if it has one.
amd::Signal* Queue::prepare_alone(amd::KernelDispatchPacket& packet, uint64_t index,
                                  amd::BarrierPacket* barrier) {
  const uint64_t programs = packet.completion_signal;
  if (programs != 0) g_program_signals.share(programs);
  barrier->header = 0;
  if (recording()) prepare_dispatch(packet, index, barrier);
  else if (programs != 0) g_program_signals.submit_other(programs);
  // Timed by the slab.
  if (packet.completion_signal != programs)
    return reinterpret_cast<amd::Signal*>(packet.completion_signal);
  amd::Signal* const done = own_signal();
  if (done == nullptr) return nullptr;
  packet.completion_signal = own_signal_;
  if (programs != 0) {
    *barrier = {};
    barrier->header = kBarrierHeader;
    barrier->completion_signal = programs;
  }
  return done;
}

}  // namespace wavetap::agent
