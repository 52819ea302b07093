// When the GPU finished what: completions, found without anything the program can see.
//
// A packet without a completion signal gets one of ours from the queue's slab, plain 64-byte signal
// blocks that the GPU decrements and stamps; no signal of the runtime's is ever created for it.
//
// A packet with the program's own signal keeps it. The GPU stamps the times into it, and they stay
// until the signal is put on a packet again or destroyed, both of which pass through our hooks:
// there, or earlier when the helper thread looks, they are collected. The stamps are cleared at
// submission to know them from old ones.
//
// A signal that several packets count down together cannot carry the times of each. From the moment
// we know (its value is above one, or it comes again before the first packet has finished) its
// packets are timed with a signal of the slab, and an inserted barrier packet completes the
// program's. The packet in whose time we found out stays untimed, which is counted.
//
// Copies that count one signal down together are the rows of a rectangle, which HIP copies one by
// one: they are recorded as one copy, from the moment the first was handed over to the end of the
// last.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/hsa_abi.h"
#include "agent/recording.h"
#include "format/record.h"

namespace wavetap::agent {

// Something handed to the GPU.
struct Operation {
  uint64_t id;
  format::Kind kind;
  uint32_t queue;
  uint64_t kernel_object;  // 0: not a kernel
  uint64_t time;           // ticks() when it was submitted
};

// Something that has finished, in ticks of the GPU's clock.
struct Completion {
  uint64_t id;
  format::Kind kind;
  uint64_t agent;
  uint64_t start;
  uint64_t end;
};

// Writes a CompleteRecord to this thread's stream. The first converts from the agent's clock.
void write_completion(const Completion& completion);
void write_completion_ns(uint64_t id, format::Kind kind, int64_t start_ns, int64_t end_ns);

// What a CopyRecord says of a copy.
struct Copy {
  format::CopyKind kind;
  uint64_t destination;
  uint64_t source;
  uint64_t bytes;
  uint32_t destination_agent;
  uint32_t source_agent;
  uint32_t engine;
  uint64_t time;
  format::Owner owner;
};
void write_copy(const Copy& copy, uint64_t id);

int64_t boottime_ns();

// Something was submitted whose completion nobody has seen: wakes the helper thread, once.
void note_in_flight();
void keep_in_flight();  // the same by the helper thread itself
// Whether note_in_flight() was called since the last time this was.
bool take_in_flight();

// Learns the unit of the runtime's clock. Called by OnLoad.
void open_times();

class SignalSlab {
 public:
  // Signals the GPU `agent` can complete; `pool` is host memory that both see at once. False: no
  // memory.
  bool open(uint64_t agent, uint64_t pool, uint32_t count);
  void close();
  // Like close(), when the runtime frees its memory itself. Our own is kept until the place is used
  // again: the runtime's threads may still be at it, and a program that ends must not be held up.
  void abandon();

  // A signal that is due to become 0 when the operation is done; null when all are in flight. One
  // thread at a time. `stands_for`: the program's signal that the operation had, 0: none.
  amd::Signal* take(const Operation& operation, uint64_t stands_for);

  // So many are out that it is worth collecting some; asked by the thread that takes.
  bool is_crowded() const {
    return head_.load(std::memory_order_relaxed) >= crowded_at_.load(std::memory_order_relaxed);
  }

  // Calls `what(kernel_object, time)` for kernels in flight. Not while the slab is closed.
  template <class Do>
  void each_in_flight(Do what) const {
    for (uint32_t i = 0; i < count_; ++i) {
      const uint64_t id = slots_[i].id.load(std::memory_order_acquire);
      const uint64_t object = slots_[i].kernel_object.load(std::memory_order_relaxed);
      const uint64_t time = slots_[i].time.load(std::memory_order_relaxed);
      if (id == 0 || id == kCollecting || object == 0) continue;
      if (__atomic_load_n(&signals_[i].value, __ATOMIC_ACQUIRE) <= 0) continue;
      if (slots_[i].id.load(std::memory_order_acquire) == id) what(object, time);
    }
  }

  // Collects what is done; any number of threads, concurrently with take(). Returns what is still
  // in flight.
  uint32_t harvest();

 private:
  struct Slot {
    std::atomic<uint64_t> id;  // 0: free, kCollecting: a thread in harvest() is about to free it
    std::atomic<uint64_t> kernel_object;
    std::atomic<uint64_t> time;
    uint64_t stands_for;
    format::Kind kind;
  };

