#include "agent/dispatch_policy.h"

#include "agent/hsa_facts.h"
#include "record/layout.h"

namespace wavetap::agent {

constinit std::atomic<uint32_t> g_policy_count{0};

namespace {

constinit std::atomic<DispatchPolicy*> g_policies[kMaxPolicies];
constinit LockWord g_adding;
constinit std::atomic<uint64_t> g_dispatches{0};

constexpr uint16_t kTypeMask = 0xff;

}  // namespace

void DispatchView::kernel_name(char* name, size_t size) const {
  agent::kernel_name(packet.kernel_object, name, size);
}

uint32_t DispatchView::kernarg_bytes() const { return agent::kernarg_bytes(packet.kernel_object); }

size_t DispatchView::read_kernarg(void* out, size_t size) const {
  const size_t bytes = kernarg_bytes();
  if (packet.kernarg_address == 0 || bytes == 0) return 0;
  return record::copy_from_unsure(out, reinterpret_cast<const void*>(packet.kernarg_address),
                                  bytes < size ? bytes : size);
}

bool add_dispatch_policy(DispatchPolicy& policy) {
  const Locked locked(g_adding);
  const uint32_t count = g_policy_count.load(std::memory_order_relaxed);
  if (count == kMaxPolicies) return false;
  g_policies[count].store(&policy, std::memory_order_release);
  g_policy_count.store(count + 1, std::memory_order_release);
  return true;
}

DispatchPolicy* dispatch_policy(uint32_t index) {
  return index < kMaxPolicies ? g_policies[index].load(std::memory_order_acquire) : nullptr;
}

uint32_t ask_policies(DispatchView& dispatch) {
  amd::KernelDispatchPacket& packet = dispatch.packet;
  const auto type = static_cast<uint16_t>(packet.header & kTypeMask);
  const uint64_t signal = packet.completion_signal;
  uint32_t alone = 0;
  for (uint32_t i = 0; i < kMaxPolicies; ++i) {
    DispatchPolicy* const policy = dispatch_policy(i);
    if (policy == nullptr) break;
    if (policy->before(dispatch) == Verdict::kAlone) alone |= 1u << i;
    packet.header = static_cast<uint16_t>((packet.header & ~kTypeMask) | type);
    packet.completion_signal = signal;
  }
  return alone;
}

uint64_t next_dispatch_number() { return g_dispatches.fetch_add(1, std::memory_order_relaxed) + 1; }

void forget_dispatch_policies() {
  g_policy_count.store(0, std::memory_order_release);
  for (auto& policy : g_policies) policy.store(nullptr, std::memory_order_release);
  g_dispatches.store(0, std::memory_order_relaxed);
}

}  // namespace wavetap::agent
