// Copies, asynchronous and not, fills, and the signals that tell when copies are done.
#include <time.h>

#include "agent/copies_in_flight.h"
#include "agent/gate.h"
#include "agent/hsa_facts.h"
#include "agent/hsa_hooks.h"
#include "agent/hsa_queue.h"
#include "agent/hsa_table.h"
#include "agent/hsa_times.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

using format::CopyKind;

// ---- copies ------------------------------------------------------------------------------------

void begin(Copy& copy) {
  const Stream* in = stream();
  copy.time = ticks();
  copy.owner = in == nullptr ? format::Owner{} : in->owner();
}

// Records a copy that `submit` hands to the runtime with the program's signal.
template <class Submit>
HsaStatus copy_with(Copy copy, uint64_t signal, Submit submit_copy) {
  const GateScope gate;
  const auto submit = [&] {
    if (!has_dispatch_policies()) return submit_copy();
    g_copies_in_flight.add(signal);
    const HsaStatus status = submit_copy();
    if (status != kHsaSuccess) g_copies_in_flight.forget(signal);
    return status;
  };
  if (!recording() || copy.bytes == 0) {
    if (signal != 0) g_program_signals.submit_other(signal);
    return submit();
  }
  using Timing = ProgramSignals::Timing;
  begin(copy);
  const uint64_t id = next_operation();
  const Timing timing =
      signal == 0 ? Timing::kUnknown : g_program_signals.submit_copy(signal, id, copy);
  const HsaStatus status = submit();
  if (status != kHsaSuccess) {
    if (timing != Timing::kUnknown) g_program_signals.cancel_copy(signal, id, copy);
    return status;
  }
  if (timing == Timing::kUnknown) count_loss(format::Loss::kUntimed);
  if (timing != Timing::kGrouped) write_copy(copy, id);
  note_in_flight();
  return status;
}

// Records a copy that is done when `run` returns.
template <class Run>
HsaStatus copy_now(Copy copy, Run run) {
  const GateScope gate;
  if (!recording() || copy.bytes == 0) return run();
  begin(copy);
  const uint64_t id = next_operation();
  const int64_t start = boottime_ns();
  const HsaStatus status = run();
  if (status != kHsaSuccess) return status;
  const int64_t end = boottime_ns();
  write_copy(copy, id);
  write_completion_ns(id, format::Kind::kCopy, start, end);
  return status;
}

Copy describe(const void* to, uint64_t to_agent, const void* from, uint64_t from_agent, size_t size,
              uint32_t engine) {
  Copy copy{};
  copy.kind = CopyKind::kCopy;
  copy.destination = reinterpret_cast<uint64_t>(to);
  copy.source = reinterpret_cast<uint64_t>(from);
  copy.bytes = size;
  copy.destination_agent = agent_number(to_agent);
  copy.source_agent = agent_number(from_agent);
  copy.engine = engine;
  return copy;
}

HsaStatus on_async_copy(void* to, uint64_t to_agent, const void* from, uint64_t from_agent,
                        size_t size, uint32_t count, const uint64_t* dependencies,
                        uint64_t signal) {
  const Copy copy = describe(to, to_agent, from, from_agent, size, 0);
  return copy_with(copy, signal, [&] {
    return hsa().hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, count,
                                           dependencies, signal);
  });
}

HsaStatus on_async_copy_on_engine(void* to, uint64_t to_agent, const void* from,
                                  uint64_t from_agent, size_t size, uint32_t count,
                                  const uint64_t* dependencies, uint64_t signal, uint32_t engine,
                                  bool force) {
  const Copy copy = describe(to, to_agent, from, from_agent, size, engine);
  return copy_with(copy, signal, [&] {
    return hsa().hsa_amd_memory_async_copy_on_engine(to, to_agent, from, from_agent, size, count,
                                                     dependencies, signal, engine, force);
  });
}

uint64_t corner(const HsaPitchedPointer* pointer, const HsaDim3* offset) {
  if (pointer == nullptr || offset == nullptr) return 0;
  return reinterpret_cast<uint64_t>(pointer->base) + offset->x + offset->y * pointer->pitch +
         offset->z * pointer->slice;
}

HsaStatus on_async_copy_rect(const void* to, const void* to_offset, const void* from,
                             const void* from_offset, const void* range, uint64_t agent,
                             uint32_t direction, uint32_t count, const uint64_t* dependencies,
                             uint64_t signal) {
  constexpr uint32_t kHostToDevice = 1;
  constexpr uint32_t kDeviceToHost = 2;
  const auto* extent = static_cast<const HsaDim3*>(range);
  const uint32_t gpu = agent_number(agent);
  Copy copy{};
  copy.kind = CopyKind::kRect;
  copy.destination_agent = copy.source_agent = gpu;
  copy.destination =
      corner(static_cast<const HsaPitchedPointer*>(to), static_cast<const HsaDim3*>(to_offset));
  copy.source =
      corner(static_cast<const HsaPitchedPointer*>(from), static_cast<const HsaDim3*>(from_offset));
  if (extent != nullptr) copy.bytes = uint64_t{extent->x} * extent->y * extent->z;
  if (direction == kHostToDevice) copy.source_agent = host_agent();
  if (direction == kDeviceToHost) copy.destination_agent = host_agent();
  return copy_with(copy, signal, [&] {
    return hsa().hsa_amd_memory_async_copy_rect(to, to_offset, from, from_offset, range, agent,
                                                direction, count, dependencies, signal);
  });
}

