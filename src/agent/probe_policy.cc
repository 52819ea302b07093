#include "agent/probe_policy.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "agent/dispatch_policy.h"
#include "agent/hsa_facts.h"
#include "agent/probe_files.h"
#include "agent/probe_kernels.h"
#include "agent/probe_ring.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

ProbeDevice* device_of(uint64_t agent);

struct State {
  ProbeRequest request;
  ProbeFiles files;
  ProbeKernels kernels{request, files, &device_of};
  std::atomic<uint64_t> launches{0};  // of kernels that match
  std::atomic<uint64_t> taken{0};
  std::atomic<uint32_t> dispatches{0};
  std::atomic<uint64_t> left_out{0};

  // Under g_drain, but for additions before a runtime's first dispatch to that GPU.
  std::vector<ProbeDevice*> devices;
  std::vector<uint64_t> without_memory;  // agents that got no ring, and are not asked again
  std::vector<uint64_t> words;
  uint64_t told_left_out = 0;
  std::vector<uint64_t> told_lost;
  bool said_damage = false;

  explicit State(ProbeRequest asked) : request(std::move(asked)) {
    files.open(request.folder, request.record_bytes);
  }
};

constinit std::atomic<State*> g_probes{nullptr};
constinit LockWord g_drain;  // rings

constexpr size_t kBatchWords = 32 << 10;

ProbeDevice* device_of(uint64_t agent) {
  State& state = *g_probes.load(std::memory_order_acquire);
  const Locked locked(g_drain);
  for (ProbeDevice* device : state.devices)
    if (device->agent() == agent) return device;
  if (std::find(state.without_memory.begin(), state.without_memory.end(), agent) !=
      state.without_memory.end())
    return nullptr;
  ProbeDevice* const made = ProbeDevice::make(agent, state.request.ring_bytes, state.request.wants);
  if (made == nullptr) {
    say("probe: there is no memory for a ring of %llu bytes; kernels of this GPU run as they are: take "
        "a smaller --ring",
        static_cast<unsigned long long>(state.request.ring_bytes));
    state.without_memory.push_back(agent);
    return nullptr;
  }
  state.devices.push_back(made);
  state.told_lost.push_back(0);
  return made;
}

void on_frozen(uint64_t executable) {
  if (State* const state = g_probes.load(std::memory_order_acquire)) state->kernels.add(executable);
}

void on_destroyed(uint64_t executable) {
  if (State* const state = g_probes.load(std::memory_order_acquire))
    state->kernels.remove(executable);
}

// ---- dispatches ---------------------------------------------------------------------------------

void fill(format::ProbeLaunch& launch, const amd::KernelDispatchPacket& packet) {
  for (int i = 0; i < 3; ++i) {
    launch.grid_size[i] = std::max<uint32_t>(packet.grid_size[i], 1);
    launch.workgroup_size[i] = std::max<uint32_t>(packet.workgroup_size[i], 1);
  }
  for (int i = 0; i < 2; ++i)
    launch.workgroups[i] =
        (launch.grid_size[i] + launch.workgroup_size[i] - 1) / launch.workgroup_size[i];
}

uint32_t added(uint32_t size, int64_t more) {
  return static_cast<uint32_t>(std::max<int64_t>(int64_t{size} + more, 0));
}

class ProbePolicy final : public DispatchPolicy {
 public:
  Verdict before(DispatchView& dispatch) noexcept override {
    State* const state = g_probes.load(std::memory_order_acquire);
    if (state == nullptr) return Verdict::kPass;
    Probed* const probed = state->kernels.find(dispatch.packet.kernel_object);
    if (probed == nullptr) return Verdict::kPass;
    if (probed->twin == 0) {
      state->left_out.fetch_add(1, std::memory_order_relaxed);
      if (!probed->is_refused && !probed->was_plain.exchange(true, std::memory_order_relaxed))
        state->files.plain(probed->name);
      return Verdict::kPass;
    }
    const uint64_t launch = state->launches.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool is_taken =
        wants_launch(state->request, launch, *probed->launched) &&
        (state->request.most == 0 ||
         state->taken.fetch_add(1, std::memory_order_relaxed) < state->request.most);
    if (!is_taken || !replace(*state, *probed, dispatch))
      state->left_out.fetch_add(1, std::memory_order_relaxed);
    return Verdict::kPass;
  }

