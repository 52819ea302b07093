#include "vgpu/probe_hook.h"

#include <algorithm>
#include <charconv>
#include <new>

#include "base/log.h"
#include "probe/handler_list.h"
#include "vgpu/gpu.h"
#include "vgpu/queue_kernel_names.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {
namespace {

constexpr uint32_t kMostKernargBytes = 64 << 10;

// The code object that holds a code, as ROCr has loaded it.
struct Home {
  std::vector<std::byte> image;  // empty: none
  uint64_t linked = 0;           // where the code begins in it
};

Home find_home(const probe::Code& code) {
  Home home;
  const uint64_t address = code.described.address;
  for_each_code_object([&](uint64_t delta) { return home.image.empty() && delta <= address; },
                       [&](const LoadedCodeObject& object) {
                         if (!home.image.empty()) return;
                         const auto elf = codeobj::ElfView::open(object.image);
                         const uint64_t linked = address - object.delta;
                         if (!elf || elf->at_address(linked, code.size_bytes).empty()) return;
                         home.image = object.image;
                         home.linked = linked;
                       });
  return home;
}

}  // namespace

// --- What handlers can ask.

struct ProbeHook::Files::Known {
  Home home;
  codeobj::SourceMap map;
  std::mutex mutex;
  // Names live for ever: handlers keep pointers to them.
  std::map<uint32_t, std::vector<codeobj::SourceFrame>> frames_of_site;
};

uint32_t ProbeHook::Files::source(const probe::Code& code, uint32_t site, uint32_t frame,
                                  wavetap_source* out) noexcept {
  std::shared_ptr<Known> known;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Known>& entry = known_[code.described.id];
    if (entry == nullptr) {
      entry = std::make_shared<Known>();
      entry->home = find_home(code);
      if (const auto elf = codeobj::ElfView::open(entry->home.image))
        entry->map = codeobj::SourceMap(*elf);
    }
    known = entry;
  }
  const std::lock_guard lock(known->mutex);
  const auto [frames, is_new] = known->frames_of_site.try_emplace(site);
  if (is_new) frames->second = known->map.frames(known->home.linked + code.sites[site].offset);
  if (frame < frames->second.size() && out != nullptr) {
    const codeobj::SourceFrame& found = frames->second[frame];
    out->file = found.file.c_str();
    out->function = found.function.c_str();
    out->line = found.line;
    out->column = found.column;
  }
  return static_cast<uint32_t>(frames->second.size());
}

bool ProbeHook::Files::buffer(uint32_t, uint64_t address, wavetap_buffer* out) noexcept {
  const std::optional<Allocation> found = allocations_.lookup({address});
  if (!found) return false;
  out->address = found->va;
  out->size_bytes = found->requested_bytes != 0 ? found->requested_bytes : found->size_bytes;
  out->kind = buffer_kind_name(found->kind);
  return true;
}

// --- The hook.