HsaStatus on_memory_fill(void* to, uint32_t value, size_t count) {
  Copy copy{};
  copy.kind = CopyKind::kFill;
  copy.destination = reinterpret_cast<uint64_t>(to);
  copy.source = value;
  copy.bytes = count * sizeof value;
  if (recording()) copy.destination_agent = copy.source_agent = agent_of_address(to);
  return copy_now(copy, [&] { return hsa().hsa_amd_memory_fill(to, value, count); });
}

HsaStatus on_memory_copy(void* to, const void* from, size_t size) {
  Copy copy{};
  copy.kind = CopyKind::kCopy;
  copy.destination = reinterpret_cast<uint64_t>(to);
  copy.source = reinterpret_cast<uint64_t>(from);
  copy.bytes = size;
  if (recording()) {
    copy.destination_agent = agent_of_address(to);
    copy.source_agent = agent_of_address(from);
  }
  return copy_now(copy, [&] { return hsa().hsa_memory_copy(to, from, size); });
}

// Times of copies are always on; a program that turns them off cannot tell.
HsaStatus on_async_copy_enable(bool) { return hsa().hsa_amd_profiling_async_copy_enable(true); }

// ---- signals -----------------------------------------------------------------------------------

HsaStatus on_signal_create(int64_t value, uint32_t count, const uint64_t* consumers,
                           uint64_t* signal) {
  const HsaStatus status = hsa().hsa_signal_create(value, count, consumers, signal);
  if (status == kHsaSuccess) g_program_signals.created(*signal);
  return status;
}

HsaStatus on_amd_signal_create(int64_t value, uint32_t count, const uint64_t* consumers,
                               uint64_t attributes, uint64_t* signal) {
  const HsaStatus status = hsa().hsa_amd_signal_create(value, count, consumers, attributes, signal);
  if (status == kHsaSuccess) g_program_signals.created(*signal);
  return status;
}

HsaStatus on_signal_destroy(uint64_t signal) {
  if (signal != 0) g_program_signals.destroyed(signal);
  if (has_dispatch_policies()) g_copies_in_flight.forget(signal);
  return hsa().hsa_signal_destroy(signal);
}

HsaStatus on_get_dispatch_time(uint64_t agent, uint64_t signal, void* result) {
  HsaTimes* times = static_cast<HsaTimes*>(result);
  if (times != nullptr && g_program_signals.is_shared(signal)) {
    Queue::harvest_all(true);
    HsaTimes ticks{};
    if (g_program_signals.substituted(signal, &ticks.start, &ticks.end)) {
      const HsaStatus status =
          hsa().hsa_amd_profiling_convert_tick_to_system_domain(agent, ticks.end, &times->end);
      if (status != kHsaSuccess) return status;
      return hsa().hsa_amd_profiling_convert_tick_to_system_domain(agent, ticks.start,
                                                                   &times->start);
    }
  }
  return hsa().hsa_amd_profiling_get_dispatch_time(agent, signal, result);
}

}  // namespace

void install_copy_hooks() {
  HsaTable& table = g_hsa_table;
  table.install(&Hsa::hsa_amd_memory_async_copy, &on_async_copy);
  table.install(&Hsa::hsa_amd_memory_async_copy_on_engine, &on_async_copy_on_engine);
  table.install(&Hsa::hsa_amd_memory_async_copy_rect, &on_async_copy_rect);
  table.install(&Hsa::hsa_amd_memory_fill, &on_memory_fill);
  table.install(&Hsa::hsa_memory_copy, &on_memory_copy);
  table.install(&Hsa::hsa_amd_profiling_async_copy_enable, &on_async_copy_enable);
  hsa().hsa_amd_profiling_async_copy_enable(true);
}

void install_signal_hooks() {
  HsaTable& table = g_hsa_table;
  table.install(&Hsa::hsa_signal_create, &on_signal_create);
  table.install(&Hsa::hsa_amd_signal_create, &on_amd_signal_create);
  table.install(&Hsa::hsa_signal_destroy, &on_signal_destroy);
  table.install(&Hsa::hsa_amd_profiling_get_dispatch_time, &on_get_dispatch_time);
}

}  // namespace wavetap::agent
