#include "store/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "format/reader.h"
#include "format/session.h"
#include "store/import_devices.h"
#include "store/import_process.h"
#include "store/merge.h"
#include "store/trace.h"
#include "store/trace_writer.h"
#include "util/text.h"

namespace wavetap::store {
namespace {

// In the order they were started; the first becomes session 0.
std::vector<const format::ProcessStreams*> in_order(const format::SessionReader& session) {
  std::vector<const format::ProcessStreams*> processes;
  for (const format::ProcessStreams& process : session.processes()) processes.push_back(&process);
  // The top byte counts exec().
  const auto started = [](const format::ProcessStreams* p) {
    return std::tuple(p->id.start << 8, p->id.pid, p->id.start);
  };
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const auto* a, const auto* b) { return started(a) < started(b); });
  return processes;
}

// When somebody saw a process end; 0: nobody did.
int64_t ended_at(const std::vector<const format::ProcessStreams*>& processes, int64_t number,
                 const ImportOptions& options) {
  const uint32_t pid = processes[static_cast<size_t>(number)]->id.pid;
  // A process that became other programs by exec() ended as the last of them.
  const bool is_last_image = std::none_of(processes.begin() + number + 1, processes.end(),
                                          [&](const auto* later) { return later->id.pid == pid; });
  return pid == options.ended_pid && is_last_image ? options.ended_ns : 0;
}

// What could not be read of the raw trace.
void write_damage(const format::Damage& damage, TraceWriter& writer, ImportResult& result) {
  for (size_t i = 0; i < damage.notes.size(); ++i) {
    result.notes.push_back(damage.notes[i]);
    writer.put(rows::LossEvent{.pid = std::nullopt,
                               .time = std::nullopt,
                               .reason = "unreadable",
                               .count = i == 0 ? damage.missing_records : 0,
                               .what = damage.notes[i]});
  }
  result.losses += damage.missing_records;
}

void write_unreadable_counters(uint64_t lines, TraceWriter& writer, ImportResult& result) {
  if (lines == 0) return;
  const std::string what = fmt::format("{}: {} cannot be read; what was counted there is missing",
                                       format::kCountersFile, util::count_of(lines, "line"));
  result.notes.push_back(what);
  result.losses += lines;
  writer.put(rows::LossEvent{.pid = std::nullopt,
                             .time = std::nullopt,
                             .reason = "counters",
                             .count = lines,
                             .what = what});
}

void add_metadata(const RawFacts& first, int64_t sessions, const ImportResult& result,
                  TraceWriter& writer) {
  if (sessions > 0) {
    writer.add_metadata("epoch_offset_ns", std::to_string(first.clock.epoch_offset()));
    writer.add_metadata("boot_id", first.boot_id);
    writer.add_metadata("hostname", first.hostname);
  }
  writer.add_metadata("session_count", std::to_string(sessions));
  writer.add_metadata("producer", "wavetap " WAVETAP_VERSION);
  writer.add_metadata("losses", std::to_string(result.losses));
  if (result.emulated) writer.add_metadata("emulated", "1");
}

Status fill_from_session(const std::string& folder, const std::string& path,
                         const ImportOptions& options, ImportResult& result) {
  Result<format::SessionReader> session = format::SessionReader::open(folder);
  if (!session.ok()) return session.error();
  if (session->processes().empty() && !session->damage().any() && !options.allow_empty)
    return errorf("%s: holds no recording; give the folder of one", folder.c_str());
  Result<TraceWriter> writer = TraceWriter::create(path);
  if (!writer.ok()) return writer.error();

  ImportDevices devices;
  RawCounters counters = RawCounters::read(folder);
  ImportTarget target{.folder = folder,
                      .raw_bytes = session->file_bytes(),
                      .writer = *writer,
                      .devices = devices,
                      .counters = counters,
                      .result = result};
  RawFacts first_facts{format::ProcessId{}};
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  const std::vector<const format::ProcessStreams*> processes = in_order(*session);
  int64_t number = 0;
  for (const format::ProcessStreams* streams : processes) {
    std::function<void(double)> progress;
    if (options.progress)
      progress = [&](double share) {
        options.progress(0.9 * (static_cast<double>(number) + share) /
                         static_cast<double>(processes.size()));
      };
    ImportedProcess process =
        import_process(*streams, number, ended_at(processes, number, options), target, progress);
    result.emulated = result.emulated || process.facts.process().emulated == 1;
    if (process.last_ns > 0) {
      first = std::min(first, process.first_ns);
      last = std::max(last, process.last_ns);
    }
    for (const format::StreamReader* stream : streams->streams)
      result.records += stream->records(), result.raw_bytes += stream->bytes_read();
    result.threads += process.facts.threads.size();
    result.files += streams->streams.size();
    if (number++ == 0) first_facts = std::move(process.facts);
  }
  devices.write(*writer);
  write_damage(session->total_damage(), *writer, result);
  write_unreadable_counters(counters.unreadable(), *writer, result);
  result.processes = processes.size();
  result.duration_ns = last > first ? last - first : 0;
  result.rows = writer->rows();
  add_metadata(first_facts, number, result, *writer);
  if (options.progress) options.progress(0.9);
  return writer->finish();
}

}  // namespace

Result<ImportResult> import_session(const std::string& folder, const std::string& output,
                                    const ImportOptions& options) {
  ImportResult result;
  const Status made = make_whole(output, options.overwrite, [&](const std::string& path) {
    return fill_from_session(folder, path, options, result);
  });
  if (!made.ok()) return made.error();
  return result;
}

Result<ImportResult> import_rpd(const std::string& input, const std::string& output,
                                const ImportOptions& options) {
  ImportResult result;
  const Status made = make_whole(output, options.overwrite, [&](const std::string& path) -> Status {
    Result<MergedFile> file = convert_trace(input, path);
    if (!file.ok()) return file.error();
    result.rows = file->rows;
    return {};
  });
  if (!made.ok()) return made.error();
  LoadOptions load;
  load.domains = load.copies_and_launches = load.monitors = load.counters = false;
  Result<Trace> trace = Trace::load(output, load);
  if (!trace.ok()) return trace.error();
  result.events = count_events(*trace);
  result.duration_ns = trace->span().length();
  result.emulated = trace->is_emulated();
  std::set<int64_t> processes;
  for (const Thread& thread : trace->threads) processes.insert(thread.pid);
  result.processes = processes.size();
  return result;
}

}  // namespace wavetap::store
