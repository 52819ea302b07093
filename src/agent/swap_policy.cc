#include "agent/swap_policy.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dispatch_policy.h"
#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"
#include "agent/swap_code.h"
#include "agent/swap_map.h"
#include "agent/swap_whole.h"
#include "base/sys_files.h"
#include "codeobj/code_object.h"
#include "swap/legality.h"
#include "swap/table.h"
#include "swap/whole.h"

namespace wavetap::agent {
namespace {

using swap::Candidate;
using swap::Reason;
using swap::Verdict;

// What a launch becomes. Never changed once it is published.
struct Replacement {
  uint64_t kernel_object = 0;
  swap::LaunchRules rules;
};

// A kernel that the program has loaded and the table names.
struct Swap {
  swap::KernelInfo original;
  uint64_t kernel_object = 0;
  uint64_t executable = 0;
  uint64_t agent = 0;
  std::atomic<const Replacement*> replacement{nullptr};  // null: the original runs
  std::atomic<bool> launch_refused{false};               // and it was said
  std::atomic<uint32_t> launches{0};                     // by turns

  // Under the lock.
  const Candidate* candidate = nullptr;  // whose file is used, or was refused
  Verdict verdict;
  uint64_t loaded = 0;    // the executable of the replacement
  bool is_whole = false;  // its code object was loaded in the place of the program's

