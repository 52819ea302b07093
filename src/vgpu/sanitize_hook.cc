#include "vgpu/sanitize_hook.h"

#include <time.h>

#include <algorithm>
#include <new>

#include "amd/kfd_abi.h"
#include "base/json_line.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "sanitize/finding_line.h"
#include "vgpu/gpu.h"
#include "vgpu/instruction_text.h"
#include "vgpu/queue_kernel_names.h"
#include "vgpu/queue_memory.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {
namespace {

using sanitize::Finding;
using sanitize::Neighbour;

uint64_t used_bytes(const Allocation& allocation) {
  return allocation.requested_bytes != 0 ? allocation.requested_bytes : allocation.size_bytes;
}

// The clock of traces.
uint64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// What the kernel's arguments point at, as the dispatch has them.
std::vector<sanitize::PointerArgument> pointers_of(KernelFinder& finder, Gpu& gpu,
                                                   GuestMemory& memory,
                                                   const emu::Dispatch& dispatch) {
  const GpuAddr kernel_object = dispatch.kernel_object;
  const KernelPlace kernel = finder.find(gpu, memory, kernel_object, kernel_object);
  std::vector<sanitize::PointerArgument> pointers;
  size_t number = 0;
  for (const codeobj::KernelArg& arg : kernel.args) {
    if (arg.is_hidden()) continue;
    uint64_t value = 0;
    if (arg.value_kind == "global_buffer" && arg.size_bytes == sizeof value &&
        memory.read(dispatch.kernarg + arg.offset, &value, sizeof value))
      pointers.push_back({number, arg.name, value});
    ++number;
  }
  return pointers;
}

// Valid while the others are.
sanitize::Naming naming_of(KernelFinder& finder, GuestMemory& memory, const RanKernel& ran,
                           GpuAddr other_pc, GpuAddr other_kernel) {
  const auto find_code = [&memory, &ran, &finder, other_pc, other_kernel](GpuAddr pc) {
    const bool is_other = other_kernel.value != 0 && pc == other_pc;
    const GpuAddr kernel = is_other ? other_kernel : ran.object;
    const KernelPlace where = finder.find(*ran.gpu, memory, kernel, pc);
    sanitize::CodePlace code;
    code.instruction = instruction_at(memory, ran.gpu->model.target, kernel, pc);
    if (where.has_entry && pc.value >= where.entry.value)
      code.offset = pc.value - where.entry.value;
    code.frames = where.frames;
    return code;
  };
  return {find_code, ran.pointers};
}

}  // namespace

void AllocationMap::list(std::vector<sanitize::Block>& blocks) const noexcept {
  table_.for_each([&](const Allocation& allocation) {
    if ((allocation.mapped_gpus >> gpu_ & 1) == 0) return;
    // Flags of SVM ranges mean other things; the page table knows.
    const bool writable = allocation.origin != AllocationOrigin::kSvm &&
                          (allocation.flags & amd::kKfdAllocWritable) != 0;
    const AddressRange all{allocation.va, allocation.va + used_bytes(allocation)};
    for (const UsableRange& part : table_.annotations().usable(all))
      blocks.push_back({part.range.begin, part.range.end, writable && !part.is_read_only,
                        starts_undefined(allocation)});
  });
}

Neighbour AllocationMap::neighbour(GpuAddr address) const noexcept {
  const std::optional<NearAllocation> near = table_.nearest(address);
  if (!near) return {};
  const Allocation& allocation = near->allocation;
  Neighbour beside;
  beside.begin = allocation.va;
  beside.size_bytes = used_bytes(allocation);
  beside.exact = allocation.requested_bytes != 0;
  beside.freed = near->freed;
  beside.memory = buffer_kind_name(allocation.kind);
  if (allocation.owner != nullptr) beside.gpu = static_cast<int>(allocation.owner->index);
  if (const std::optional<NearBlock> block = table_.annotations().nearest(address.value)) {
    beside.begin = block->block.begin;
    beside.size_bytes = block->block.end - block->block.begin;
    beside.exact = true;
    beside.freed = block->freed;
    beside.is_block = true;
  }
  beside.relate(address.value);
  return beside;
}

