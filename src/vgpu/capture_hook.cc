#include "vgpu/capture_hook.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "amd/kfd_abi.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "capture/capture_facts.h"
#include "emu/amd_counters.h"
#include "vgpu/capture_memory.h"
#include "vgpu/gpu.h"
#include "vgpu/guard.h"
#include "vgpu/launch_choice.h"
#include "vgpu/queue_kernel_names.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {
namespace {

using capture::Payload;
using format::CaptureMemoryKind;
using format::CaptureMemoryOrigin;
using format::CapturePhase;
using format::CaptureRecordType;

CaptureMemoryKind kind_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::kVram: return CaptureMemoryKind::kVram;
    case BufferKind::kGtt: return CaptureMemoryKind::kGtt;
    case BufferKind::kUserptr: return CaptureMemoryKind::kUserptr;
    case BufferKind::kDoorbell: return CaptureMemoryKind::kDoorbell;
    case BufferKind::kMmio: return CaptureMemoryKind::kMmio;
    case BufferKind::kSvm: return CaptureMemoryKind::kSvm;
  }
  return CaptureMemoryKind::kUnknown;
}

CaptureMemoryOrigin origin_of(AllocationOrigin origin) {
  switch (origin) {
    case AllocationOrigin::kDriver: return CaptureMemoryOrigin::kDriver;
    case AllocationOrigin::kImported: return CaptureMemoryOrigin::kImported;
    case AllocationOrigin::kBound: return CaptureMemoryOrigin::kBound;
    case AllocationOrigin::kSvm: return CaptureMemoryOrigin::kSvm;
  }
  return CaptureMemoryOrigin::kUnknown;
}

bool is_memory(CaptureMemoryKind kind) {
  return kind != CaptureMemoryKind::kDoorbell && kind != CaptureMemoryKind::kMmio;
}

// A file of the driver's: pages never touched take no memory.
bool is_ours(CaptureMemoryKind kind) {
  return kind == CaptureMemoryKind::kVram || kind == CaptureMemoryKind::kGtt;
}

}  // namespace

CaptureHook::CaptureHook(const Config& config, const AllocationTable& allocations)
    : config_(config),
      allocations_(allocations),
      launches_(format::LaunchList::of_checked(config.capture_launches)),
      pattern_(config.capture_pattern),
      kernels_([this](const KnownKernel& kernel) { return matches(kernel); }),
      writer_(config.capture_dir + "/" + std::to_string(sys::pid()) + ".wtcap") {}

bool CaptureHook::matches(const KnownKernel& kernel) const {
  return pattern_.empty() ? !is_runtimes_own(kernel) : pattern_.matches(kernel.name);
}

// The recorder is in the process, unless the program was started without it.
bool CaptureHook::launch_context(const DispatchView& view, format::LaunchContext* context) {
  static const auto s_ask = reinterpret_cast<format::LaunchContextFunction>(
      ::dlsym(RTLD_DEFAULT, format::kLaunchContextFunction));
  return s_ask != nullptr &&
         s_ask(view.dispatch.queue.value, view.dispatch.dispatch_id, context) != 0;
}

bool CaptureHook::wants_launch(uint64_t launch) const {
  if (!launches_.empty()) return launches_.contains(launch);
  return config_.capture_every <= 1 || (launch - 1) % config_.capture_every == 0;
}

Interest CaptureHook::interest(const DispatchView& view) noexcept {
  const uint64_t dispatch = dispatches_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (failed_.load(std::memory_order_relaxed)) return Interest::kNone;
  std::shared_ptr<const KnownKernel> kernel = kernels_.of(view);
  if (kernel == nullptr || !kernel->chosen) return Interest::kNone;
  if (config_.capture_range) {
    format::LaunchContext context;
    if (!launch_context(view, &context) || context.is_in_range == 0) return Interest::kNone;
  }
  const uint64_t launch = matched_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!wants_launch(launch)) return Interest::kNone;
  const std::lock_guard lock(mutex_);
  if (config_.capture_max != 0 && taken_ >= config_.capture_max) return Interest::kNone;
  ++taken_;
  chosen_[{view.gpu.index, view.queue_id}] = {std::move(kernel), launch, dispatch};
  return Interest::kAlone;
}

