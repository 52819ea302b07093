// Queues of the program, with us in between.
//
// The program gets a queue of ours: its own ring, its own write index, a doorbell we recognise.
// When the doorbell rings, packets are moved in order from that ring to the queue the GPU reads,
// and on the way a kernel dispatch is recorded and, if it has no completion signal, given one.
//
//   program --packets--> ring --doorbell: move()--> ring of the real queue --> GPU
//
// ROCr has an intercept queue of its own for tools; up to 6.0 it reorders packets and can stop for
// ever when the real ring is full, it reports packets as read before the GPU has seen them, and it
// rings the hardware once per packet. Here the read index the program sees is the GPU's,
// translated, so the program never has more packets under way than its ring holds, the real ring
// (twice as large) cannot overflow, and nothing has to wait:
//
//   * Any number of threads may ring. The first one moves packets; the others leave it a note to
//     look again.
//   * A packet that becomes valid only after its doorbell rang is picked up by the helper thread.
//   * Cooperative queues of one GPU are one queue to the runtime: several of ours then write to the
//     same ring.
//
// The ring is the host's alone: a kernel that writes packets itself would not reach it.
//
// Who reserved a packet is noted with its index, because the doorbell that moves it may be another
// thread's.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/dispatch_policy.h"
#include "agent/gate.h"
#include "agent/hsa_abi.h"
#include "agent/hsa_times.h"
#include "agent/launch_contexts.h"

namespace wavetap::agent {

template <class>
class QueueArena;
class Queue;
extern QueueArena<Queue> g_arena WT_HIDDEN;  // all of them

class Queue {
 public:
  using ErrorCallback = void (*)(HsaStatus, HsaQueue*, void*);

  // What hsa_queue_create does, for a GPU.
  static HsaStatus create(uint64_t agent, uint32_t size, uint32_t type, ErrorCallback callback,
                          void* data, uint32_t private_bytes, uint32_t group_bytes,
                          HsaQueue** queue);
  HsaStatus destroy();

  // Ours, or null: it belongs to somebody else.
  static Queue* from(const HsaQueue* queue);
  static Queue* from_doorbell(uint64_t signal);

  HsaQueue* real() const { return real_; }
  uint32_t number() const { return number_; }

  uint64_t read_index() const;
  std::atomic<uint64_t>& write_index() {
    return *reinterpret_cast<std::atomic<uint64_t>*>(at(amd::kQueueWriteDispatchId));
  }
  // Packets [first, first + count) belong to the call this thread is in.
  void reserved(uint64_t first, uint64_t count);
  // The doorbell rang: everything up to packet `last` is or will soon be valid.
  void ring(uint64_t last);

  // Where packet `packet` of the queue that the GPU reads there (amd_queue_t) comes from. False: not
  // known.
  static bool launch_context(uint64_t real_queue, uint64_t packet, format::LaunchContext* context);

  // For every queue: times of what is done, packets that came late. Returns whether work is left.
  // Another thread may be at it: then the call returns at once or, `patiently`, waits for it a
  // little.
  static bool harvest_all(bool patiently);
  static void write_facts();
  // Lines of `wavetap status`: the kernels in flight, the oldest first.
  static size_t write_status(char* buffer, size_t size);
  // The runtime goes, and the queues with it.
  static void abandon_all();
  static void unlock_after_fork();

 private:
  template <class>
  friend class QueueArena;

  char* at(size_t offset) { return public_ + offset; }
  HsaQueue& handle() { return *reinterpret_cast<HsaQueue*>(public_); }

  bool open(HsaQueue* real, uint64_t agent, uint32_t size);
  void close();
  void write_fact(uint8_t flags);
  void move(GateScope& gate);
  bool has_room(uint64_t write, uint64_t packets);
  bool move_one(uint64_t index, uint16_t* header, GateScope& gate);
  void ring_real();
  // Records the packet and settles its completion signal. True: `barrier` must follow it.
  bool prepare(amd::KernelDispatchPacket& packet, uint64_t index, amd::BarrierPacket* barrier);
  bool prepare_dispatch(amd::KernelDispatchPacket& packet, uint64_t index,
                        amd::BarrierPacket* barrier);
  void write_dispatch(const amd::KernelDispatchPacket& packet, const Operation& operation,
                      format::Owner owner, uint8_t flags);
  uint32_t ordinal_of(format::Owner owner, Stream& submitter);
  void prepare_other(amd::BarrierPacket& packet, uint64_t index);
  bool time_packet(uint64_t* signal, const Operation& operation, amd::BarrierPacket* barrier);
  void put(uint64_t index, const void* packet, uint64_t consumed);
  format::Owner owner_of(uint64_t index) const;
  const amd::Signal* take_signal(const Operation& operation, uint64_t stands_for);

  static void on_error(HsaStatus status, HsaQueue* source, void* data);

  // A dispatch that is to run alone (hsa_queue_alone.cc). False: it could not, and is to be submitted
  // like any other.
  bool move_alone(DispatchView& dispatch, uint64_t index, uint32_t policies, GateScope& gate);
  amd::Signal* prepare_alone(amd::KernelDispatchPacket& packet, uint64_t index,
                             amd::BarrierPacket* barrier);
  amd::Signal* own_signal();
  bool wait_for(const amd::Signal& signal, int64_t until_ns) const;
  void put_next(const void* packet, uint64_t consumed);
  bool begin_drain();
  static bool drain_all(int64_t patience_ns);

  // What the program sees: an amd_queue_t whose first bytes are the hsa_queue_t.
  alignas(64) char public_[kAmdQueueBytes];

  // Rings so far that nobody has answered; not 0: a thread is in move().
  alignas(64) std::atomic<uint64_t> rings_;
  std::atomic<uint64_t> rung_;  // highest packet a doorbell has named, plus one
  std::atomic<uint64_t> next_;  // first packet not moved; written by the thread in move()
  uint64_t room_until_;         // real packets below this index have a free place
  // Highest real index written, plus one; by the thread in move().
  std::atomic<uint64_t> last_real_;

  HsaQueue* real_;
  char* real_ring_;
  uint64_t real_mask_;
  char* ring_;
  uint64_t mask_;
  // Who reserved a packet. Threads reserve further ahead than the ring has room, and wait then; so
  // there are several times as many entries as packets, and each says which packet it is for.
  struct Reservation {
    std::atomic<uint64_t> packet;  // plus one
    std::atomic<uint64_t> owner;   // format::Owner
  };
  Reservation* reservations_;
  uint64_t reservations_mask_;
  LaunchContexts contexts_;
  // By real packet: packets of the program that are done with once it is read.
  std::atomic<uint64_t>* consumed_;
  uint64_t consumed_mask_;
  bool may_insert_;

  uint64_t agent_;
  uint32_t agent_number_;
  uint32_t number_;
  format::Owner last_owner_;
  uint32_t last_ordinal_;
  ErrorCallback callback_;
  void* callback_data_;
  SignalSlab slab_;
  uint64_t own_signal_;       // for what runs alone; 0 until then
  bool draining_;             // a barrier packet of ours will complete it
  std::atomic<bool> broken_;  // the runtime has reported an error on it
  std::atomic<bool> live_;    // the place is taken
  std::atomic<bool> ready_;   // and the queue in it is whole
};

}  // namespace wavetap::agent