  // The version of the file that was looked at last.
  std::atomic<int64_t> seen_time_ns{0};
  std::atomic<uint64_t> seen_bytes{0};
};

// A replacement's code object on a GPU. One kernel of it stands for one kernel of the program, so that a
// dispatch tells which of two kernels with one name it was.
struct Loaded {
  const SwapCode* code;
  uint64_t agent;
  uint64_t executable;
};

struct State {
  swap::Table table;
  std::vector<std::unique_ptr<SwapCode>> codes;
  std::vector<Loaded> loaded;
  std::vector<Swap*> swaps;  // live ones
};

constinit LockWord g_swap_lock;
constinit std::atomic<State*> g_swaps{nullptr};
constinit SwapMap<Swap> g_map;
constinit std::atomic<bool> g_watch{false};
constinit std::atomic<bool> g_turns{false};

// ---- facts -------------------------------------------------------------------------------------

void write_swap(const Swap& swap, format::SwapEvent event, const Verdict& verdict) {
  const Replacement* const replacement = swap.replacement.load(std::memory_order_relaxed);
  format::SwapFact record{};
  record.time = ticks();
  record.kernel_object = swap.kernel_object;
  record.replacement = swap.is_whole            ? swap.kernel_object
                       : replacement == nullptr ? 0
                                                : replacement->kernel_object;
  record.agent = agent_number(swap.agent);
  fact(record, format::Kind::kSwap, static_cast<uint8_t>(event),
       {swap.candidate == nullptr ? std::string_view() : swap.candidate->path,
        verdict.is_legal() ? std::string_view() : swap::to_string(verdict.reason), verdict.why});
}

void write_swap(const Swap& swap) {
  using format::SwapEvent;
  write_swap(swap,
             swap.is_whole             ? SwapEvent::kLoaded
             : swap.verdict.is_legal() ? SwapEvent::kReplaced
                                       : SwapEvent::kRefused,
             swap.verdict);
  if (g_turns.load(std::memory_order_relaxed) && swap.verdict.is_legal())
    write_swap(swap, format::SwapEvent::kTurn, swap.verdict);
}

void write_known_swaps() {
  const Locked locked(g_swap_lock);
  if (const State* state = g_swaps.load(std::memory_order_relaxed))
    for (const Swap* swap : state->swaps) write_swap(*swap);
}

// ---- choosing a replacement ---------------------------------------------------------------------

const SwapCode* code_for(State& state, const Candidate& candidate, bool any_version, Verdict& why) {
  int64_t time_ns = candidate.file_time_ns;
  uint64_t bytes = candidate.file_bytes;
  if (any_version) stat_swap_file(candidate.path.c_str(), time_ns, bytes);
  for (const auto& code : state.codes)
    if (code->offset == candidate.offset && code->time_ns == time_ns && code->file_bytes == bytes &&
        code->path == candidate.path)
      return code.get();
  std::unique_ptr<SwapCode> fresh;
  why = read_swap_code(candidate, any_version, fresh);
  if (!why.is_legal()) return nullptr;
  state.codes.push_back(std::move(fresh));
  return state.codes.back().get();
}

// The kernel in an executable where nobody else uses it.
uint64_t take_kernel(State& state, Swap& swap, const SwapCode& code, const std::string& symbol,
                     Verdict& why) {
  for (const Loaded& loaded : state.loaded) {
    if (loaded.code != &code || loaded.agent != swap.agent) continue;
    const uint64_t object = kernel_object_in(loaded.executable, swap.agent, symbol);
    const bool is_taken =
        std::any_of(state.swaps.begin(), state.swaps.end(), [&](const Swap* other) {
          const Replacement* const theirs = other->replacement.load(std::memory_order_relaxed);
          return other != &swap && theirs != nullptr && theirs->kernel_object == object;
        });
    if (object == 0 || is_taken) continue;
    swap.loaded = loaded.executable;
    return object;
  }
  const uint64_t executable = load_swap_code(code, swap.agent, why);
  if (executable == 0) return 0;
  state.loaded.push_back({&code, swap.agent, executable});
  swap.loaded = executable;
  const uint64_t object = kernel_object_in(executable, swap.agent, symbol);
  if (object == 0) why = {Reason::kRefused, "the GPU runtime does not find the kernel in it"};
  return object;
}

Verdict try_candidate(State& state, Swap& swap, const Candidate& candidate) {
  const std::optional<amd::GfxTarget> target = amd::parse_gfx_target(candidate.target_id);
  if (target && *target != swap.original.target) {
    return {Reason::kTarget, "it is code for " + candidate.target_id +
                                 ", and the kernel's is for " + swap.original.target_id};
  }
  Verdict why;
  const SwapCode* const code =
      code_for(state, candidate, state.table.watches() && candidate.is_whole_file(), why);
  if (code == nullptr) return why;
  const swap::KernelInfo* const kernel = code->find(candidate.kernel);
  if (kernel == nullptr) return {Reason::kMissing, "its file has no kernel " + candidate.kernel};
  why = swap::check(swap.original, *kernel, candidate.allowed, candidate.original_hash);
  if (!why.is_legal()) return why;
  const uint64_t object = take_kernel(state, swap, *code, candidate.kernel, why);
  if (object == 0) return why;
  auto* const replacement = new (std::nothrow)
      Replacement{object, swap::launch_rules(swap.original, *kernel, lds_bytes_of(swap.agent))};
  if (replacement == nullptr) return {Reason::kRefused, "there is no memory for it"};
  // Earlier ones stay: a thread may be reading them.
  swap.replacement.store(replacement, std::memory_order_release);
  return {};
}

void note_version(Swap& swap) {
  int64_t time_ns = 0;
  uint64_t bytes = 0;
  if (swap.candidate == nullptr || !stat_swap_file(swap.candidate->path.c_str(), time_ns, bytes))
    return;
  swap.seen_time_ns.store(time_ns, std::memory_order_relaxed);
  swap.seen_bytes.store(bytes, std::memory_order_relaxed);
}

// The first that is legal; else the refusal that says most.
void choose(State& state, Swap& swap) {
  swap.candidate = nullptr;
  for (const Candidate* candidate : state.table.find(swap.original.name)) {
    if (candidate->is_only_whole()) continue;
    const Verdict verdict = try_candidate(state, swap, *candidate);
    if (!verdict.is_legal() && !swap::says_more(swap.candidate, swap.verdict)) continue;
    swap.verdict = verdict;
    swap.candidate = candidate;
    if (verdict.is_legal()) break;
  }
  if (swap.candidate == nullptr)
    swap.verdict = {Reason::kRefused, "its code object was loaded in a way that is not seen"};
  if (swap.verdict.is_legal()) return;
  // Half of a file is what a compiler is writing: what was there before it goes on.
  if (swap.verdict.reason != Reason::kDamaged)
    swap.replacement.store(nullptr, std::memory_order_release);
}

// ---- executables of the program -----------------------------------------------------------------

struct Match {
  uint64_t agent;
  uint64_t kernel_object;
  std::string name;
};

// What became of an executable's code objects as wholes.
class WholeObjects {
 public:
  explicit WholeObjects(uint64_t executable) : executable_(executable) {
    visit_code_objects(
        executable,
        [](const LoadedCodeObject& object, void* data) {
          auto& self = *static_cast<WholeObjects*>(data);
          if (auto swap = find_whole_swap(self.executable_, object.agent, object.memory))
            self.objects_.push_back({object.load_base, object.load_bytes, std::move(*swap)});
        },
        this);
  }
  // Null: nothing was offered for it.
  const WholeSwap* find(uint64_t agent, uint64_t kernel_object) const {
    for (const Object& object : objects_)
      if (object.swap.agent == agent && kernel_object - object.base < object.bytes)
        return &object.swap;
    return nullptr;
  }