void CaptureHook::put_dispatch(const DispatchView& view, const Chosen& chosen, uint32_t capture) {
  const emu::Dispatch& dispatch = view.dispatch;
  format::CaptureDispatch record{};
  record.capture = capture;
  record.flags = (view.alone ? 0 : format::kCaptureUnordered) |
                 (dispatch.cooperative ? format::kCaptureCooperative : 0) |
                 (dispatch.sram_ecc ? format::kCaptureSramEcc : 0);
  record.launch = chosen.launch;
  record.dispatch = chosen.dispatch;
  std::memcpy(record.packet, &view.packet, sizeof record.packet);
  record.packet_address = dispatch.packet.value;
  record.queue_address = dispatch.queue.value;
  record.dispatch_id = dispatch.dispatch_id;
  record.kernel_object = dispatch.kernel_object.value;
  record.kernarg = dispatch.kernarg.value;
  for (int axis = 0; axis < 3; ++axis) {
    record.grid_size[axis] = dispatch.grid_size[axis];
    record.workgroup_size[axis] = dispatch.workgroup_size[axis];
  }
  record.group_segment_bytes = dispatch.group_segment_bytes;
  record.private_segment_bytes = dispatch.private_segment_bytes;
  record.queue = view.queue_id;
  record.gpu = view.gpu.index;
  record.compute_units = dispatch.cu_count;
  record.xccs = dispatch.xcc_count;
  record.target[0] = dispatch.target.major;
  record.target[1] = dispatch.target.minor;
  record.target[2] = dispatch.target.stepping;
  record.pid = static_cast<uint32_t>(sys::pid());
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  record.wall_ns = wall.tv_sec * 1'000'000'000LL + wall.tv_nsec;
  Payload payload(record);
  payload.text(chosen.kernel->name);
  payload.text(view.gpu.model.name);
  payload.text(view.gpu.model.marketing_name);
  payload.text(capture::command_line());
  writer_.put(CaptureRecordType::kDispatch, payload);
}

void CaptureHook::put_facts(const DispatchView& view, uint32_t capture) {
  capture::FactList facts(capture);
  facts.add("wavetap", WAVETAP_VERSION);
  facts.add("model", view.gpu.model.text);
  capture::add_libraries(facts);
  format::LaunchContext context;
  if (launch_context(view, &context))
    capture::add_host_stack(facts, std::span(context.stack, context.frames));
  static const auto s_each = reinterpret_cast<format::HipAllocationsFunction>(
      ::dlsym(RTLD_DEFAULT, format::kHipAllocationsFunction));
  if (s_each != nullptr)
    s_each(
        [](void* list, const format::HipAllocation* allocation) {
          capture::add_hip_allocation(*static_cast<capture::FactList*>(list), *allocation);
        },
        &facts);
  // Ends of allocations to the byte, where the program's own request is known.
  allocations_.for_each([&](const Allocation& allocation) {
    if (allocation.requested_bytes == 0) return;
    facts.add(format::kCaptureRequestedFact + std::to_string(allocation.va),
              std::to_string(allocation.requested_bytes));
  });
  for (const AliasedRange& alias : find_aliases(view.gpu.space.ranges()))
    facts.add(format::kCaptureAliasFact + std::to_string(alias.address),
              std::to_string(alias.same_as));
  // Counters on which waves wait for each other; what sets them up is another dispatch.
  for (uint32_t i = 0; i < emu::WaveSync::kResources; ++i) {
    const uint64_t value = view.gpu.space.wave_sync.resource[i].load(std::memory_order_relaxed);
    if (value != 0) facts.add("wave_sync." + std::to_string(i), std::to_string(value));
  }
  writer_.put(facts);
}

void CaptureHook::put_region(const DispatchView& view, const emu::MappedRange& range,
                             Frozen& frozen) {
  format::CaptureRegion record{};
  record.capture = frozen.capture;
  record.region = static_cast<uint32_t>(frozen.regions.size());
  record.address = range.begin;
  record.size_bytes = range.end - range.begin;
  record.rights = (range.readable ? format::kCaptureReadable : 0) |
                  (range.writable ? format::kCaptureWritable : 0) |
                  (range.executable ? format::kCaptureExecutable : 0);
  if (const std::optional<Allocation> found = allocations_.lookup(GpuAddr{range.begin})) {
    record.kind = kind_of(found->kind);
    record.origin = origin_of(found->origin);
    record.allocation_address = found->va;
    record.allocation_bytes = found->size_bytes;
    if (found->origin != AllocationOrigin::kSvm && (found->flags & amd::kKfdAllocCoherent) != 0)
      record.flags |= format::kCaptureFineGrained;
  }
  Region region{range.begin,
                record.size_bytes,
                is_memory(record.kind),
                is_ours(record.kind) || private_.holds(range.host, record.size_bytes),
                {}};
  if (region.has_contents) {
    const bool all_read = for_each_page(view.memory, range, region.begins_zero, buffer_,
                                        [&](uint32_t page, const std::byte* bytes) {
                                          if (const uint32_t id = writer_.put_page(bytes); id != 0)
                                            region.pages.add(page, id);
                                        });
    if (!all_read) record.flags |= format::kCaptureUnreadable;
  } else {
    record.flags |= format::kCaptureNoContents;
  }
  writer_.put(CaptureRecordType::kRegion, Payload(record));
  writer_.put_runs(frozen.capture, record.region, CapturePhase::kBefore, region.pages);
  frozen.regions.push_back(std::move(region));
}