  static constexpr uint64_t kCollecting = UINT64_MAX;

  uint64_t agent_ = 0;
  amd::Signal* signals_ = nullptr;
  Slot* slots_ = nullptr;
  uint32_t count_ = 0;
  uint32_t mapped_ = 0;            // slots there is memory for
  std::atomic<uint64_t> head_{0};  // slots handed out so far, busy ones that were skipped included
  std::atomic<uint64_t> tail_{0};  // all before are free
  std::atomic<uint64_t> crowded_at_{0};
};

// The program's signals, from creation to destruction.
class ProgramSignals {
 public:
  enum class Timing {
    kOwn,         // the signal will carry the times
    kSubstitute,  // time it with a signal of the slab
    kGrouped,     // a row: it will be written with the others
    kUnknown,     // not a signal we saw created; or no way to time it
  };

  void created(uint64_t signal);
  void destroyed(uint64_t signal);

  // An operation is about to be submitted with `signal`.
  Timing submit_packet(uint64_t signal, const Operation& operation, uint64_t agent);
  Timing submit_copy(uint64_t signal, uint64_t id, const Copy& copy);
  // Forgets the copy again: the runtime refused it.
  void cancel_copy(uint64_t signal, uint64_t id, const Copy& copy);
  // Something that is not recorded will complete the signal.
  void submit_other(uint64_t signal);

  // From now on its packets are timed with signals of the slab.
  void share(uint64_t signal);
  bool is_shared(uint64_t signal);
  // The times of the last packet that a substitute timed; false: there was none.
  bool substituted(uint64_t signal, uint64_t* start, uint64_t* end);
  void note_substituted(uint64_t signal, uint64_t start, uint64_t end);

  // Calls `what(queue, kernel_object, time)` for kernels in flight.
  template <class Do>
  void each_in_flight(Do what) {
    for (Shard& shard : shards_) {
      const InShard in(*this, shard);
      for (uint32_t i = 0; i < shard.capacity && shard.in_flight() != 0; ++i) {
        const Entry& entry = shard.entries[i];
        if (entry.signal > 1 && entry.id != 0 && entry.kind == format::Kind::kDispatch) {
          what(entry.queue, entry.kernel_object, entry.time);
        }
      }
    }
  }

  // Returns how many are still in flight.
  uint32_t harvest();
  // Forgets all signals, at once: HIP 7 takes its objects down before the runtime, whose threads go
  // on calling them until our OnUnload returns.
  void clear();
  void unlock_after_fork();

 private:
  struct Entry {
    uint64_t signal;  // 0: free, 1: was used
    uint64_t id;      // 0: nothing in flight
    uint64_t agent;
    uint64_t kernel_object;
    uint64_t time;
    uint32_t queue;
    int64_t submitted_ns;
    int64_t value;
    uint64_t start;  // substituted times
    uint64_t end;
    Copy copy;      // of the rows so far
    uint32_t rows;  // 0: not a group of rows
    format::Kind kind;
    bool shared;
  };
  struct Shard {
    LockWord lock;
    Entry* entries = nullptr;
    uint32_t capacity = 0;
    uint32_t used = 0;  // was-used ones included
    uint32_t live = 0;
    std::atomic<uint32_t> pending{0};  // written under the lock, looked at without it
    uint32_t life = 0;                 // what is in it counts in this life of the runtime

    void add_pending(int32_t count) {
      pending.store(pending.load(std::memory_order_relaxed) + static_cast<uint32_t>(count),
                    std::memory_order_relaxed);
    }
    uint32_t in_flight() const { return pending.load(std::memory_order_relaxed); }
  };
  static constexpr uint32_t kShards = 64;

  // Holds a shard's lock; what the shard keeps of an earlier life is gone.
  class InShard {
   public:
    InShard(ProgramSignals& signals, Shard& shard);

   private:
    Locked locked_;
  };

  Shard& shard_of(uint64_t signal);
  static Entry* find(Shard& shard, uint64_t signal);
  static bool grow(Shard& shard);
  // Takes the finished operation out of the entry and writes it; false: it is not finished.
  static bool collect(Shard& shard, Entry& entry, bool value_may_be_new);
  static bool collect_copy(Entry& entry, bool value_may_be_new);
  // Collects, or else drops the operation as untimed.
  static void settle(Shard& shard, Entry& entry);

  Shard shards_[kShards];
  std::atomic<uint32_t> life_{0};
};

extern ProgramSignals g_program_signals;

}  // namespace wavetap::agent
