#include <fmt/format.h>

#include <algorithm>

#include "store/import_clock.h"
#include "store/import_parts.h"

namespace wavetap::store {
namespace {

const char* control_name(format::Control event) {
  switch (event) {
    case format::Control::kStarted: return "started";
    case format::Control::kStopped: return "stopped";
    case format::Control::kFlushed: return "flushed";
    case format::Control::kExited: return "exited";
    case format::Control::kForked: return "forked";
  }
  return "other";
}

const char* library_event_name(format::LibraryEvent event) {
  switch (event) {
    case format::LibraryEvent::kStartup: return "startup";
    case format::LibraryEvent::kOpened: return "opened";
    case format::LibraryEvent::kClosed: return "closed";
  }
  return "other";
}

bool has_exited(const RawFacts& facts) {
  return std::any_of(facts.controls.begin(), facts.controls.end(), [](const auto& control) {
    return static_cast<format::Control>(control.header.flags) == format::Control::kExited;
  });
}

void import_process_fact(ImportContext& import) {
  const RawFacts& facts = import.facts;
  std::string command = facts.command;
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  const int64_t start = facts.has_process() ? import.ns(facts.process().time) : import.first_ns;
  import.writer.put(rows::ProcessRun{
      .session = import.session,
      .pid = import.pid(),
      .parent = facts.process().parent,
      .start = start,
      .end = std::max({start, import.last_ns, facts.clock.last_sample(), import.ended_ns}),
      .executable = facts.executable,
      .command = command,
      .hostname = facts.hostname,
      .agent = facts.agent_version,
      .emulated = facts.process().emulated != 0,
      .exited = has_exited(facts)});
}

void import_lists(ImportContext& import) {
  const RawFacts& facts = import.facts;
  for (const format::ControlFact& control : facts.controls)
    import.writer.put(rows::ControlEvent{
        .pid = import.pid(),
        .time = import.ns(control.time),
        .event = control_name(static_cast<format::Control>(control.header.flags)),
        .by_pid = control.by_pid,
        .count = control.count});
  for (const RawThread& thread : facts.threads)
    import.writer.put(
        rows::ThreadName{.pid = import.pid(), .tid = thread.tid, .name = thread.name});
  for (const RawLibrary& library : facts.libraries)
    import.writer.put(rows::LibraryEvent{.pid = import.pid(),
                                         .time = import.ns(library.time),
                                         .path = library.path,
                                         .soname = library.soname,
                                         .build_id = library.build_id,
                                         .answers_for = library.answers_for,
                                         .how = library_event_name(library.event)});
}

// Calls that threads were in when the process died.
void import_open_calls(ImportContext& import) {
  if (has_exited(import.facts)) return;
  for (const StreamEvents& stream : import.events.streams) {
    if (stream.open_call == 0) continue;
    const RawFunction* raw = import.facts.function(static_cast<uint32_t>(stream.open_call >> 32));
    import.writer.put(rows::OpenCall{.pid = import.pid(),
                                     .tid = stream.tid,
                                     .name = raw == nullptr ? "?" : std::string_view(raw->name),
                                     .start = import.ns(stream.open_since)});
  }
}

void import_losses(ImportContext& import) {
  ImportResult& result = import.result;
  for (const RawLoss& loss : import.facts.losses) {
    import.writer.put(rows::LossEvent{.pid = import.pid(),
                                      .time = import.ns(loss.time),
                                      .reason = loss_name(loss.reason),
                                      .count = loss.count,
                                      .what = loss.what});
    if (loss.reason != format::Loss::kTextTruncated) result.losses += loss.count;
    if (loss.reason == format::Loss::kBypassed)
      import.note(fmt::format("process {}: {}", import.pid(), loss.what));
    else
      import.note(fmt::format("process {}: {} events, {}{}{}", import.pid(), loss.count,
                              loss_name(loss.reason), loss.what.empty() ? "" : ": ", loss.what));
  }
  if (const ClockDoubt doubt = clock_doubt(import.facts.clock); doubt.reason != nullptr) {
    import.writer.put(rows::LossEvent{.pid = import.pid(),
                                      .time = import.first_ns,
                                      .reason = doubt.reason,
                                      .count = 0,
                                      .what = doubt.what});
    import.note(fmt::format("process {}: {}", import.pid(), doubt.what));
  }
  for (const std::string& note : import.facts.notes)
    import.note(fmt::format("process {}: {}", import.pid(), note));
  if (const uint64_t bad = import.events.bad_operations; bad > 0) {
    result.losses += bad;
    import.note(
        fmt::format("process {}: {} GPU operations with impossible numbers", import.pid(), bad));
  }
  if (const uint64_t unknown = import.events.unknown_records + import.facts.unknown_records;
      unknown > 0)
    import.note(fmt::format("process {}: {} records of kinds this version does not know",
                            import.pid(), unknown));
}

}  // namespace

void import_facts(ImportContext& import) {
  import_process_fact(import);
  import_lists(import);
  import_open_calls(import);
  import_losses(import);
}

}  // namespace wavetap::store