ProbeHook::ProbeHook(const Config& config, const AllocationTable& allocations)
    : config_(config),
      launches_(format::LaunchChoice::of_checked(config.probe_launches)),
      kernels_([this](const KnownKernel& kernel) { return matches(kernel); }),
      files_(config.probe_dir, allocations),
      session_(files_) {
  has_pattern_ = !config.probe_kernels.empty() &&
                 ::regcomp(&pattern_, config.probe_kernels.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
  has_library_ =
      !config.probe_libraries.empty() &&
      ::regcomp(&library_, config.probe_libraries.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
  has_not_library_ =
      !config.probe_not_libraries.empty() &&
      ::regcomp(&not_library_, config.probe_not_libraries.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
  for (const probe::RefusedHandler& refused :
       probe::open_handlers(probe::parse_handlers(config.probe_handlers), session_))
    files_.refused(refused.name, refused.why);
}

bool ProbeHook::matches(const KnownKernel& kernel) const {
  if (has_library_ && ::regexec(&library_, kernel.library.c_str(), 0, nullptr, 0) != 0)
    return false;
  if (has_not_library_ && ::regexec(&not_library_, kernel.library.c_str(), 0, nullptr, 0) == 0)
    return false;
  if (has_pattern_) return ::regexec(&pattern_, kernel.name.c_str(), 0, nullptr, 0) == 0;
  // HIP brings kernels as well, in a code object of its own.
  return !kernel.built_in && !kernel.name.starts_with("__amd_rocclr_");
}

bool ProbeHook::wants_launch(uint64_t launch, const std::string& kernel) {
  bool is_first = false;
  if (launches_.asks_for_first()) {
    const std::lock_guard lock(launched_mutex_);
    is_first = launched_.insert(kernel).second;
  }
  if (!launches_.is_empty()) return launches_.contains(launch, is_first);
  return config_.probe_every <= 1 || (launch - 1) % config_.probe_every == 0;
}

Interest ProbeHook::interest(const DispatchView&) noexcept {
  return session_.empty() ? Interest::kNone : Interest::kSome;
}

void* ProbeHook::before(DispatchView& view) noexcept {
  const std::span<emu::Watcher* const> others = view.dispatch.watchers;
  const std::shared_ptr<const KnownKernel> kernel = kernels_.of(view);
  if (kernel == nullptr || !kernel->chosen || others.size() == emu::kMaxWatchers) return nullptr;
  const uint64_t launch = matched_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!wants_launch(launch, kernel->name)) return nullptr;
  if (config_.probe_max != 0 && taken_.fetch_add(1, std::memory_order_relaxed) >= config_.probe_max)
    return nullptr;
  auto* probing = new (std::nothrow) Probing;
  if (probing == nullptr) return nullptr;
  probe::DispatchFacts& facts = probing->facts;
  facts.kernel = kernel->name;
  facts.gpu_model = view.gpu.model.name;
  facts.gpu = view.gpu.index;
  facts.queue = view.queue_id;
  facts.line_bytes = view.gpu.model.vector_line_bytes();
  facts.wave64 =
      !view.dispatch.target.has_wave32() || !kernel->descriptor.has(amd::kWavefrontSize32);
  facts.kernarg.resize(std::min(kernel->descriptor.kernarg_size, kMostKernargBytes));
  if (!view.memory.read(view.dispatch.kernarg, facts.kernarg.data(), facts.kernarg.size()))
    facts.kernarg.clear();
  probing->record.id = session_.begin(view.dispatch, facts);
  probing->record.launch = launch;
  probing->record.dispatch_id = view.dispatch.dispatch_id;
  std::copy(others.begin(), others.end(), probing->watchers);
  probing->watchers[others.size()] = &session_;
  view.dispatch.watchers = {probing->watchers, others.size() + 1};
  return probing;
}

void ProbeHook::keep_new_code(const DispatchView& view) {
  for (const probe::Code* code : session_.take_new_code()) {
    const Home home = find_home(*code);
    std::vector<std::byte> bytes(home.image.empty() ? code->size_bytes : 0);
    if (!view.memory.read({code->described.address}, bytes.data(), bytes.size())) bytes.clear();
    files_.code(*code, home.image, home.linked, bytes);
  }
}

void ProbeHook::after(const DispatchView& view, void* state) noexcept {
  const std::unique_ptr<Probing> probing(static_cast<Probing*>(state));
  if (probing == nullptr) {
    files_.left_out();
    return;
  }
  const uint32_t status = view.result->fault       ? WAVETAP_FAULTED
                          : view.result->cancelled ? WAVETAP_ABANDONED
                                                   : WAVETAP_COMPLETE;
  if (view.result->fault) probing->record.fault = emu::fault_name(view.result->fault->kind);
  keep_new_code(view);
  session_.end(view.dispatch, status);
  files_.dispatch(probing->record, view.dispatch, probing->facts, status);
}

}  // namespace wavetap::vgpu