SanitizeHook::SanitizeHook(const Config& config, AllocationTable& allocations,
                           std::span<Gpu* const> gpus)
    : path_(config.findings_file),
      pattern_(config.sanitize_kernels),
      launches_(format::LaunchList::of_checked(config.sanitize_launches)),
      kernels_([this](const KnownKernel& kernel) {
        if (heap_ != nullptr) code_scan_.look(*heap_, allocations_.annotations());
        return pattern_.matches(kernel.name);
      }),
      allocations_(allocations),
      first_gpu_(gpus.front()) {
  // The command line has checked them.
  if (const auto tools = sanitize::ToolSet::parse(config.sanitize_tools); tools.ok())
    options_.tools = *tools;
  if (options_.tools.has(sanitize::Tool::kInitcheck)) {
    tracking_ = std::make_unique<InitTracking>(
        allocations, [this](const Allocation& from, uint64_t gap, uint64_t count) {
          note_gap(from, gap, count);
        });
    for (Gpu* const gpu : gpus) gpu->space.set_write_observer(tracking_.get());
  }
  if (options_.tools.has(sanitize::Tool::kMemcheck) ||
      options_.tools.has(sanitize::Tool::kLeakcheck)) {
    Annotations& bounds = allocations.annotations();
    heap_ = std::make_unique<sanitize::DeviceHeap>(sanitize::DeviceHeap::Listener{
        [&bounds](uint64_t slab, uint64_t address, uint64_t size_bytes) {
          bounds.add_block({slab, slab + sanitize::DeviceHeap::kSlabBytes},
                           {address, address + size_bytes});
        },
        [&bounds](uint64_t address) {
          bounds.annotate(Annotations::What::kBlockEnd, address, 0);
        }});
  }
  for (uint32_t gpu = 0; gpu < kMaxGpus; ++gpu)
    maps_.push_back(
        std::make_unique<AllocationMap>(allocations, gpu, tracking_.get(), heap_.get()));
}

bool SanitizeHook::is_chosen(const KnownKernel& kernel) {
  if (!kernel.chosen) return false;
  if (launches_.empty()) return true;
  // Without a pattern, launches are those of the program's own kernels.
  if (pattern_.empty() && is_runtimes_own(kernel)) return false;
  const uint64_t launch = matched_.fetch_add(1, std::memory_order_relaxed) + 1;
  return launches_.contains(launch);
}

SanitizeHook::Checking* SanitizeHook::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    auto* const made = new (std::nothrow) Checking(options_);
    if (made != nullptr)
      made->session.set_tell_now(
          [this, made](const Finding& finding) { tell_now(*made, finding); });
    return made;
  }
  Checking* checking = idle_.back().release();
  idle_.pop_back();
  return checking;
}

void SanitizeHook::give_back(std::unique_ptr<Checking> checking) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(checking));
}

