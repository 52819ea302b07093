#include "vgpu/sanitize_hook.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <new>

#include "amd/kfd_abi.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "isa/program.h"
#include "vgpu/gpu.h"
#include "vgpu/json_line.h"
#include "vgpu/queue_kernel_names.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {
namespace {

using sanitize::Finding;
using sanitize::Neighbour;
using sanitize::Relation;

constexpr uint64_t kLongestInstruction = 20;

uint64_t used_bytes(const Allocation& allocation) {
  return allocation.requested_bytes != 0 ? allocation.requested_bytes : allocation.size_bytes;
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

const char* space_name(emu::Space space) {
  switch (space) {
    case emu::Space::kGlobal: return "global";
    case emu::Space::kLds: return "LDS";
    case emu::Space::kScratch: return "scratch";
  }
  return "?";
}

const char* access_name(emu::Access access) {
  switch (access) {
    case emu::Access::kLoad: return "load";
    case emu::Access::kStore: return "store";
    case emu::Access::kAtomic:
    case emu::Access::kAtomicReturn: return "atomic";
  }
  return "?";
}

// The instruction at `pc`, as text; "" when it cannot be read. It may be the last one mapped.
std::string instruction_at(const DispatchView& view, GpuAddr pc) {
  amd::KernelDescriptor descriptor{};
  if (!view.memory.read(view.dispatch.kernel_object, &descriptor, sizeof descriptor)) return "";
  const amd::GfxTarget target = view.dispatch.target;
  const bool wave64 = !target.has_wave32() || !descriptor.has(amd::kWavefrontSize32);
  std::byte bytes[kLongestInstruction];
  for (uint64_t size = sizeof bytes; size > 0; size -= 4)
    if (view.memory.read(pc, bytes, size))
      return isa::disassemble({bytes, size}, target, wave64, pc);
  return "";
}

void append_neighbour(std::string& line, const Neighbour& beside) {
  append_text(line, "relation", sanitize::relation_name(beside.relation));
  if (beside.relation == Relation::kNone) return;
  append_number(line, "distance", beside.distance);
  line += "\"allocation\":{";
  append_text(line, "address", hex(beside.begin));
  append_number(line, "size_bytes", beside.size_bytes);
  append_number(line, "exact", beside.exact ? 1 : 0);
  append_number(line, "freed", beside.freed ? 1 : 0);
  append_text(line, "memory", beside.memory);
  if (beside.gpu >= 0) append_number(line, "gpu", static_cast<uint64_t>(beside.gpu));
  finish_object(line);
  line += ',';
}

}  // namespace

void AllocationMap::list(std::vector<sanitize::Block>& blocks) const noexcept {
  table_.for_each([&](const Allocation& allocation) {
    if ((allocation.mapped_gpus >> gpu_ & 1) == 0) return;
    // Flags of SVM ranges mean other things; the page table knows.
    const bool writable = allocation.origin != AllocationOrigin::kSvm &&
                          (allocation.flags & amd::kKfdAllocWritable) != 0;
    blocks.push_back({allocation.va, allocation.va + used_bytes(allocation), writable});
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
  const uint64_t end = beside.begin + beside.size_bytes;
  if (address.value < beside.begin) {
    beside.relation = Relation::kBefore;
    beside.distance = beside.begin - address.value;
  } else if (address.value >= end) {
    beside.relation = Relation::kPast;
    beside.distance = address.value - end;
  } else {
    beside.relation = Relation::kInside;
    beside.distance = address.value - beside.begin;
  }
  return beside;
}

SanitizeHook::SanitizeHook(const Config& config, const AllocationTable& allocations)
    : path_(config.findings_file), kernels_([this](const KnownKernel& kernel) {
        return !has_pattern_ || ::regexec(&pattern_, kernel.name.c_str(), 0, nullptr, 0) == 0;
      }) {
  for (uint32_t gpu = 0; gpu < kMaxGpus; ++gpu)
    maps_.push_back(std::make_unique<AllocationMap>(allocations, gpu));
  has_pattern_ =
      !config.sanitize_kernels.empty() &&
      ::regcomp(&pattern_, config.sanitize_kernels.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
}

SanitizeHook::Checking* SanitizeHook::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return new (std::nothrow) Checking;
  Checking* checking = idle_.back().release();
  idle_.pop_back();
  return checking;
}

void* SanitizeHook::before(DispatchView& view) noexcept {
  const std::span<emu::Watcher* const> others = view.dispatch.watchers;
  const std::shared_ptr<const KnownKernel> kernel = kernels_.of(view);
  if (kernel == nullptr || !kernel->chosen || others.size() == emu::kMaxWatchers) return nullptr;
  Checking* checking = take();
  if (checking == nullptr) return nullptr;
  checking->memcheck.begin(*maps_[view.gpu.index]);
  std::copy(others.begin(), others.end(), checking->watchers);
  checking->watchers[others.size()] = &checking->memcheck;
  view.dispatch.watchers = {checking->watchers, others.size() + 1};
  return checking;
}

std::string SanitizeHook::line_of(const DispatchView& view, const Finding& finding) {
  const GpuAddr kernel_object = view.dispatch.kernel_object;
  const Place place(view.gpu.index, kernel_object.value, finding.pc.value, finding.kind);
  uint64_t id = 0;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    const auto [known, inserted] = ids_.emplace(place, ids_.size());
    id = known->second;
    is_new = inserted;
  }
  std::string line = "\n{";
  append_text(line, "type", is_new ? "finding" : "again");
  append_number(line, "pid", static_cast<uint64_t>(sys::pid()));
  append_number(line, "id", id);
  append_number(line, "times", finding.times);
  append_number(line, "lane_count", finding.lane_count);
  if (is_new) {
    const KernelPlace where = find_kernel(view.gpu, view.memory, kernel_object, finding.pc);
    append_number(line, "format", kFindingsFormat);
    append_text(line, "tool", "memcheck");
    append_text(line, "kind", sanitize::kind_name(finding.kind));
    const std::shared_ptr<const KnownKernel> kernel = kernels_.of(view);
    append_text(line, "kernel", kernel == nullptr ? "" : kernel->name);
    append_text(line, "model", view.gpu.model.name);
    append_number(line, "gpu", view.gpu.index);
    append_number(line, "queue", view.queue_id);
    append_number(line, "dispatch_id", view.dispatch.dispatch_id);
    append_text(line, "pc", hex(finding.pc.value));
    if (where.has_entry && finding.pc.value >= where.entry.value)
      append_number(line, "offset", finding.pc.value - where.entry.value);
    append_text(line, "instruction", instruction_at(view, finding.pc));
    if (!where.source_line.empty()) append_text(line, "source", where.source_line);
    append_text(line, "space", space_name(finding.space));
    append_text(line, "access", access_name(finding.access));
    append_number(line, "size_bytes", finding.size_bytes);
    append_extent(line, "workgroup", finding.workgroup);
    append_extent(line, "thread", finding.thread);
    append_number(line, "wave", finding.wave);
    append_text(line, "lanes", hex(finding.lanes));
    append_text(line, "address", hex(finding.address));
    if (finding.space == emu::Space::kGlobal) append_neighbour(line, finding.neighbour);
    else append_number(line, "limit_bytes", finding.limit_bytes);
  }
  finish_object(line);
  return line + "\n";
}

void SanitizeHook::write(const std::string& lines) {
  if (!append_to_file(path_, lines) && !complained_.exchange(true, std::memory_order_relaxed))
    log::complain("%s: cannot be written; findings are lost", path_.c_str());
}

void SanitizeHook::after(const DispatchView& view, void* state) noexcept {
  std::unique_ptr<Checking> checking(static_cast<Checking*>(state));
  std::string lines = "\n{";
  append_text(lines, "type", "dispatch");
  append_number(lines, "pid", static_cast<uint64_t>(sys::pid()));
  append_number(lines, "checked", checking != nullptr ? 1 : 0);
  std::vector<Finding> findings;
  uint64_t dropped = 0;
  if (checking != nullptr) findings = checking->memcheck.findings().take(&dropped);
  if (dropped != 0) append_number(lines, "dropped", dropped);
  finish_object(lines);
  lines += '\n';
  for (const Finding& finding : findings) lines += line_of(view, finding);
  write(lines);
  if (checking == nullptr) return;
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(checking));
}

}  // namespace wavetap::vgpu
