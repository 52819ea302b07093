// Two layers see memory: HSA gives it out in the pieces that HIP wants, and the program asks HIP for
// pieces of its own. A piece of HSA's that a call returned is both; others are the runtime's, and what a
// call took from a piece that was there already (a pool) has a row of its own. So the sum of `bytes` is
// what the GPU held, and the sum of `asked_bytes` is what the program did.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/import_parts.h"
#include "store/live_memory.h"

namespace wavetap::store {
namespace {

uint64_t key_of(format::Owner owner) { return uint64_t{owner.stream} << 32 | owner.call; }

// Most lists are in order already, and may be long.
template <class T, class Before>
void sort_unless_sorted(std::vector<T>& list, Before before) {
  if (!std::is_sorted(list.begin(), list.end(), before))
    std::stable_sort(list.begin(), list.end(), before);
}

class MemoryImport {
 public:
  MemoryImport(ImportContext& import, const std::vector<MemoryCall>& calls)
      : import_(import), calls_(calls) {}

  void run() {
    collect();
    match();
    write();
  }

 private:
  // A row of wavetap_allocation.
  struct Row {
    int64_t api = 0;
    int64_t device = -1;
    format::MemoryKind kind{};
    uint64_t address = 0, bytes = 0;
    int64_t start = 0, end = 0;
    std::optional<uint64_t> asked;
  };
  // In the order of time; what happens at one time is in the order of the kinds.
  enum class What : uint8_t { kAllocate, kCallAllocated, kCallFrees, kFree };
  struct Step {
    int64_t time = 0;
    What what{};
    size_t index = 0;  // of import.memory, or of calls_
  };

  void collect();
  std::vector<Step> steps() const;
  void match();
  void take(const MemoryCall& call);
  bool made_hip_calls() const;
  void write();