void* SanitizeHook::before(DispatchView& view) noexcept {
  const std::span<emu::Watcher* const> others = view.dispatch.watchers;
  const std::shared_ptr<const KnownKernel> kernel = kernels_.of(view);
  const bool chosen = kernel == nullptr || is_chosen(*kernel);
  const bool marks = options_.tools.has(sanitize::Tool::kRacecheck) && view.queue != nullptr &&
                     races_.order().has_several();
  const bool uses_heap = heap_ != nullptr && heap_->is_used();
  if (!chosen && tracking_ == nullptr && !marks && !uses_heap) return nullptr;
  end_pool_blocks();
  Checking* checking = take();
  if (checking == nullptr) return nullptr;
  checking->is_chosen = chosen;
  checking->marks = marks;
  checking->gpu = &view.gpu;
  checking->queue_id = view.queue_id;
  checking->dispatch = &view.dispatch;
  checking->kernel = kernel == nullptr ? "" : kernel->name;
  checking->is_runtimes = kernel != nullptr && is_runtimes_own(*kernel);
  const AllocationMap& map = *maps_[view.gpu.index];
  std::span<emu::Watcher* const> ours;
  if (!chosen) {
    ours = checking->session.begin_quietly(map);
  } else {
    checking->session.begin(map);
    if (checking->is_runtimes) {
      checking->session.set_moves_memory();
      moves_.fetch_add(1, std::memory_order_relaxed);
    }
    ours = checking->session.watchers();
  }
  checking->watches = kernel != nullptr && others.size() + ours.size() <= emu::kMaxWatchers;
  checking->marks &= checking->watches && others.size() + ours.size() < emu::kMaxWatchers;
  if (!checking->watches) return checking;
  std::copy(others.begin(), others.end(), checking->watchers);
  std::copy(ours.begin(), ours.end(), checking->watchers + others.size());
  size_t count = others.size() + ours.size();
  if (checking->marks) {
    checking->watchers[count++] = &checking->footprint;
    checking->over_before = races_.order().over_before(*view.queue);
  }
  view.dispatch.watchers = {checking->watchers, count};
  return checking;
}

bool SanitizeHook::begin_line(std::string& line, const Place& place, const char* again,
                              uint64_t* number) {
  uint64_t id = 0;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    const auto [known, inserted] = ids_.emplace(place, ids_.size());
    id = known->second;
    is_new = inserted;
  }
  if (number != nullptr) *number = id;
  line += "\n{";
  append_text(line, "type", is_new ? "finding" : again);
  append_number(line, "pid", static_cast<uint64_t>(sys::pid()));
  append_number(line, "id", id);
  return is_new;
}

std::string SanitizeHook::line_of(GuestMemory& memory, const RanKernel& kernel,
                                  const Finding& finding, GpuAddr other_kernel) {
  const Place place(kernel.gpu->index, kernel.object.value, finding.place.pc.value, finding.kind,
                    finding.severity, finding.has_other ? finding.other.pc.value : 0);
  std::string line;
  const bool is_new = begin_line(line, place);
  append_number(line, "times", finding.times);
  append_number(line, "lane_count", finding.lane_count);
  if (is_new) describe(line, memory, kernel, finding, other_kernel);
  finish_object(line);
  return line + "\n";
}

void SanitizeHook::describe(std::string& line, GuestMemory& memory, const RanKernel& kernel,
                            const Finding& finding, GpuAddr other_kernel) {
  append_number(line, "format", kFindingsFormat);
  append_text(line, "kernel", kernel.name);
  append_text(line, "model", kernel.gpu->model.name);
  append_number(line, "gpu", kernel.gpu->index);
  append_number(line, "queue", kernel.queue);
  append_number(line, "dispatch_id", kernel.dispatch_id);
  append_number(line, "time_ns", monotonic_ns());
  sanitize::append_finding(line, finding,
                           naming_of(finder_, memory, kernel, finding.other.pc, other_kernel));
}

// Both sides are copies.
std::string SanitizeHook::copy_line(const Gpu& gpu, const Finding& finding) {
  const Place place(gpu.index, 0, finding.neighbour.begin, finding.kind, finding.severity, 1);
  std::string line;
  const bool is_new = begin_line(line, place);
  append_number(line, "times", finding.times);
  if (is_new) {
    append_number(line, "format", kFindingsFormat);
    append_number(line, "gpu", gpu.index);
    append_number(line, "time_ns", monotonic_ns());
    sanitize::append_finding(line, finding, {});
  }
  finish_object(line);
  return line + "\n";
}