 private:
  static bool replace(State& state, const Probed& probed, DispatchView& dispatch) {
    amd::KernelDispatchPacket& packet = dispatch.packet;
    const TwinPlan& plan = probed.plan;
    std::byte arguments[ProbeSlot::kArgumentBytes];
    if (plan.argument_bytes != 0 &&
        dispatch.read_kernarg(arguments, plan.argument_bytes) != plan.argument_bytes)
      return false;
    ProbeSlot* const slot = probed.device->take(probed.sites);
    if (slot == nullptr) return false;
    format::ProbeLaunch& launch = slot->launch;
    launch.dispatch = state.dispatches.fetch_add(1, std::memory_order_relaxed) + 1;
    launch.wants = state.request.wants;
    fill(launch, packet);
    launch.lanes = uint64_t{launch.grid_size[0]} * launch.grid_size[1] * launch.grid_size[2];
    move_arguments(plan, arguments, slot->arguments, reinterpret_cast<uint64_t>(&launch));
    state.files.launch(dispatch, launch, probed.name, probed.code, probed.target, probed.gpu,
                       packet.group_segment_size, packet.private_segment_size, plan.wave_size,
                       arguments, plan.argument_bytes);
    packet.kernel_object = probed.twin;
    packet.kernarg_address = reinterpret_cast<uint64_t>(slot->arguments);
    packet.group_segment_size = added(packet.group_segment_size, plan.lds_bytes);
    packet.private_segment_size = added(packet.private_segment_size, plan.scratch_bytes);
    probed.device->start(*slot, launch.lanes);
    wake_helper();
    return true;
  }
};
constinit ProbePolicy g_policy;

// ---- the rings ----------------------------------------------------------------------------------

void drain_device(State& state, ProbeDevice& device, const char* end_all) {
  for (bool again = true; again;) {
    state.words.clear();
    const bool is_good = device.drain(state.words, kBatchWords);
    again = state.words.size() >= kBatchWords;
    if (!state.words.empty()) state.files.records(state.words);
    if (!is_good && !state.said_damage) {
      state.said_damage = true;
      say("probe: the ring of a GPU is overwritten; its records end here");
    }
    if (!again)
      device.finish(end_all != nullptr, [&](const format::ProbeLaunch& launch,
                                            const std::vector<format::ProbeCount>* counts) {
        state.files.done(launch, end_all != nullptr ? end_all : "complete");
        if (counts == nullptr) state.files.uncounted(launch);
        else if (!counts->empty()) state.files.counts(launch, *counts);
      });
  }
}

void tell_losses(State& state) {
  for (size_t i = 0; i < state.devices.size(); ++i) {
    const uint64_t lost = state.devices[i]->lost();
    if (lost != state.told_lost[i]) state.files.count("lost", lost - state.told_lost[i]);
    state.told_lost[i] = lost;
  }
  const uint64_t left_out = state.left_out.load(std::memory_order_relaxed);
  if (left_out != state.told_left_out)
    state.files.count("left_out", left_out - state.told_left_out);
  state.told_left_out = left_out;
}

bool drain_all(State& state, bool faulted, bool ending) {
  bool is_busy = false;
  for (ProbeDevice* device : state.devices) {
    drain_device(state, *device, nullptr);
    // What is complete by now ended well; the rest did not.
    if (faulted || ending) drain_device(state, *device, faulted ? "faulted" : "abandoned");
    is_busy |= device->is_busy();
  }
  tell_losses(state);
  state.files.flush();
  return is_busy;
}

State* read_request() {
  const char* const path = secure_getenv(format::kProbeVariable);
  if (path == nullptr || *path == '\0') return nullptr;
  ProbeRequest request;
  if (!read_probe_request(path, &request)) {
    say("error: probe: %s cannot be read; nothing is probed", path);
    return nullptr;
  }
  return new (std::nothrow) State(std::move(request));
}

}  // namespace

void start_probes() {
  static bool s_started = false;  // under the lock of the runtime's loading
  if (s_started) return;
  s_started = true;
  State* const state = read_request();
  if (state == nullptr) return;
  g_probes.store(state, std::memory_order_release);
  listen_to_executables(&on_frozen, &on_destroyed);
  if (!add_dispatch_policy(g_policy)) say("error: probe: too many tools; nothing is probed");
}

bool has_probes() { return g_probes.load(std::memory_order_acquire) != nullptr; }

bool drain_probes(bool faulted) {
  State* const state = g_probes.load(std::memory_order_acquire);
  if (state == nullptr) return false;
  // A thread that is at it writes what is there; but the one that comes last before an abort waits.
  if (!(faulted ? g_drain.try_lock_for(1000) : g_drain.try_lock())) return true;
  const bool is_busy = drain_all(*state, faulted, false);
  g_drain.unlock();
  return is_busy;
}

void forget_probes() {
  State* const state = g_probes.load(std::memory_order_acquire);
  if (state == nullptr) return;
  {
    const Locked drain(g_drain);
    drain_all(*state, false, true);
    state->devices.clear();  // their memory goes with the runtime
    state->without_memory.clear();
    state->told_lost.clear();
  }
  state->kernels.clear();
}

void unlock_probes_after_fork() {
  new (&g_drain) LockWord;
  State* const state = g_probes.load(std::memory_order_acquire);
  if (state == nullptr) return;
  state->files.unlock_after_fork();
  state->kernels.unlock_after_fork();
  state->devices.clear();
  state->without_memory.clear();
  state->told_lost.clear();
}

}  // namespace wavetap::agent