void CaptureHook::put_code_objects(const DispatchView& view, uint32_t capture) {
  uint32_t number = 0;
  const auto is_here = [&](uint64_t delta) {
    return view.gpu.space.lookup(GpuAddr{delta}).contains(delta, 1);
  };
  for_each_code_object(is_here, [&](const LoadedCodeObject& object) {
    constexpr uint64_t kPage = format::kCapturePageBytes;
    capture::PageRuns pages;
    for (uint64_t at = 0; at < object.image.size(); at += kPage) {
      std::byte page[kPage] = {};
      std::memcpy(page, object.image.data() + at,
                  std::min<uint64_t>(kPage, object.image.size() - at));
      if (const uint32_t id = writer_.put_page(page); id != 0)
        pages.add(static_cast<uint32_t>(at / kPage), id);
    }
    Payload payload(format::CaptureCodeObject{capture, number, object.delta, object.image.size()});
    payload.text(object.uri);
    writer_.put(CaptureRecordType::kCodeObject, payload);
    writer_.put_runs(capture, number, CapturePhase::kCodeObject, pages);
    ++number;
  });
}

void* CaptureHook::before(DispatchView& view) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = chosen_.find({view.gpu.index, view.queue_id});
  if (found == chosen_.end()) return nullptr;
  const Chosen chosen = std::move(found->second);
  chosen_.erase(found);
  arm_guard();
  view.dispatch.count = true;
  auto* frozen = new (std::nothrow) Frozen;
  int error = writer_.begin();
  if (frozen != nullptr && error == 0) {
    frozen->capture = ++captures_;
    put_dispatch(view, chosen, frozen->capture);
    put_facts(view, frozen->capture);
    put_code_objects(view, frozen->capture);
    private_.read();
    for (const emu::MappedRange& range : view.gpu.space.ranges()) put_region(view, range, *frozen);
    writer_.put(CaptureRecordType::kBeforeDone, Payload(format::CaptureMark{frozen->capture, 0}));
    error = writer_.end();
  }
  finish(error);
  if (error == 0) return frozen;
  delete frozen;
  return nullptr;
}

void CaptureHook::put_changes(const DispatchView& view, const Frozen& frozen) {
  for (uint32_t number = 0; number < frozen.regions.size(); ++number) {
    const Region& region = frozen.regions[number];
    const emu::MappedRange range = view.gpu.space.lookup(GpuAddr{region.address});
    if (!region.has_contents || range.begin != region.address ||
        range.end - range.begin != region.size_bytes)
      continue;
    capture::PageRuns changes;
    for_each_page(view.memory, range, region.begins_zero, buffer_,
                  [&](uint32_t page, const std::byte* bytes) {
                    if (!writer_.holds(region.pages.id_of(page), bytes))
                      changes.add(page, writer_.put_page(bytes));
                  });
    writer_.put_runs(frozen.capture, number, CapturePhase::kAfter, changes);
  }
}

void CaptureHook::after(const DispatchView& view, void* state) noexcept {
  const std::unique_ptr<Frozen> frozen(static_cast<Frozen*>(state));
  if (frozen == nullptr) return;
  const std::lock_guard lock(mutex_);
  arm_guard();
  int error = writer_.begin();
  if (error == 0) {
    put_changes(view, *frozen);
    capture::FactList facts(frozen->capture);
#define WT_COUNTER(name, help) \
  facts.add("counter." #name, std::to_string(view.result->counters.name));
#include "emu/counters.inc"
#undef WT_COUNTER
    // What the kernel had allocated for it, by calling the host: a replay gives it the same places.
    for (const emu::MappedRange& range : view.gpu.space.ranges()) {
      if (std::any_of(frozen->regions.begin(), frozen->regions.end(),
                      [&](const Region& region) { return region.address == range.begin; }))
        continue;
      facts.add(format::kCaptureAllocatedFact + std::to_string(range.begin),
                std::to_string(range.end - range.begin));
    }
    writer_.put(facts);
    format::CaptureEnd end{};
    end.capture = frozen->capture;
    end.flags = (view.result->fault ? format::kCaptureFaulted : 0) |
                (view.result->cancelled ? format::kCaptureCancelled : 0) |
                (view.alone ? 0 : format::kCaptureEndUnordered);
    end.begin_ticks = view.times.begin.value;
    end.end_ticks = view.times.end.value;
    Payload payload(end);
    payload.text(view.result->fault ? emu::fault_name(view.result->fault->kind) : "");
    writer_.put(CaptureRecordType::kEnd, payload);
    error = writer_.end();
  }
  finish(error);
}

void CaptureHook::finish(int error) {
  if (error == 0 || failed_.exchange(true, std::memory_order_relaxed)) return;
  log::complain("%s: cannot be written: %s; nothing more is captured", writer_.path().c_str(),
                std::strerror(error));
}

}  // namespace wavetap::vgpu
