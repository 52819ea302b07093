#include "vgpu/counters_hook.h"

#include "base/json_line.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "emu/amd_counters.h"
#include "vgpu/gpu.h"

namespace wavetap::vgpu {

void* CountersHook::before(DispatchView& view) noexcept {
  view.dispatch.count = true;
  return caches_ ? memory_.begin(view) : nullptr;
}

std::string CountersHook::line_of(const DispatchView& view, void* state) {
  const emu::Dispatch& dispatch = view.dispatch;
  // A line starts with a line break as well: what a killed writer left unfinished before it stays a
  // line of its own.
  std::string line = "\n{";
  append_number(line, "format", kCountersFormat);
  const std::shared_ptr<const KnownKernel> kernel = kernels_.of(view);
  append_text(line, "kernel", kernel == nullptr ? "" : kernel->name);
  append_text(line, "model", view.gpu.model.name);
  append_number(line, "gpu", view.gpu.index);
  append_number(line, "node", view.gpu.node);
  append_number(line, "pid", static_cast<uint64_t>(sys::pid()));
  append_number(line, "queue", view.queue_id);
  append_number(line, "dispatch_id", dispatch.dispatch_id);
  append_extent(line, "grid_size", dispatch.grid_size);
  append_extent(line, "workgroup_size", dispatch.workgroup_size);
  append_number(line, "lds_bytes", dispatch.group_segment_bytes);
  append_number(line, "scratch_bytes_per_lane", dispatch.private_segment_bytes);
  append_number(line, "begin_ticks", view.times.begin.value);
  append_number(line, "end_ticks", view.times.end.value);
  if (view.result->fault) append_text(line, "fault", emu::fault_name(view.result->fault->kind));
  if (state != nullptr) memory_.finish(view, static_cast<MemoryCounting::Watching*>(state), line);
  line += "\"counters\":{";
#define WT_COUNTER(name, help) append_number(line, #name, view.result->counters.name);
#include "emu/counters.inc"
#undef WT_COUNTER
  line.back() = '}';
  line += ",\"amd\":{";
  emu::for_each_amd_counter(
      view.result->counters,
      [&](const char* name, uint64_t value, const char*) { append_number(line, name, value); });
  line.back() = '}';
  line += "}\n";
  return line;
}

void CountersHook::after(const DispatchView& view, void* state) noexcept {
  const std::string line = line_of(view, state);
  if (view.result->cancelled) return;
  if (!append_to_file(path_, line) && !complained_.exchange(true, std::memory_order_relaxed))
    log::complain("%s: cannot be written; counters of some dispatches are lost", path_.c_str());
}

}  // namespace wavetap::vgpu
