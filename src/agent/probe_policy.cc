#include "agent/probe_policy.h"

#include <regex.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "agent/dispatch_policy.h"
#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "agent/probe_files.h"
#include "agent/probe_ring.h"
#include "agent/probe_twins.h"
#include "agent/recording.h"
#include "agent/swap_map.h"
#include "base/sys_files.h"

namespace wavetap::agent {
namespace {

// A kernel of the program. Never freed: a thread may hold one.
struct Probed {
  std::string name;
  uint64_t executable = 0;
  uint64_t twin = 0;  // kernel object; 0: none
  TwinPlan plan;
  ProbeDevice* device = nullptr;
  uint32_t gpu = 0;
  std::string code;    // file
  std::string target;  // "gfx1030"
  std::atomic<bool> was_plain{false};
};

struct State {
  ProbeRequest request;
  regex_t pattern{};
  bool has_pattern = false;
  ProbeFiles files;
  std::atomic<uint64_t> launches{0};  // of kernels that match
  std::atomic<uint64_t> taken{0};
  std::atomic<uint32_t> dispatches{0};
  std::atomic<uint64_t> left_out{0};

  // Under g_lock.
  std::vector<Probed*> kernels;
  // Under g_drain, but for additions before a runtime's first dispatch to that GPU.
  std::vector<ProbeDevice*> devices;
  std::vector<uint64_t> words;
  uint64_t told_left_out = 0;
  std::vector<uint64_t> told_lost;
  bool said_damage = false;
};

constinit std::atomic<State*> g_probes{nullptr};
constinit LockWord g_lock;   // kernels
constinit LockWord g_drain;  // rings
constinit SwapMap<Probed> g_map;

constexpr size_t kBatchWords = 32 << 10;

// ---- executables --------------------------------------------------------------------------------

struct Symbol {
  std::string name;
  uint64_t object = 0;
};

HsaStatus collect_symbol(uint64_t, uint64_t, uint64_t symbol, void* data) {
  const auto get = hsa().hsa_executable_symbol_get_info;
  uint32_t type = 0, length = 0;
  if (get(symbol, kSymbolType, &type) != kHsaSuccess || type != kSymbolKindKernel)
    return kHsaSuccess;
  Symbol found;
  get(symbol, kSymbolNameLength, &length);
  found.name.resize(length);
  get(symbol, kSymbolName, found.name.data());
  if (found.name.ends_with(".kd")) found.name.resize(found.name.size() - 3);
  get(symbol, kSymbolKernelObject, &found.object);
  static_cast<std::vector<Symbol>*>(data)->push_back(std::move(found));
  return kHsaSuccess;
}

// A code object's bytes, wherever the runtime has them.
class Bytes {
 public:
  explicit Bytes(const LoadedCodeObject& object) {
    const void* bytes = object.memory;
    size_ = object.bytes;
    if (bytes == nullptr && object.file >= 0) {
      struct stat status {};
      if (sys::fstat(object.file, &status) != 0) return;
      size_ = static_cast<uint64_t>(status.st_size);
      bytes = mapped_ = wavetap::sys::map(nullptr, size_, PROT_READ, MAP_PRIVATE, object.file, 0);
    }
    bytes_ = static_cast<const std::byte*>(bytes);
  }
  ~Bytes() {
    if (mapped_ != nullptr) wavetap::sys::unmap(mapped_, size_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<const std::byte> get() const {
    return bytes_ == nullptr ? std::span<const std::byte>() : std::span(bytes_, size_);
  }

 private:
  const std::byte* bytes_ = nullptr;
  std::byte* mapped_ = nullptr;
  uint64_t size_ = 0;
};

ProbeDevice* device_of(State& state, uint64_t agent) {
  const Locked locked(g_drain);
  for (ProbeDevice* device : state.devices)
    if (device->agent() == agent) return device;
  ProbeDevice* const made = ProbeDevice::make(agent, state.request.ring_bytes);
  if (made == nullptr) {
    say("probe: there is no memory for a ring of %llu bytes; kernels of this GPU are not probed",
        static_cast<unsigned long long>(state.request.ring_bytes));
    return nullptr;
  }
  state.devices.push_back(made);
  state.told_lost.push_back(0);
  return made;
}

bool matches(const State& state, const std::string& name) {
  const std::string shown = codeobj::demangle(name);
  if (state.has_pattern) return ::regexec(&state.pattern, shown.c_str(), 0, nullptr, 0) == 0;
  return !name.starts_with("__amd_rocclr_");
}

struct Frozen {
  State& state;
  uint64_t executable;
  uint64_t agent;
  uint32_t gpu;
  std::vector<Symbol> symbols;

  uint64_t object_of(const std::string& name) const {
    for (const Symbol& symbol : symbols)
      if (symbol.name == name) return symbol.object;
    return 0;
  }
  bool has_twins() const {
    return std::any_of(symbols.begin(), symbols.end(), [](const Symbol& symbol) {
      return symbol.name.ends_with(format::kTwinSuffix);
    });
  }
};

// Fills in the twin, if the kernel has one that fits.
void find_twin(const Frozen& frozen, const codeobj::CodeObject& object, Probed& probed) {
  const codeobj::Kernel *original = nullptr, *twin = nullptr;
  const std::string twin_name = probed.name + format::kTwinSuffix;
  for (const codeobj::Kernel& kernel : object.kernels()) {
    if (kernel.name == probed.name) original = &kernel;
    if (kernel.name == twin_name) twin = &kernel;
  }
  if (original == nullptr || twin == nullptr) return;
  const std::string why = plan_twin(object, *original, *twin, &probed.plan);
  if (!why.empty()) return frozen.state.files.refused(probed.name, why);
  probed.device = device_of(frozen.state, frozen.agent);
  if (probed.device == nullptr) return;
  probed.target = amd::to_string(object.target());
  probed.twin = frozen.object_of(twin_name);
}

void look_at(const Frozen& frozen, const codeobj::CodeObject* object,
             std::span<const std::byte> image) {
  std::string file;
  for (const Symbol& symbol : frozen.symbols) {
    if (symbol.name.ends_with(format::kTwinSuffix) || !matches(frozen.state, symbol.name)) continue;
    if (g_map.find(symbol.object) != nullptr) continue;
    // It may be of another code object of the executable.
    if (object != nullptr && object->find_kernel(symbol.name) == nullptr) continue;
    auto* const probed = new (std::nothrow) Probed;
    if (probed == nullptr) return count_loss(format::Loss::kNoMemory);
    probed->name = symbol.name;
    probed->executable = frozen.executable;
    probed->gpu = frozen.gpu;
    if (object != nullptr) find_twin(frozen, *object, *probed);
    if (probed->twin != 0) {
      if (file.empty()) file = frozen.state.files.keep_code(image);
      probed->code = file;
    }
    frozen.state.kernels.push_back(probed);
    g_map.set(symbol.object, probed);
  }
}

void on_frozen(uint64_t executable) {
  State* const state = g_probes.load(std::memory_order_acquire);
  if (state == nullptr) return;
  const Locked locked(g_lock);
  for (uint32_t i = 0; gpu_agent(i) != 0; ++i) {
    Frozen frozen{*state, executable, gpu_agent(i), i, {}};
    hsa().hsa_executable_iterate_agent_symbols(
        executable, frozen.agent, reinterpret_cast<void*>(&collect_symbol), &frozen.symbols);
    if (frozen.symbols.empty()) continue;
    if (!frozen.has_twins()) {
      look_at(frozen, nullptr, {});
      continue;
    }
    visit_code_objects(
        executable,
        [](const LoadedCodeObject& where, void* data) {
          const auto& of = *static_cast<const Frozen*>(data);
          if (where.agent != of.agent) return;
          const Bytes bytes(where);
          const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(bytes.get());
          look_at(of, object.ok() ? &*object : nullptr, bytes.get());
        },
        &frozen);
  }
}

void on_destroyed(uint64_t executable) {
  State* const state = g_probes.load(std::memory_order_acquire);
  if (state == nullptr) return;
  const Locked locked(g_lock);
  std::erase_if(state->kernels,
                [&](const Probed* probed) { return probed->executable == executable; });
  g_map.remove_if([&](const Probed& probed) { return probed.executable == executable; });
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
    Probed* const probed = g_map.find(dispatch.packet.kernel_object);
    if (state == nullptr || probed == nullptr) return Verdict::kPass;
    if (probed->twin == 0) {
      if (!probed->was_plain.exchange(true, std::memory_order_relaxed))
        state->files.plain(probed->name);
      return Verdict::kPass;
    }
    const uint64_t launch = state->launches.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool is_taken =
        wants_launch(state->request, launch) &&
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
    ProbeSlot* const slot = probed.device->take();
    if (slot == nullptr) return false;
    format::ProbeLaunch& launch = slot->launch;
    launch.dispatch = state.dispatches.fetch_add(1, std::memory_order_relaxed) + 1;
    launch.wants = state.request.wants;
    fill(launch, packet);
    move_arguments(plan, arguments, slot->arguments, reinterpret_cast<uint64_t>(&launch));
    state.files.launch(dispatch, launch, probed.name, probed.code, probed.target, probed.gpu,
                       packet.group_segment_size, packet.private_segment_size, plan.wave_size,
                       arguments, plan.argument_bytes);
    packet.kernel_object = probed.twin;
    packet.kernarg_address = reinterpret_cast<uint64_t>(slot->arguments);
    packet.group_segment_size = added(packet.group_segment_size, plan.lds_bytes);
    packet.private_segment_size = added(packet.private_segment_size, plan.scratch_bytes);
    probed.device->start(*slot,
                         uint64_t{launch.grid_size[0]} * launch.grid_size[1] * launch.grid_size[2]);
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
      device.finish(end_all != nullptr, [&](const format::ProbeLaunch& launch) {
        state.files.done(launch, end_all != nullptr ? end_all : "complete");
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
  auto state = std::unique_ptr<State>(new (std::nothrow) State);
  if (state == nullptr) return nullptr;
  if (!read_probe_request(path, &state->request)) {
    say("error: probe: %s cannot be read; nothing is probed", path);
    return nullptr;
  }
  const std::string& pattern = state->request.kernels;
  state->has_pattern = !pattern.empty() &&
                       ::regcomp(&state->pattern, pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
  state->files.open(state->request.folder, state->request.record_bytes);
  return state.release();
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
  const Locked drain(g_drain);
  drain_all(*state, false, true);
  state->devices.clear();  // their memory goes with the runtime
  state->told_lost.clear();
  const Locked locked(g_lock);
  g_map.clear();
  state->kernels.clear();
}

void unlock_probes_after_fork() {
  new (&g_lock) LockWord;
  new (&g_drain) LockWord;
  State* const state = g_probes.load(std::memory_order_acquire);
  if (state == nullptr) return;
  state->files.unlock_after_fork();
  state->devices.clear();
  state->told_lost.clear();
}

}  // namespace wavetap::agent
