#include "store/import_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "codeobj/code_object.h"

namespace wavetap::store {

// --- ImportLanes

int64_t ImportLanes::device_of_queue(uint32_t queue) {
  const RawQueue* raw = facts_.queue(queue);
  return raw == nullptr ? 0 : std::max<int64_t>(devices_.id(facts_.agent(raw->fact.agent)), 0);
}

int64_t ImportLanes::of_queue(uint32_t queue) {
  const auto [at, added] = queues_.try_emplace(queue, 0);
  if (!added) return at->second;
  at->second = devices_.next_lane();
  rows::QueueUse row{.id = at->second,
                     .pid = pid(),
                     .gpu = device_of_queue(queue),
                     .kind = "compute",
                     .address = std::nullopt,
                     .size = std::nullopt,
                     .created = std::nullopt,
                     .destroyed = std::nullopt};
  if (const RawQueue* raw = facts_.queue(queue)) {
    row.address = raw->fact.address;
    row.size = raw->fact.size;
    row.created = facts_.clock.monotonic(raw->fact.time);
    if (raw->destroyed != 0) row.destroyed = facts_.clock.monotonic(raw->destroyed);
  }
  writer_.put(row);
  return at->second;
}

int64_t ImportLanes::of_copies(int64_t device, const char* direction) {
  const auto [at, added] = copies_.try_emplace({device, direction}, 0);
  if (!added) return at->second;
  at->second = devices_.next_lane();
  writer_.put(rows::QueueUse{.id = at->second,
                             .pid = pid(),
                             .gpu = device,
                             .kind = direction,
                             .address = std::nullopt,
                             .size = std::nullopt,
                             .created = std::nullopt,
                             .destroyed = std::nullopt});
  return at->second;
}

// --- ImportContext

ImportContext::ImportContext(ImportTarget& target, int64_t number, const RawFacts& recorded)
    : writer(target.writer),
      devices(target.devices),
      counters(target.counters),
      result(target.result),
      session(number),
      facts(recorded),
      code(recorded, target.folder),
      texts(target.writer, number),
      functions(recorded, texts),
      lanes(recorded, target.devices, target.writer) {}

int64_t ImportContext::api_of(format::Owner owner) const {
  const auto found = events.stream_index.find(owner.stream);
  if (owner.call == 0 || found == events.stream_index.end()) return 0;
  const StreamEvents& stream = events.streams[found->second];
  const auto at = std::lower_bound(stream.calls.begin(), stream.calls.end(), owner.call,
                                   [](const auto* call, uint32_t n) { return call->call < n; });
  if (at == stream.calls.end() || (*at)->call != owner.call) return 0;
  const auto index = static_cast<size_t>(at - stream.calls.begin());
  WT_CHECK(index < stream.ids.size(), "calls have their ids before anything refers to them");
  return id(stream.ids[index]);
}

const ImportKernel* ImportContext::kernel(const format::DispatchRecord& dispatch) const {
  const std::optional<size_t> index = facts.kernel(dispatch.kernel_object, dispatch.time);
  return index ? &kernels[*index] : nullptr;
}

std::string ImportContext::kernel_name(const format::DispatchRecord& dispatch) const {
  const std::optional<size_t> index = facts.kernel(dispatch.kernel_object, dispatch.time);
  return index ? codeobj::demangle(facts.kernels[*index].name)
               : fmt::format("kernel {:#x}", dispatch.kernel_object);
}

const char* copy_type(int64_t kind, int64_t dst_device, int64_t src_device) {
  constexpr const char* kTypes[] = {"CopyHostToHost", "CopyHostToDevice", "CopyDeviceToHost",
                                    "CopyDeviceToDevice"};
  if (kind < 0 || kind > 3) kind = (src_device >= 0 ? 2 : 0) + (dst_device >= 0 ? 1 : 0);
  return kTypes[kind];
}

}  // namespace wavetap::store
