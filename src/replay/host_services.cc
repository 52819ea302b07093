#include "replay/host_services.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/round_up.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

constexpr uint64_t kFreshHeapBytes = uint64_t{1} << 30;
constexpr uint64_t kSlabAlign = uint64_t{2} << 20;  // what the device's heap expects of its slabs
constexpr uint64_t kMostRangeBytes = uint64_t{1} << 36;
constexpr uint64_t kFarAway = uint64_t{1} << 32;
constexpr uint64_t kHostAddressLimit = uint64_t{1} << 47;

// The highest addresses free in the capture: behind all of it, with room for code that replaces the kernel in
// between, or, where that would be no address of a process any more (memory of a process whose placement is not
// random ends at the top), in a gap below.
uint64_t own_begin(const Capture& capture) {
  constexpr uint64_t kNeeded = 3 * kFarAway;
  std::vector<HostRange> taken = allocated_ranges(capture);
  for (const CapturedRegion& region : capture.regions)
    if (region.begin() < kHostAddressLimit)
      taken.push_back(
          {region.begin(), std::min(region.record.size_bytes, kHostAddressLimit - region.begin())});
  std::sort(taken.begin(), taken.end(), [](const HostRange& a, const HostRange& b) {
    return a.begin + a.size_bytes < b.begin + b.size_bytes;
  });
  uint64_t above = kHostAddressLimit;
  for (auto range = taken.rbegin(); range != taken.rend(); ++range) {
    const uint64_t end = std::max(range->begin + range->size_bytes, kFarAway);
    if (end < above && above - end >= kNeeded) return round_up(end + kFarAway, kSlabAlign);
    above = std::min(above, range->begin);
  }
  return round_up(2 * kFarAway, kSlabAlign);
}

uint64_t value_of(const CapturedArgument& argument) {
  uint64_t value = 0;
  std::copy_n(argument.value.begin(), std::min(argument.value.size(), sizeof value),
              reinterpret_cast<std::byte*>(&value));
  return value;
}

bool is_in(const std::vector<HostRange>& ranges, uint64_t address) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const HostRange& range) {
    return address - range.begin < range.size_bytes;
  });
}

// The slabs that words of the heap's own memory point at.
void add_slabs(std::span<const std::byte> words, const Capture& capture,
               std::vector<HostRange>& slabs) {
  constexpr size_t kMostSlabs = 1u << 16;
  for (size_t at = 0; at + 8 <= words.size() && slabs.size() < kMostSlabs; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, words.data() + at, sizeof word);
    const CapturedRegion* region = word == 0 ? nullptr : capture.region_at(word);
    if (region == nullptr || region->record.kind != format::CaptureMemoryKind::kVram) continue;
    const uint64_t begin = word / kSlabAlign * kSlabAlign;
    if (!is_in(slabs, begin)) slabs.push_back({begin, kSlabAlign});
  }
}

}  // namespace

bool HeapMemory::is_own(uint64_t address) const { return is_in(own, address); }
bool HeapMemory::is_block(uint64_t address) const { return is_in(blocks, address); }

// The heap's lists are a variable of the device library without a name, or lie behind an argument. Newer
// compilers leave none of the library's functions: then it is known by its size, about 100 KiB.
HeapMemory find_heap(const CaptureFile& file, const Capture& capture,
                     const CapturedKernel& kernel) {
  constexpr uint64_t kMostListBytes = 1u << 20;
  constexpr uint64_t kFewestListBytes = 64u << 10;
  HeapMemory heap;
  if (kernel.object == nullptr || hostcall_argument(kernel) == nullptr) return heap;
  const std::vector<codeobj::CodeSymbol>& symbols = kernel.object->symbols();
  const bool allocates = std::any_of(symbols.begin(), symbols.end(), [](const auto& symbol) {
    return symbol.is_function && symbol.name.starts_with("__ockl_dm_");
  });
  for (const codeobj::CodeSymbol& symbol : symbols)
    if ((allocates || symbol.size_bytes >= kFewestListBytes) && !symbol.is_function &&
        symbol.name.starts_with("__unnamed_") && kernel.object->bytes_of(symbol).empty())
      heap.own.push_back({symbol.address + kernel.load_delta, symbol.size_bytes});
  for (const CapturedArgument& argument : kernel.arguments) {
    const uint64_t at = argument.arg.value_kind == "hidden_heap_v1" ? value_of(argument) : 0;
    const CapturedRegion* region = at == 0 ? nullptr : capture.region_at(at);
    if (region != nullptr) heap.own.push_back({at, region->end() - at});
  }
  std::vector<HostRange> slabs;
  for (const HostRange& list : heap.own)
    add_slabs(captured_bytes(file, capture, State::kBefore, list.begin,
                             std::min(list.size_bytes, kMostListBytes)),
              capture, slabs);
  heap.blocks = allocated_ranges(capture);
  heap.blocks.insert(heap.blocks.end(), slabs.begin(), slabs.end());
  if (!heap.own.empty()) heap.blocks.push_back(fresh_heap_range(capture));
  heap.own.insert(heap.own.end(), slabs.begin(), slabs.end());
  return heap;
}

std::vector<HostRange> allocated_ranges(const Capture& capture) {
  std::vector<HostRange> ranges;
  const std::string prefix = format::kCaptureAllocatedFact;
  for (auto it = capture.facts.lower_bound(prefix);
       it != capture.facts.end() && it->first.starts_with(prefix); ++it) {
    const uint64_t begin = std::strtoull(it->first.c_str() + prefix.size(), nullptr, 10);
    const uint64_t size = std::strtoull(it->second.c_str(), nullptr, 10);
    if (begin == 0 || begin >= kHostAddressLimit || size == 0 || size > kMostRangeBytes) continue;
    ranges.push_back({begin, size});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const HostRange& a, const HostRange& b) { return a.begin < b.begin; });
  return ranges;
}

