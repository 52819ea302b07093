// What others may do with a dispatch on its way to the GPU: replace its kernel, look at its memory
// before and after. Capture, swap and probes are policies; the queue (hsa_queue.h) only asks.
//
//   struct Mine : DispatchPolicy {
//     Verdict before(DispatchView& dispatch) noexcept override {
//       if (!wanted(dispatch)) return Verdict::kPass;
//       dispatch.packet.kernel_object = other;      // runs instead
//       return Verdict::kPass;
//     }
//   };
//   static Mine mine;
//   add_dispatch_policy(mine);                      // before the GPU runtime is loaded
//
// Without a policy a dispatch costs one load and a branch more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/hsa_abi.h"
#include "agent/recording.h"
#include "format/capture_request.h"
#include "format/record.h"

namespace wavetap::agent {

// One dispatch. Valid during the call it is given to.
struct DispatchView {
  // What the GPU will get. Everything may be changed but the type in `header` and the completion
  // signal, which are put back.
  amd::KernelDispatchPacket& packet;
  uint64_t number;  // of the dispatch in this process, from 1, in the order they were submitted
  uint64_t agent;   // HSA's handle
  uint32_t agent_number;                // AgentFact::number
  const HsaQueue* queue;                // the program's
  uint32_t queue_number;                // QueueFact::number
  format::Owner owner;                  // the call that launched it; call 0: not known
  const format::LaunchContext* launch;  // where it comes from; null: not known, or nobody has asked
  // For what runs alone: the queue the GPU reads, the place the packet will have in it, and its number
  // there.
  const HsaQueue* real_queue = nullptr;
  uint64_t packet_address = 0;
  uint64_t packet_number = 0;

  // Mangled, without ".kd"; "?" when it is not known.
  void kernel_name(char* name, size_t size) const;
  // Of the kernel's kernarg segment; 0 when it is not known.
  uint32_t kernarg_bytes() const;
  // Copies what the packet's kernarg segment holds, up to `size` bytes. The number copied: 0 when it
  // cannot be read.
  size_t read_kernarg(void* out, size_t size) const;
};

enum class Verdict : uint8_t {
  kPass,   // submit it
  kAlone,  // run it alone, see DispatchPolicy::alone_before()
};

// In the GPU's ticks; 0 when the runtime did not say.
struct DispatchTimes {
  uint64_t start = 0;
  uint64_t end = 0;
};

// Registered once, never removed. Functions of one policy are called by any thread, several at once,
// except the alone_ ones.
class DispatchPolicy {
 public:
  // On the thread that submits: no lock that is held elsewhere across a GPU call, no waiting.
  virtual Verdict before(DispatchView& dispatch) noexcept = 0;

  // For a dispatch that is to run alone, on a thread of ours that may copy memory and take its time:
  // everything this process has given any GPU is done, copies included, and nothing else begins
  // until alone_after() returns. One dispatch at a time in the process.
  virtual void alone_before(DispatchView&) noexcept {}
  // It has run, and the program does not know yet.
  virtual void alone_after(const DispatchView&, const DispatchTimes&) noexcept {}
  // It could not run alone: something else does not end, because it waits for the program perhaps.
  // The dispatch was submitted like any other.
  virtual void not_alone(const DispatchView&) noexcept {}

  // After alone_before(), in place of alone_after(): it does not end in time, because it waits for the
  // program perhaps, which goes on now.
  virtual void alone_given_up(const DispatchView&) noexcept {}

  // How long the rest may take to end, and then the dispatch.
  virtual int64_t patience_ns() const noexcept { return 10'000'000'000; }

 protected:
  ~DispatchPolicy() = default;
};

// False: there are too many. Before the GPU runtime is loaded; what it was given earlier is not known.
bool add_dispatch_policy(DispatchPolicy& policy);

extern std::atomic<uint32_t> g_policy_count WT_HIDDEN;
inline bool has_dispatch_policies() { return g_policy_count.load(std::memory_order_relaxed) != 0; }

inline constexpr uint32_t kMaxPolicies = 8;
// By order of registration; null beyond the last.
DispatchPolicy* dispatch_policy(uint32_t index);

// Asks every policy. The bits of those that want it alone.
uint32_t ask_policies(DispatchView& dispatch);

uint64_t next_dispatch_number();

// For tests: as if none had ever been added.
void forget_dispatch_policies();

}  // namespace wavetap::agent