  ImportContext& import_;
  const std::vector<MemoryCall>& calls_;
  std::vector<Row> rows_;                         // those of import.memory first
  std::map<uint64_t, size_t> live_;               // HSA's, by address
  std::unordered_map<uint64_t, size_t> asked_;    // the program's, by pointer
  std::unordered_map<uint64_t, size_t> of_call_;  // last of a call, by key_of()
};

void MemoryImport::collect() {
  std::unordered_map<uint64_t, size_t> live;
  std::vector<HeldMemory>& memory = import_.memory;
  for (const MemoryEvent& event : import_.events.memory) {
    if (event.allocate != nullptr) {
      const format::AllocateRecord& a = *event.allocate;
      const auto kind = static_cast<format::MemoryKind>(a.header.flags);
      live[a.address] = memory.size();
      memory.push_back({.address = a.address,
                        .bytes = a.bytes,
                        .device = device_of_memory(kind, import_.device_of_agent(a.agent)),
                        .kind = kind,
                        .start = import_.ns(a.time),
                        .end = 0,
                        .owner = a.owner});
    } else if (const auto found = live.find(event.free->address); found != live.end()) {
      HeldMemory& ended = memory[found->second];
      ended.end = std::max(ended.start, import_.ns(event.free->time));
      live.erase(found);
    }
  }
  for (const HeldMemory& held : memory)
    rows_.push_back({.api = import_.api_of(held.owner),
                     .device = held.device,
                     .kind = held.kind,
                     .address = held.address,
                     .bytes = held.bytes,
                     .start = held.start,
                     .end = held.end,
                     .asked = std::nullopt});
}

std::vector<MemoryImport::Step> MemoryImport::steps() const {
  std::vector<Step> steps;
  for (size_t i = 0; i < import_.memory.size(); ++i) {
    steps.push_back({import_.memory[i].start, What::kAllocate, i});
    if (import_.memory[i].end != 0) steps.push_back({import_.memory[i].end, What::kFree, i});
  }
  for (size_t i = 0; i < calls_.size(); ++i)
    steps.push_back(calls_[i].is_free ? Step{calls_[i].start, What::kCallFrees, i}
                                      : Step{calls_[i].end, What::kCallAllocated, i});
  sort_unless_sorted(steps, [](const Step& a, const Step& b) {
    return a.time != b.time ? a.time < b.time : a.what < b.what;
  });
  return steps;
}

void MemoryImport::match() {
  for (const Step& step : steps()) {
    switch (step.what) {
      case What::kAllocate:
        live_[import_.memory[step.index].address] = step.index;
        of_call_[key_of(import_.memory[step.index].owner)] = step.index;
        break;
      case What::kFree: {
        const auto found = live_.find(import_.memory[step.index].address);
        if (found != live_.end() && found->second == step.index) live_.erase(found);
        break;
      }
      case What::kCallAllocated: take(calls_[step.index]); break;
      case What::kCallFrees:
        if (const auto found = asked_.find(calls_[step.index].pointer); found != asked_.end()) {
          rows_[found->second].end = std::max(rows_[found->second].start, step.time);
          asked_.erase(found);
        }
        break;
    }
  }
  // A program that does not use HIP asks HSA itself.
  if (!made_hip_calls())
    for (Row& row : rows_) row.asked = row.bytes;
}

void MemoryImport::take(const MemoryCall& call) {
  const auto after = live_.upper_bound(call.pointer);
  std::optional<size_t> piece;  // of HSA's, that holds the pointer
  if (after != live_.begin()) {
    const HeldMemory& held = import_.memory[std::prev(after)->second];
    if (call.pointer - held.address < held.bytes) piece = std::prev(after)->second;
  }
  const auto last = of_call_.find(key_of(call.owner));
  // Arrays have handles instead of pointers: theirs is the last piece that the call got.
  const bool is_handle = !piece && last != of_call_.end();
  if (is_handle) piece = last->second;
  const bool is_own =
      piece && (is_handle || (rows_[*piece].address == call.pointer &&
                              rows_[*piece].start >= call.start && !rows_[*piece].asked));
  size_t row = rows_.size();
  if (is_own) {
    row = *piece;
    rows_[row].asked = call.bytes != 0 ? call.bytes : rows_[row].bytes;
    rows_[row].api = call.api;
  } else if (call.pointer != 0) {
    rows_.push_back({.api = call.api,
                     .device = piece ? rows_[*piece].device : call.device,
                     .kind = piece             ? rows_[*piece].kind
                             : call.device < 0 ? format::MemoryKind::kHost
                                               : format::MemoryKind::kDevice,
                     .address = call.pointer,
                     .bytes = 0,
                     .start = call.end,
                     .end = 0,
                     .asked = call.bytes});
  } else {
    return;
  }
  // The pointer again without a free in between: the free was not seen, but must have been.
  if (const auto [before, is_new] = asked_.try_emplace(call.pointer, row); !is_new) {
    if (rows_[before->second].end == 0 && before->second != row)
      rows_[before->second].end = std::max(rows_[before->second].start, call.start);
    before->second = row;
  }
}

bool MemoryImport::made_hip_calls() const {
  for (const StreamEvents& stream : import_.events.streams)
    for (const format::CallRecord* call : stream.calls) {
      const RawFunction* function = import_.facts.function(call->function);
      if (function != nullptr && function->api == format::Api::kHip) return true;
    }
  return false;
}

void MemoryImport::write() {
  for (const HeldMemory& held : import_.memory) {
    if (held.device < 0) continue;
    const auto bytes = static_cast<int64_t>(held.bytes);
    import_.devices.hold(held.device, held.start, bytes);
    import_.devices.hold(held.device, held.end == 0 ? import_.last_ns : held.end, -bytes);
  }
  sort_unless_sorted(rows_, [](const Row& a, const Row& b) { return a.start < b.start; });
  for (const Row& row : rows_)
    import_.writer.put(rows::AllocationEvent{
        .pid = import_.pid(),
        .api = row.api == 0 ? std::nullopt : std::optional(row.api),
        .gpu = row.device,
        .kind = memory_kind_name(row.kind),
        .address = row.address,
        .bytes = row.bytes,
        .start = row.start,
        .end = row.end == 0 ? std::nullopt : std::optional(row.end),
        .asked = row.asked ? std::optional<int64_t>(*row.asked) : std::nullopt});
}

}  // namespace

void import_memory(ImportContext& import, const std::vector<MemoryCall>& calls) {
  MemoryImport(import, calls).run();
}

}  // namespace wavetap::store