std::string SanitizeHook::race_lines(const DispatchView& view, RanKernelPtr kernel,
                                     Checking& checking) {
  QueueRaces::Ended ended{.queue = view.queue_id,
                          .index = view.dispatch.dispatch_id,
                          .over_before = std::move(checking.over_before),
                          .kernel = kernel,
                          .marks = checking.footprint.take(),
                          .mover = {},
                          .ranges = {}};
  std::string lines;
  for (const QueueRace& race : races_.end(std::move(ended), *maps_[view.gpu.index])) {
    const GpuAddr other = race.other_kernel == nullptr ? GpuAddr{} : race.other_kernel->object;
    if (kernel->is_chosen) lines += line_of(view.memory, *kernel, race.finding, other);
  }
  return lines;
}

void SanitizeHook::packet_waited(Queue& queue, uint64_t index,
                                 std::span<const uint64_t> signals) noexcept {
  end_copy(queue);
  races_.order().waited(queue, index, signals);
}

void SanitizeHook::packet_finished(Queue& queue, uint64_t index, uint64_t signal) noexcept {
  if (signal != 0) end_copy(queue);
  races_.order().packet_finished(queue, index, signal);
}

void SanitizeHook::memory_moved(Queue& queue, uint64_t index,
                                std::span<const sanitize::MovedRange> ranges) noexcept {
  moves_.fetch_add(1, std::memory_order_relaxed);
  if (options_.tools.has(sanitize::Tool::kRacecheck) && races_.order().has_several())
    races_.moved(queue, index, ranges, monotonic_ns());
}

void SanitizeHook::pool_block_began(AddressRange around, AddressRange block) noexcept {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(pool_frees_, [&](const PoolFree& free) { return block.contains(free.address); });
  }
  allocations_.annotations().add_block(around, block);
}

void SanitizeHook::pool_block_ended(uint64_t address) noexcept {
  if (!allocations_.annotations().has_block(address)) return;
  QueueCounts submitted = races_.order().submitted();
  const std::lock_guard lock(mutex_);
  pool_frees_.push_back({address, std::move(submitted)});
}

void SanitizeHook::end_pool_blocks() {
  const std::lock_guard lock(mutex_);
  if (pool_frees_.empty()) return;
  const QueueCounts finished = races_.order().finished();
  const auto is_over = [&](const PoolFree& free) {
    return std::all_of(free.submitted.begin(), free.submitted.end(), [&](const auto& queue) {
      const auto over = finished.find(queue.first);
      return queue.second == 0 || (over != finished.end() && over->second >= queue.second);
    });
  };
  std::erase_if(pool_frees_, [&](const PoolFree& free) {
    if (!is_over(free)) return false;
    allocations_.annotations().annotate(Annotations::What::kBlockEnd, free.address, 0);
    return true;
  });
}

uint64_t SanitizeHook::host_copy_began() noexcept {
  if (!options_.tools.has(sanitize::Tool::kRacecheck) || !races_.order().has_several()) return 0;
  HostCopy copy{races_.order().submitted(), moves_.load(std::memory_order_relaxed)};
  const std::lock_guard lock(mutex_);
  host_copies_.emplace(++last_host_copy_, std::move(copy));
  return last_host_copy_;
}

// The others are seen where they are done. Whatever another thread submits at the same time may hide a copy.
bool SanitizeHook::is_host_alone(const HostCopy& copy) {
  const QueueCounts submitted = races_.order().submitted();
  const QueueCounts finished = races_.order().finished();
  for (const auto& [queue, count] : submitted) {
    const auto before = copy.submitted.find(queue);
    if (before != copy.submitted.end() && before->second == count) continue;
    const auto over = finished.find(queue);
    if (over == finished.end() || over->second != count) return false;
  }
  return moves_.load(std::memory_order_relaxed) == copy.moves;
}

