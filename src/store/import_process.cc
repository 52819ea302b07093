#include "store/import_process.h"

#include "store/import_clock.h"
#include "store/import_parts.h"

namespace wavetap::store {

ImportedProcess import_process(const format::ProcessStreams& streams, int64_t session,
                               int64_t ended_ns, ImportTarget& target,
                               const std::function<void(double)>& progress) {
  ImportedProcess process{.facts = RawFacts(streams.id)};
  ImportContext import(target, session, process.facts);
  import.ended_ns = ended_ns;
  ProcessEvents& events = import.events;
  events.id_limit = target.raw_bytes / sizeof(format::CompleteRecord) + 1;
  // Facts first: what everything else means. Stream 0 holds completions besides.
  if (format::StreamReader* facts = streams.facts()) {
    format::Record record;
    while (facts->next(record)) {
      process.facts.take(record);
      events.take_operation(record);
    }
  }
  if (!streams.streams.empty())
    process.facts.clock.set_frequency(streams.streams.back()->clock(),
                                      process.facts.process().clock_hz);
  events.read(streams, process.facts);
  find_clock_rate(process.facts, events);
  if (progress) progress(0.3);
  import.first_ns =
      import.ns(events.first_time == UINT64_MAX ? events.last_time : events.first_time);
  import.last_ns = import.ns(events.last_time);

  import_kernels(import);
  find_owners_by_order(import);
  std::function<void(double)> calls_progress;
  if (progress) calls_progress = [&](double share) { progress(0.3 + 0.5 * share); };
  const std::vector<MemoryCall> memory_calls = import_calls(import, calls_progress);
  import_markers(import);
  import_operations(import);
  import_swaps(import);
  import_counters(import);
  import_memory(import, memory_calls);
  import_faults(import);
  import_facts(import);
  import_unseen(import);
  import_device_figures(import);
  import.texts.finish();

  process.first_ns = import.first_ns;
  process.last_ns = import.last_ns;
  return process;
}

}  // namespace wavetap::store