HostRange hostcall_range(const Capture& capture) {
  const uint32_t packets = HostcallServer::packets_for(wave_count(capture));
  return {own_begin(capture), HostcallServer::bytes_for(packets)};
}

HostRange fresh_heap_range(const Capture& capture) {
  return {own_begin(capture) + kFarAway, kFreshHeapBytes};
}

const CapturedArgument* hostcall_argument(const CapturedKernel& kernel) {
  for (const CapturedArgument& argument : kernel.arguments)
    if (argument.arg.value_kind == "hidden_hostcall_buffer") return &argument;
  return nullptr;
}

// As if all were narrow ones.
uint64_t wave_count(const Capture& capture) {
  constexpr uint64_t kLanes = 32;
  uint64_t workgroups = 1;
  uint64_t lanes = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t size = std::max<uint64_t>(capture.dispatch.workgroup_size[axis], 1);
    workgroups *= (std::max<uint64_t>(capture.dispatch.grid_size[axis], 1) + size - 1) / size;
    workgroups = std::min<uint64_t>(workgroups, 1u << 24);
    lanes *= size;
  }
  return workgroups * (std::min<uint64_t>(lanes, 1024) + kLanes - 1) / kLanes;
}

std::string needed_and_missing(const Capture& capture, const CapturedKernel& kernel,
                               const CapturedMemory& memory) {
  for (const CapturedArgument& argument : kernel.arguments) {
    const std::string& kind = argument.arg.value_kind;
    const uint64_t value = value_of(argument);
    if (value == 0) continue;
    // Queues, and a scheduler behind them.
    if (kind == "hidden_default_queue" || kind == "hidden_completion_action")
      return errorf(
                 "%s: starts kernels itself (device enqueue), which a replay cannot; capture the "
                 "kernels it starts",
                 util::escape_control(capture.kernel).c_str())
          .message;
    if (kind != "hidden_multigrid_sync_arg") continue;
    // Of the device library's structure for it: how many GPUs take part.
    constexpr uint64_t kGridCount = 12;
    const std::span<const std::byte> grids = memory.bytes({value + kGridCount}, sizeof(uint32_t));
    uint32_t count = 0;
    if (!grids.empty()) std::memcpy(&count, grids.data(), sizeof count);
    if (count > 1)
      return errorf(
                 "%s: waits for its kernels on %s (a multi-device launch), which a replay of one "
                 "of them cannot; capture a launch on one GPU",
                 util::escape_control(capture.kernel).c_str(),
                 util::count_of(count - 1, "other GPU").c_str())
          .message;
  }
  return "";
}

HeapPlaces::HeapPlaces(const Capture& capture)
    : ranges_(allocated_ranges(capture)), used_(ranges_.size()) {}

std::optional<HostRange> HeapPlaces::take(uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < ranges_.size(); ++i)
    if (!used_[i] && ranges_[i].size_bytes >= size_bytes &&
        (best == SIZE_MAX || ranges_[i].size_bytes < ranges_[best].size_bytes))
      best = i;
  if (best == SIZE_MAX) return std::nullopt;
  used_[best] = true;
  return ranges_[best];
}

void HeapPlaces::give_back(uint64_t address) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < ranges_.size(); ++i)
    if (ranges_[i].begin == address) used_[i] = false;
}

void HeapPlaces::reset() {
  const std::lock_guard lock(mutex_);
  used_.assign(ranges_.size(), false);
}

Result<std::unique_ptr<EngineServices>> EngineServices::make(const Capture& capture,
                                                             CapturedMemory& memory) {
  std::unique_ptr<EngineServices> made(new EngineServices(capture, memory));
  const HostRange buffer = hostcall_range(capture);
  std::vector<HostRange> ranges = made->captured_.ranges();
  ranges.push_back(buffer);
  ranges.push_back(made->fresh_);
  for (const HostRange& range : ranges) {
    // There from a run before this one.
    memory.reveal({range.begin}, range.size_bytes);
    if (!memory.bytes({range.begin}, range.size_bytes).empty()) continue;
    const Status reserved = memory.reserve({range.begin}, range.size_bytes);
    if (!reserved.ok()) return reserved.error();
  }
  memory.reveal({buffer.begin}, buffer.size_bytes);
  EngineServices* const services = made.get();
  made->server_ = std::make_unique<HostcallServer>(
      memory.bytes({buffer.begin}, buffer.size_bytes), buffer.begin,
      HostcallServer::packets_for(wave_count(capture)), /*interrupts=*/true,
      HostServices{[services](std::string_view text, bool is_error) {
                     if (services->print_) services->print_(text, is_error);
                   },
                   [services](uint64_t size) { return services->allocate(size); },
                   [services](uint64_t address) { services->captured_.give_back(address); }});
  return made;
}

void EngineServices::reset() {
  server_->reset();
  captured_.reset();
  fresh_used_ = 0;
  for (const HostRange& range : captured_.ranges()) memory_.hide({range.begin});
  memory_.hide({fresh_.begin});
}

uint64_t EngineServices::allocate(uint64_t size_bytes) {
  if (const std::optional<HostRange> place = captured_.take(size_bytes)) {
    memory_.reveal({place->begin}, place->size_bytes);
    return place->begin;
  }
  const std::lock_guard lock(mutex_);
  const uint64_t at = fresh_used_;
  if (size_bytes > fresh_.size_bytes - at) return 0;
  fresh_used_ = std::min(round_up(at + size_bytes, kSlabAlign), fresh_.size_bytes);
  memory_.reveal({fresh_.begin}, fresh_used_);
  return fresh_.begin + at;
}

}  // namespace wavetap::replay