void SanitizeHook::host_copied(uint64_t number,
                               std::span<const sanitize::MovedRange> ranges) noexcept {
  HostCopy copy;
  {
    const std::lock_guard lock(mutex_);
    const auto known = host_copies_.find(number);
    if (known == host_copies_.end()) return;
    copy = std::move(known->second);
    host_copies_.erase(known);
  }
  if (!is_host_alone(copy)) return;
  std::vector<sanitize::MovedRange> reached;  // that a GPU can reach as well
  const Gpu* gpu = nullptr;
  for (const sanitize::MovedRange& range : ranges) {
    const std::optional<Allocation> allocation = allocations_.lookup({range.begin});
    if (!allocation || range.size_bytes == 0) continue;
    reached.push_back(range);
    if (gpu == nullptr) gpu = allocation->owner;
  }
  if (reached.empty()) return;
  if (gpu == nullptr) gpu = first_gpu_;  // memory that all have in common
  write_copy_races(
      *gpu, races_.end_host_copy(reached, copy.submitted, monotonic_ns(), *maps_[gpu->index]));
}

void SanitizeHook::end_copy(Queue& queue) {
  if (queue.type == QueueType::kComputeAql) return;
  write_copy_races(*queue.gpu, races_.end_copy(queue, *maps_[queue.gpu->index]));
}

void SanitizeHook::write_copy_races(const Gpu& gpu, std::span<const QueueRace> races) {
  const bool is_choosing = !pattern_.empty() || !launches_.empty();
  std::string lines;
  for (const QueueRace& race : races) {
    if (race.kernel == nullptr) {
      if (!is_choosing) lines += copy_line(gpu, race.finding);
    } else if (race.kernel->is_chosen) {
      GuestMemory memory(race.kernel->gpu->space);
      lines += line_of(memory, *race.kernel, race.finding);
    }
  }
  if (!lines.empty()) write(lines);
}

void SanitizeHook::write(const std::string& lines) {
  if (!append_to_file(path_, lines) && !complained_.exchange(true, std::memory_order_relaxed))
    log::complain("%s: cannot be written; findings are lost", path_.c_str());
}

void SanitizeHook::note_gap(const Allocation& from, uint64_t gap, uint64_t count) {
  constexpr auto kKind = sanitize::Kind::kUninitialisedCopy;
  const sanitize::KindRow& row = sanitize::row_of(kKind);
  const Place place(from.owner->index, 0, from.va, kKind, row.severity, 0);
  std::string line;
  const bool is_new = begin_line(line, place);
  append_number(line, "times", 1);
  if (is_new) {
    append_number(line, "format", kFindingsFormat);
    append_text(line, "tool", sanitize::tool_name(row.tool));
    append_text(line, "severity", sanitize::severity_name(row.severity));
    append_text(line, "kind", row.name);
    append_text(line, "call", "copy to the host");
    append_number(line, "time_ns", monotonic_ns());
    append_text(line, "address", sanitize::hex_text(gap));
    append_text(line, "detail",
                "bytes " + std::to_string(gap - from.va) + " to " +
                    std::to_string(gap - from.va + count - 1) + " of the " +
                    std::to_string(used_bytes(from)) + "-byte allocation at " +
                    sanitize::hex_text(from.va) + " were never written");
  }
  finish_object(line);
  write(line + "\n");
}

void SanitizeHook::tell_now(Checking& checking, const Finding& finding) {
  GuestMemory memory(checking.gpu->space);
  const RanKernel kernel{
      .gpu = checking.gpu,
      .queue = checking.queue_id,
      .dispatch_id = checking.dispatch->dispatch_id,
      .object = checking.dispatch->kernel_object,
      .name = checking.kernel,
      .pointers = pointers_of(finder_, *checking.gpu, memory, *checking.dispatch)};
  const Place place(kernel.gpu->index, kernel.object.value, finding.place.pc.value, finding.kind,
                    finding.severity, 0);
  std::string line;
  uint64_t number = 0;
  const bool is_new = begin_line(line, place, "held", &number);
  append_number(line, "times", 1);
  append_number(line, "lane_count", finding.lane_count);
  if (is_new) describe(line, memory, kernel, finding, {});
  append_number(line, "may_end", 1);
  finish_object(line);
  write(line + "\n");
  log::complain(
      "%s: wave %u of workgroup (%u,%u,%u) %s; the report says where, when the program has ended",
      kernel.name.c_str(), finding.place.wave, finding.place.workgroup[0],
      finding.place.workgroup[1], finding.place.workgroup[2], finding.detail.c_str());
  const std::lock_guard lock(checking.told_mutex);
  checking.told.push_back(number);
}