 private:
  struct Object {
    uint64_t base, bytes;
    WholeSwap swap;
  };
  uint64_t executable_;
  std::vector<Object> objects_;
};

struct Matches {
  const swap::Table* table;
  const WholeObjects* wholes;
  uint64_t agent;
  std::vector<Match> found;
};

HsaStatus match_symbol(uint64_t, uint64_t, uint64_t symbol, void* data) {
  auto& matches = *static_cast<Matches*>(data);
  const auto get = hsa().hsa_executable_symbol_get_info;
  uint32_t type = 0, length = 0;
  if (get(symbol, kSymbolType, &type) != kHsaSuccess || type != kSymbolKindKernel)
    return kHsaSuccess;
  get(symbol, kSymbolNameLength, &length);
  std::string name(length, '\0');
  get(symbol, kSymbolName, name.data());
  if (name.ends_with(".kd")) name.resize(name.size() - 3);
  uint64_t object = 0;
  get(symbol, kSymbolKernelObject, &object);
  const WholeSwap* const whole = matches.wholes->find(matches.agent, object);
  const bool is_loaded = whole != nullptr && whole->verdict.is_legal();
  if (!is_loaded && matches.table->find(name).empty()) return kHsaSuccess;
  matches.found.push_back({matches.agent, object, std::move(name)});
  return kHsaSuccess;
}

// Code objects of one executable, opened when one of their kernels is asked for.
class OriginalCode {
 public:
  explicit OriginalCode(uint64_t executable) {
    visit_code_objects(
        executable,
        [](const LoadedCodeObject& object, void* data) {
          static_cast<OriginalCode*>(data)->objects_.push_back({object, {}, false});
        },
        this);
  }
  ~OriginalCode() {
    for (const Object& object : objects_)
      if (object.mapped != nullptr) wavetap::sys::unmap(object.mapped, object.where.bytes);
  }
  OriginalCode(const OriginalCode&) = delete;
  OriginalCode& operator=(const OriginalCode&) = delete;

  bool describe(const Match& match, swap::KernelInfo& info) {
    for (Object& object : objects_) {
      if (object.where.agent != match.agent ||
          match.kernel_object - object.where.load_base >= object.where.load_bytes)
        continue;
      if (!object.is_open) open(object);
      for (const swap::KernelInfo& kernel : object.kernels) {
        if (kernel.name != match.name) continue;
        info = kernel;
        return true;
      }
    }
    return false;
  }

 private:
  struct Object {
    LoadedCodeObject where;
    std::vector<swap::KernelInfo> kernels;
    bool is_open;
    std::byte* mapped = nullptr;
  };

