#include "agent/swap_whole.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"
#include "agent/swap_code.h"
#include "base/sys_files.h"
#include "codeobj/code_object.h"
#include "swap/whole.h"

namespace wavetap::agent {
namespace {

using swap::Reason;
using swap::Verdict;

// Where a reader finds its code object.
struct Reader {
  uint64_t handle;
  const void* memory;  // null: in the file
  uint64_t bytes;
  int file;
};

// A code object that may be loaded, and a reader of ours for it.
struct Offer {
  std::unique_ptr<SwapCode> code;
  uint64_t reader = 0;
  std::vector<uint64_t> agents;  // for which the runtime is known to load it
};

struct Whole {
  const swap::Table* table;
  std::vector<Offer> offers;
  std::vector<WholeSwap> swaps;
};

constinit LockWord g_readers_lock;
constinit LockWord g_whole_lock;
constinit std::atomic<Whole*> g_whole{nullptr};
constinit std::vector<Reader>* g_readers = nullptr;  // under its lock

// ---- readers -------------------------------------------------------------------------------------

void note_reader(const Reader& reader) {
  const Locked locked(g_readers_lock);
  if (g_readers == nullptr) g_readers = new (std::nothrow) std::vector<Reader>;
  if (g_readers == nullptr) return;
  // One that went in a way that we do not see has left its handle to this one.
  std::erase_if(*g_readers, [&](const Reader& one) { return one.handle == reader.handle; });
  g_readers->push_back(reader);
}

void forget_reader(uint64_t handle) {
  const Locked locked(g_readers_lock);
  if (g_readers != nullptr)
    std::erase_if(*g_readers, [&](const Reader& one) { return one.handle == handle; });
}

std::optional<Reader> find_reader(uint64_t handle) {
  const Locked locked(g_readers_lock);
  if (g_readers != nullptr)
    for (const Reader& one : *g_readers)
      if (one.handle == handle) return one;
  return std::nullopt;
}

// The bytes behind a reader while they are looked at.
class ReaderBytes {
 public:
  explicit ReaderBytes(const Reader& reader) : memory_(reader.memory), bytes_(reader.bytes) {
    struct stat status {};
    if (memory_ != nullptr || sys::fstat(reader.file, &status) != 0) return;
    bytes_ = static_cast<uint64_t>(status.st_size);
    memory_ = mapped_ = wavetap::sys::map(nullptr, bytes_, PROT_READ, MAP_PRIVATE, reader.file, 0);
  }
  ~ReaderBytes() {
    if (mapped_ != nullptr) wavetap::sys::unmap(mapped_, bytes_);
  }
  ReaderBytes(const ReaderBytes&) = delete;
  ReaderBytes& operator=(const ReaderBytes&) = delete;

  std::span<const std::byte> bytes() const {
    if (memory_ == nullptr) return {};
    return {static_cast<const std::byte*>(memory_), static_cast<size_t>(bytes_)};
  }

