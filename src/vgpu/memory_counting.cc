#include "vgpu/memory_counting.h"

#include <algorithm>
#include <new>

#include "base/json_line.h"
#include "vgpu/gpu.h"
#include "vgpu/instruction_text.h"
#include "vgpu/queue_kernel_names.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {
namespace {

using cachesim::SiteCounts;

// Places told of per dispatch: those that cost most.
constexpr size_t kMaxSites = 24;

// What a place costs, for choosing: a line is worth some sixteen instructions.
uint64_t weight_of(const SiteCounts& site) {
  return site.executed * site.instructions + 16 * (site.lines + site.l2_misses) + site.lds_cycles;
}

}  // namespace

MemoryCounting::Watching* MemoryCounting::begin(DispatchView& view) {
  const std::span<emu::Watcher* const> others = view.dispatch.watchers;
  if (others.size() == emu::kMaxWatchers) return nullptr;
  Watching* watching = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<Watching>>& idle = idle_[view.gpu.index];
    if (!idle.empty()) {
      watching = idle.back().release();
      idle.pop_back();
    }
  }
  if (watching == nullptr) watching = new (std::nothrow) Watching(view.gpu.model, start_);
  if (watching == nullptr) return nullptr;
  std::copy(others.begin(), others.end(), watching->watchers);
  watching->watchers[others.size()] = &watching->watch;
  view.dispatch.watchers = {watching->watchers, others.size() + 1};
  return watching;
}

const MemoryCounting::Place& MemoryCounting::place_of(const DispatchView& view, GpuAddr pc) {
  const std::pair<uint32_t, uint64_t> key(view.gpu.index, pc.value);
  {
    const std::lock_guard lock(mutex_);
    const auto known = places_.find(key);
    if (known != places_.end()) return known->second;
  }
  Place place;
  place.text = instruction_at(view, pc);
  const KernelPlace where = find_kernel(view.gpu, view.memory, view.dispatch.kernel_object, pc);
  codeobj::append_source(place.source, where.frames);
  place.has_offset = where.has_entry && pc.value >= where.entry.value;
  if (place.has_offset) place.offset = pc.value - where.entry.value;
  const std::lock_guard lock(mutex_);
  return places_.emplace(key, std::move(place)).first->second;
}

void MemoryCounting::append_sites(const DispatchView& view, const std::vector<SiteCounts>& sites,
                                  std::string& line) {
  std::vector<const SiteCounts*> order;
  for (const SiteCounts& site : sites) order.push_back(&site);
  std::stable_sort(order.begin(), order.end(), [](const SiteCounts* a, const SiteCounts* b) {
    return weight_of(*a) > weight_of(*b);
  });
  if (order.size() > kMaxSites) order.resize(kMaxSites);
  for (const SiteCounts* const site : order) {
    const Place& place = place_of(view, site->pc);
    line += '{';
    if (place.has_offset) append_number(line, "offset", place.offset);
    append_text(line, "instruction", place.text);
    line += place.source;
    append_number(line, "executed", site->executed);
    append_number(line, "instructions", site->instructions);
    if (site->lanes != 0) {
      append_number(line, "lanes", site->lanes);
      append_number(line, "bytes", site->bytes);
      append_number(line, "lines", site->lines);
      append_number(line, "lines_ideal", site->lines_ideal);
      append_number(line, "l1_misses", site->l1_misses);
      append_number(line, "l2_misses", site->l2_misses);
      append_number(line, "lds_cycles", site->lds_cycles);
      append_number(line, "lds_conflict_cycles", site->lds_conflict_cycles);
    }
    finish_object(line);
    line += ',';
  }
  if (line.back() == ',') line.pop_back();
}

void MemoryCounting::finish(const DispatchView& view, Watching* watching, std::string& line) {
  const cachesim::MemoryResult& result = watching->watch.result();
  const auto put = [&](const char* name, uint64_t value, const char*) {
    append_number(line, name, value);
  };
  line += "\"kinds\":{";
  cachesim::for_each_instruction_counter(result.instructions, put);
  finish_object(line);
  line += ",\"modelled\":{";
  cachesim::for_each_memory_counter(result.memory, put);
  finish_object(line);
  line += ",\"amd_modelled\":{";
  cachesim::for_each_amd_memory_counter(view.dispatch.target, result.memory, put);
  finish_object(line);
  line += ",\"accesses\":[";
  append_sites(view, result.accesses, line);
  line += "],\"blocks\":[";
  append_sites(view, result.blocks, line);
  line += "],";
  const std::lock_guard lock(mutex_);
  idle_[view.gpu.index].emplace_back(watching);
}

}  // namespace wavetap::vgpu