  static void open(Object& object) {
    object.is_open = true;
    const void* bytes = object.where.memory;
    if (bytes == nullptr && object.where.file >= 0) {
      struct stat status {};
      if (sys::fstat(object.where.file, &status) != 0) return;
      object.where.bytes = static_cast<uint64_t>(status.st_size);
      bytes = object.mapped = wavetap::sys::map(nullptr, object.where.bytes, PROT_READ, MAP_PRIVATE,
                                                object.where.file, 0);
    }
    if (bytes == nullptr) return;
    const Result<codeobj::CodeObject> opened = codeobj::CodeObject::open(
        {static_cast<const std::byte*>(bytes), static_cast<size_t>(object.where.bytes)});
    if (opened.ok()) object.kernels = swap::describe_all(*opened);
  }

  std::vector<Object> objects_;
};

// `whole`: what became of its code object; null: nothing was offered.
void decide(State& state, Swap& swap, OriginalCode& code, const Match& match,
            const WholeSwap* whole) {
  if (whole != nullptr && whole->verdict.is_legal()) {
    swap.is_whole = true;
    swap.candidate = whole->candidate;
    return;
  }
  if (code.describe(match, swap.original)) choose(state, swap);
  else swap.verdict = {Reason::kNoMetadata, "the kernel's own code object cannot be read"};
  note_version(swap);
  if (whole == nullptr || swap.verdict.is_legal()) return;
  if (swap.candidate == nullptr) {
    swap.candidate = whole->candidate;
    swap.verdict = whole->verdict;
  } else if (whole->verdict.reason != Reason::kTarget) {
    swap.verdict.why += "; its code object is not loaded in the place of the program's, because " +
                        whole->verdict.why;
  }
}

void on_frozen(uint64_t executable) {
  State* const state = g_swaps.load(std::memory_order_acquire);
  if (state == nullptr) return;
  const Locked locked(g_swap_lock);
  const WholeObjects wholes(executable);
  Matches matches{&state->table, &wholes, 0, {}};
  for (uint32_t i = 0; (matches.agent = gpu_agent(i)) != 0; ++i)
    hsa().hsa_executable_iterate_agent_symbols(executable, matches.agent,
                                               reinterpret_cast<void*>(&match_symbol), &matches);
  if (matches.found.empty()) return;
  OriginalCode code(executable);
  for (const Match& match : matches.found) {
    auto* const swap = new (std::nothrow) Swap;
    if (swap == nullptr) return count_loss(format::Loss::kNoMemory);
    swap->kernel_object = match.kernel_object;
    swap->executable = executable;
    swap->agent = match.agent;
    swap->original.name = match.name;
    decide(*state, *swap, code, match, wholes.find(match.agent, match.kernel_object));
    state->swaps.push_back(swap);
    if (!swap->is_whole) g_map.set(match.kernel_object, swap);
    write_swap(*swap);
  }
}

// A thread may still hold a Swap that it found; none is freed.
void on_destroyed(uint64_t executable) {
  State* const state = g_swaps.load(std::memory_order_acquire);
  if (state == nullptr) return;
  forget_whole_swaps(executable);
  const Locked locked(g_swap_lock);
  std::erase_if(state->swaps, [&](const Swap* swap) {
    if (swap->executable != executable) return false;
    g_map.set(swap->kernel_object, nullptr);
    return true;
  });
}

// ---- dispatches ----------------------------------------------------------------------------------

// With --swap-watch: another version of the file is used from this launch on.
void refresh(Swap& swap) {
  const Candidate* const candidate = swap.candidate;
  int64_t time_ns = 0;
  uint64_t bytes = 0;
  if (candidate == nullptr || !candidate->is_whole_file() ||
      !stat_swap_file(candidate->path.c_str(), time_ns, bytes))
    return;  // it is being replaced: what was there goes on
  if (time_ns == swap.seen_time_ns.load(std::memory_order_relaxed) &&
      bytes == swap.seen_bytes.load(std::memory_order_relaxed))
    return;
  if (!g_swap_lock.try_lock()) return;  // somebody is at it
  if (time_ns != swap.seen_time_ns.load(std::memory_order_relaxed) ||
      bytes != swap.seen_bytes.load(std::memory_order_relaxed)) {
    swap.seen_time_ns.store(time_ns, std::memory_order_relaxed);
    swap.seen_bytes.store(bytes, std::memory_order_relaxed);
    choose(*g_swaps.load(std::memory_order_relaxed), swap);
    write_swap(swap);
  }
  g_swap_lock.unlock();
}

void refuse_launch(Swap& swap, const Replacement& replacement,
                   const amd::KernelDispatchPacket& packet, Reason reason) {
  if (swap.launch_refused.exchange(true, std::memory_order_relaxed)) return;
  uint16_t workgroup[3];
  std::copy(std::begin(packet.workgroup_size), std::end(packet.workgroup_size), workgroup);
  write_swap(
      swap, format::SwapEvent::kLaunchRefused,
      {reason, swap::describe_launch(replacement.rules, workgroup, packet.group_segment_size)});
}

class SwapPolicy final : public DispatchPolicy {
 public:
  agent::Verdict before(DispatchView& dispatch) noexcept override {
    amd::KernelDispatchPacket& packet = dispatch.packet;
    Swap* const swap = g_map.find(packet.kernel_object);
    if (swap == nullptr) return agent::Verdict::kPass;
    if (g_watch.load(std::memory_order_relaxed)) refresh(*swap);
    const Replacement* const to = swap->replacement.load(std::memory_order_acquire);
    if (to == nullptr) return agent::Verdict::kPass;
    const uint16_t workgroup[3] = {packet.workgroup_size[0], packet.workgroup_size[1],
                                   packet.workgroup_size[2]};
    const Reason reason = swap::check_launch(to->rules, workgroup, packet.group_segment_size);
    if (reason != Reason::kNone) {
      refuse_launch(*swap, *to, packet, reason);
      return agent::Verdict::kPass;
    }
    if (g_turns.load(std::memory_order_relaxed) &&
        swap->launches.fetch_add(1, std::memory_order_relaxed) % 2 == 0)
      return agent::Verdict::kPass;
    packet.kernel_object = to->kernel_object;
    packet.group_segment_size = swap::lds_for(to->rules, packet.group_segment_size);
    packet.private_segment_size = swap::scratch_for(to->rules, packet.private_segment_size);
    return agent::Verdict::kPass;
  }
};
constinit SwapPolicy g_policy;

State* read_table() {
  const char* const path = secure_getenv(swap::kTableVariable);
  if (path == nullptr || *path == '\0') return nullptr;
  const std::optional<std::string> text = wavetap::sys::read_file(path, SIZE_MAX);
  if (!text) {
    say("error: swap: %s cannot be read; no kernel is replaced", path);
    return nullptr;
  }
  Result<swap::Table> table = swap::Table::parse(*text);
  if (!table.ok()) {
    say("error: swap: %s: %s; no kernel is replaced", path, table.error().message.c_str());
    return nullptr;
  }
  auto* const state = new (std::nothrow) State;
  if (state != nullptr) state->table = std::move(*table);
  return state;
}

}  // namespace

void start_swap() {
  static bool s_started = false;  // under the lock of the runtime's loading
  if (s_started) return;
  s_started = true;
  State* const state = read_table();
  if (state == nullptr || state->table.empty()) return;
  g_watch.store(state->table.watches(), std::memory_order_relaxed);
  g_turns.store(state->table.takes_turns(), std::memory_order_relaxed);
  g_swaps.store(state, std::memory_order_release);
  start_whole_swaps(state->table);
  listen_to_executables(&on_frozen, &on_destroyed);
  add_fact_source(&write_known_swaps);
  if (!add_dispatch_policy(g_policy)) say("error: swap: too many tools; no kernel is replaced");
}

void forget_swaps() {
  State* const state = g_swaps.load(std::memory_order_acquire);
  if (state == nullptr) return;
  const Locked locked(g_swap_lock);
  g_map.clear();
  state->swaps.clear();
  state->loaded.clear();
  forget_whole_swaps();
}

void unlock_swaps_after_fork() {
  new (&g_swap_lock) LockWord;
  unlock_whole_swaps_after_fork();
}

}  // namespace wavetap::agent