 private:
  const void* memory_;
  uint64_t bytes_;
  std::byte* mapped_ = nullptr;
};

// ---- choosing ------------------------------------------------------------------------------------

Offer* offer_for(Whole& whole, const swap::Candidate& candidate, Verdict& why) {
  for (Offer& offer : whole.offers)
    if (offer.code->offset == candidate.offset && offer.code->path == candidate.path &&
        offer.code->time_ns == candidate.file_time_ns)
      return &offer;
  std::unique_ptr<SwapCode> fresh;
  why = read_swap_code(candidate, /*any_version=*/false, fresh);
  if (!why.is_legal()) return nullptr;
  return &whole.offers.emplace_back(Offer{.code = std::move(fresh), .agents = {}});
}

// That the runtime loads it at all: the program's executable cannot be cleaned of half a load.
bool is_loadable(Offer& offer, uint64_t agent, Verdict& why) {
  if (std::find(offer.agents.begin(), offer.agents.end(), agent) != offer.agents.end()) return true;
  if (!try_swap_code(*offer.code, agent, why)) return false;
  offer.agents.push_back(agent);
  if (offer.reader != 0) return true;
  const SwapCode& code = *offer.code;
  if (hsa().hsa_code_object_reader_create_from_memory(code.content.data(), code.content.size(),
                                                      &offer.reader) != kHsaSuccess) {
    offer.reader = 0;
    why = {Reason::kRefused, "the GPU runtime does not read it"};
    return false;
  }
  name_memory(code.content.data(), code.path.c_str(), code.offset, code.content.size());
  return true;
}

Offer* try_offer(Whole& whole, const swap::Candidate& candidate, swap::ObjectView original,
                 uint64_t agent, Verdict& why) {
  const swap::KernelInfo& first = original.kernels.front();
  const std::optional<amd::GfxTarget> target = amd::parse_gfx_target(candidate.target_id);
  if (target && *target != first.target) {
    why = {Reason::kTarget, "it is code for " + candidate.target_id + ", and the kernel's is for " +
                                first.target_id};
    return nullptr;
  }
  Offer* const offer = offer_for(whole, candidate, why);
  if (offer == nullptr) return nullptr;
  why = swap::check_whole(*whole.table, candidate, original,
                          {offer->code->kernels, offer->code->variables});
  return why.is_legal() && is_loadable(*offer, agent, why) ? offer : nullptr;
}

// The reader of what is to be loaded instead; 0: the program's own.
uint64_t choose_whole(uint64_t executable, uint64_t agent, const Reader& reader) {
  const ReaderBytes bytes(reader);
  const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(bytes.bytes());
  if (!object.ok() || object->kernels().empty()) return 0;
  const Locked locked(g_whole_lock);
  Whole& whole = *g_whole.load(std::memory_order_acquire);
  // Names first: most code objects are not meant, and describing one means to scan its code.
  if (!swap::is_named(*whole.table, *object)) return 0;
  const std::vector<swap::KernelInfo> kernels = swap::describe_all(*object);
  const std::vector<swap::Variable> variables = swap::exported_variables(*object);
  WholeSwap result{
      .executable = executable, .agent = agent, .memory = reader.memory, .verdict = {}};
  uint64_t other = 0;
  for (const swap::Candidate* const candidate : swap::whole_offers(*whole.table, kernels)) {
    Verdict why;
    const Offer* const offer = try_offer(whole, *candidate, {kernels, variables}, agent, why);
    if (offer == nullptr && !swap::says_more(result.candidate, result.verdict)) continue;
    result.candidate = candidate;
    result.verdict = std::move(why);
    if (offer == nullptr) continue;
    result.memory = offer->code->content.data();
    other = offer->reader;
    break;
  }
  if (result.candidate != nullptr) whole.swaps.push_back(std::move(result));
  return other;
}

// It could be loaded into an executable of ours, and not into the program's.
void take_back(uint64_t executable, uint64_t agent, const void* memory, HsaStatus status) {
  const Locked locked(g_whole_lock);
  std::vector<WholeSwap>& swaps = g_whole.load(std::memory_order_acquire)->swaps;
  for (auto swap = swaps.rbegin(); swap != swaps.rend(); ++swap) {
    if (swap->executable != executable || swap->agent != agent) continue;
    swap->memory = memory;
    swap->verdict = {
        Reason::kRefused,
        errorf("the GPU runtime does not load it for the program: status 0x%x", status).message};
    return;
  }
}

// ---- hooks ---------------------------------------------------------------------------------------

HsaStatus on_reader_from_memory(const void* memory, size_t bytes, uint64_t* reader) {
  const HsaStatus status = hsa().hsa_code_object_reader_create_from_memory(memory, bytes, reader);
  if (status == kHsaSuccess) note_reader({*reader, memory, bytes, -1});
  return status;
}

HsaStatus on_reader_from_file(int32_t file, uint64_t* reader) {
  const HsaStatus status = hsa().hsa_code_object_reader_create_from_file(file, reader);
  if (status == kHsaSuccess) note_reader({*reader, nullptr, 0, file});
  return status;
}

HsaStatus on_reader_destroy(uint64_t reader) {
  forget_reader(reader);
  return hsa().hsa_code_object_reader_destroy(reader);
}

HsaStatus on_load_code_object(uint64_t executable, uint64_t agent, uint64_t reader,
                              const char* options, uint64_t* loaded) {
  const auto load = hsa().hsa_executable_load_agent_code_object;
  const std::optional<Reader> known = find_reader(reader);
  const uint64_t other = known ? choose_whole(executable, agent, *known) : 0;
  if (other != 0) {
    const HsaStatus status = load(executable, agent, other, options, loaded);
    if (status == kHsaSuccess) return status;
    take_back(executable, agent, known->memory, status);
  }
  return load(executable, agent, reader, options, loaded);
}

}  // namespace

void start_whole_swaps(const swap::Table& table) {
  // By turns and with changing files a kernel is chosen at its launches.
  const bool is_offered =
      !table.watches() && !table.takes_turns() &&
      std::any_of(table.candidates().begin(), table.candidates().end(),
                  [](const swap::Candidate& one) { return one.offers_whole(); });
  if (!is_offered) return;
  if (auto* const whole = new (std::nothrow) Whole{&table, {}, {}})
    g_whole.store(whole, std::memory_order_release);
}

void install_whole_hooks() {
  if (g_whole.load(std::memory_order_acquire) == nullptr || !can_load_swap_code()) return;
  g_hsa_table.install(&Hsa::hsa_code_object_reader_create_from_memory, &on_reader_from_memory);
  g_hsa_table.install(&Hsa::hsa_code_object_reader_create_from_file, &on_reader_from_file);
  g_hsa_table.install(&Hsa::hsa_code_object_reader_destroy, &on_reader_destroy);
  g_hsa_table.install(&Hsa::hsa_executable_load_agent_code_object, &on_load_code_object);
}

std::optional<WholeSwap> find_whole_swap(uint64_t executable, uint64_t agent, const void* memory) {
  const Whole* const whole = g_whole.load(std::memory_order_acquire);
  if (whole == nullptr) return std::nullopt;
  const Locked locked(g_whole_lock);
  for (const WholeSwap& swap : whole->swaps)
    if (swap.executable == executable && swap.agent == agent && swap.memory == memory) return swap;
  return std::nullopt;
}

void forget_whole_swaps(uint64_t executable) {
  Whole* const whole = g_whole.load(std::memory_order_acquire);
  if (whole == nullptr) return;
  const Locked locked(g_whole_lock);
  std::erase_if(whole->swaps, [&](const WholeSwap& swap) { return swap.executable == executable; });
}

void forget_whole_swaps() {
  Whole* const whole = g_whole.load(std::memory_order_acquire);
  if (whole == nullptr) return;
  const Locked locked(g_whole_lock);
  whole->swaps.clear();
  for (Offer& offer : whole->offers) {
    offer.reader = 0;
    offer.agents.clear();
  }
  const Locked readers(g_readers_lock);
  if (g_readers != nullptr) g_readers->clear();
}

void unlock_whole_swaps_after_fork() {
  new (&g_whole_lock) LockWord;
  new (&g_readers_lock) LockWord;
}

}  // namespace wavetap::agent