std::string SanitizeHook::taken_back(Checking& checking) {
  std::string lines;
  const std::lock_guard lock(checking.told_mutex);
  for (const uint64_t number : checking.told) {
    lines += "\n{";
    append_text(lines, "type", "held");
    append_number(lines, "pid", static_cast<uint64_t>(sys::pid()));
    append_number(lines, "id", number);
    append_number(lines, "times", 0);
    finish_object(lines);
    lines += '\n';
  }
  checking.told.clear();
  return lines;
}

std::string SanitizeHook::heap_lines(const DispatchView& view) {
  if (heap_ == nullptr || !options_.tools.has(sanitize::Tool::kLeakcheck)) return "";
  std::string lines;
  for (const sanitize::HeapSite& site : heap_->changed_sites()) {
    Finding finding;
    finding.kind = sanitize::Kind::kHeapLeak;
    finding.severity = sanitize::row_of(finding.kind).severity;
    finding.place = site.place;
    const GpuAddr object{site.kernel_object};
    const RanKernel kernel{.gpu = &view.gpu,
                           .queue = view.queue_id,
                           .dispatch_id = view.dispatch.dispatch_id,
                           .object = object,
                           .name = finder_.find(view.gpu, view.memory, object, object).name,
                           .pointers = {}};
    const Place place(view.gpu.index, site.kernel_object, site.place.pc.value, finding.kind,
                      finding.severity, 0);
    std::string line;
    const bool is_new = begin_line(line, place, "held");
    append_number(line, "times", site.blocks);
    append_number(line, "bytes", site.bytes);
    if (is_new) describe(line, view.memory, kernel, finding, {});
    finish_object(line);
    lines += line + "\n";
  }
  return lines;
}

void SanitizeHook::after(const DispatchView& view, void* state) noexcept {
  std::unique_ptr<Checking> checking(static_cast<Checking*>(state));
  std::string lines = "\n{";
  append_text(lines, "type", "dispatch");
  append_number(lines, "pid", static_cast<uint64_t>(sys::pid()));
  const bool chosen = checking != nullptr && checking->is_chosen;
  append_number(lines, "checked", chosen && checking->watches ? 1 : 0);
  if (chosen) append_number(lines, "chosen", 1);
  if (view.result->fault) append_number(lines, "faulted", 1);
  sanitize::SessionFindings found;
  if (checking != nullptr) found = checking->session.take();
  if (found.dropped != 0) append_number(lines, "dropped", found.dropped);
  if (chosen && checking->watches && !checking->is_runtimes && found.depends_on_order)
    append_number(lines, "depends_on_order", 1);
  if (found.shadow_bytes != 0) append_number(lines, "shadow_bytes", found.shadow_bytes);
  finish_object(lines);
  lines += '\n';
  const bool races = checking != nullptr && checking->marks;
  if (races || !found.findings.empty()) {
    const std::shared_ptr<const KnownKernel> known = kernels_.of(view);
    const auto kernel = std::make_shared<const RanKernel>(
        RanKernel{.gpu = &view.gpu,
                  .queue = view.queue_id,
                  .dispatch_id = view.dispatch.dispatch_id,
                  .object = view.dispatch.kernel_object,
                  .name = known == nullptr ? "" : known->name,
                  .is_chosen = chosen,
                  .pointers = pointers_of(finder_, view.gpu, view.memory, view.dispatch)});
    for (const Finding& finding : found.findings) lines += line_of(view.memory, *kernel, finding);
    if (races) lines += race_lines(view, kernel, *checking);
  }
  if (checking != nullptr && !view.result->cancelled && !view.result->fault)
    lines += taken_back(*checking);
  write(lines + heap_lines(view));
  if (checking != nullptr) give_back(std::move(checking));
}

}  // namespace wavetap::vgpu
