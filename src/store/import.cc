#include "store/import.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <tuple>

#include "format/reader.h"
#include "store/import_process.h"
#include "store/import_tables.h"
#include "store/merge.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

// Made beside the output and renamed at the end, so that a file of that name is always whole.
Status make_file(const std::string& output, const ImportOptions& options,
                 const std::function<Status(const std::string&)>& fill) {
  if (!options.overwrite && access(output.c_str(), F_OK) == 0)
    return errorf("%s: exists already; name another file with -o", output.c_str());
  const std::string part = output + ".part-" + std::to_string(getpid());
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  if (Status status = fill(part); !status.ok()) {
    std::filesystem::remove(part, ignored);
    return status;
  }
  if (std::rename(part.c_str(), output.c_str()) != 0) {
    std::filesystem::remove(part, ignored);
    return errorf("%s: cannot be put in place; name another file with -o", output.c_str());
  }
  return {};
}

// How much each GPU held, as counters beside the work, and its high-water mark.
void write_devices(ImportFile& file, ImportDevices& devices) {
  std::stable_sort(devices.held.begin(), devices.held.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  struct Open {
    int64_t since = 0;
    bool any = false;
  };
  std::map<int64_t, Open> open;
  const auto write = [&](int64_t device, int64_t start, int64_t end, int64_t bytes) {
    BulkTable& table = *file.monitor;
    table.begin(static_cast<int64_t>(table.rows()) + 1);
    table.null();
    table.text("gpu");
    table.integer(device);
    table.text("memory");
    table.integer(start);
    table.integer(end);
    table.text(std::to_string(bytes));
    table.end();
  };
  for (size_t i = 0; i < devices.held.size(); ++i) {
    const ImportDevices::Held& event = devices.held[i];
    ImportDevices::Device& device = devices.devices[event.device];
    Open& span = open[event.device];
    if (span.any && event.time > span.since)
      write(event.device, span.since, event.time, device.held_bytes);
    device.held_bytes += event.delta;
    span = {event.time, true};
    if (device.held_bytes > device.peak_bytes)
      device.peak_bytes = device.held_bytes, device.peak_time = event.time;
  }
  for (const auto& [id, device] : devices.devices) {
    const format::AgentFact& a = device.agent.fact;
    file.add("wavetap_device",
             {id, device.agent.name, device.agent.product, device.agent.uuid,
              int64_t{a.compute_units}, int64_t{a.clock_mhz}, int64_t{a.wavefront},
              fmt::format("{:04x}:{:02x}:{:02x}.{}", a.bdf >> 16, (a.bdf >> 8) & 0xff,
                          (a.bdf >> 3) & 0x1f, a.bdf & 7),
              static_cast<int64_t>(a.memory_bytes), device.peak_bytes,
              device.peak_time == 0 ? ImportFile::Cell() : ImportFile::Cell(device.peak_time)});
  }
}

Status fill_from_session(const std::string& folder, const std::string& path,
                         const ImportOptions& options, ImportResult& result) {
  Result<format::SessionReader> session = format::SessionReader::open(folder);
  if (!session.ok()) return session.error();
  if (session->processes().empty() && !session->damage().any() && !options.allow_empty)
    return errorf("%s: holds no recording; give the folder of one", folder.c_str());
  if (Status s = create_import_file(path); !s.ok()) return s;
  Result<std::unique_ptr<ImportFile>> opened = ImportFile::open(path);
  if (!opened.ok()) return opened.error();
  ImportFile& file = **opened;

  ImportDevices devices;
  int64_t first = INT64_MAX, last = INT64_MIN;
  std::vector<const format::ProcessStreams*> processes;
  for (const format::ProcessStreams& process : session->processes()) processes.push_back(&process);
  // In the order they were started; the first becomes session 0. The top byte counts exec().
  const auto started = [](const format::ProcessStreams* p) {
    return std::tuple(p->id.start << 8, p->id.pid, p->id.start);
  };
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const auto* a, const auto* b) { return started(a) < started(b); });
  int64_t number = 0;
  for (const format::ProcessStreams* process : processes) {
    ProcessImport import(file, devices, result, number, folder);
    // A process that became other programs by exec() ended as the last of them.
    const bool is_last_image =
        std::none_of(processes.begin() + number + 1, processes.end(),
                     [&](const auto* later) { return later->id.pid == process->id.pid; });
    if (process->id.pid == options.ended_pid && is_last_image) import.set_ended(options.ended_ns);
    const auto n = static_cast<double>(processes.size());
    std::function<void(double)> progress;
    if (options.progress)
      progress = [&](double share) {
        options.progress(0.9 * (static_cast<double>(number) + share) / n);
      };
    import.run(*process, session->file_bytes(), progress);
    if (number == 0) {
      file.set_metadata("epoch_offset_ns", std::to_string(import.facts().clock.epoch_offset()));
      file.set_metadata("boot_id", import.facts().boot_id);
      file.set_metadata("hostname", import.facts().hostname);
    }
    result.emulated = result.emulated || import.facts().process().emulated == 1;
    if (import.last_ns() > 0) {
      first = std::min(first, import.first_ns());
      last = std::max(last, import.last_ns());
    }
    for (const format::StreamReader* stream : process->streams)
      result.records += stream->records(), result.raw_bytes += stream->bytes_read();
    result.threads += import.facts().threads.size();
    result.files += process->streams.size();
    ++number;
  }
  write_devices(file, devices);

  const format::Damage damage = session->total_damage();
  for (size_t i = 0; i < damage.notes.size(); ++i) {
    result.notes.push_back(damage.notes[i]);
    file.add("wavetap_loss", {{},
                              {},
                              {},
                              std::string("unreadable"),
                              i == 0 ? static_cast<int64_t>(damage.missing_records) : 0,
                              damage.notes[i]});
  }
  result.losses += damage.missing_records;
  result.processes = processes.size();
  result.duration_ns = last > first ? last - first : 0;
  file.set_metadata("session_count", std::to_string(number));
  file.set_metadata("producer", "wavetap " WAVETAP_VERSION);
  file.set_metadata("losses", std::to_string(result.losses));
  if (result.emulated) file.set_metadata("emulated", "1");
  result.rows = file.rows();
  if (options.progress) options.progress(0.9);
  return file.finish();
}

}  // namespace

Result<ImportResult> import_session(const std::string& folder, const std::string& output,
                                    const ImportOptions& options) {
  ImportResult result;
  const Status made = make_file(output, options, [&](const std::string& path) {
    return fill_from_session(folder, path, options, result);
  });
  if (!made.ok()) return made.error();
  return result;
}

Result<ImportResult> import_rpd(const std::string& input, const std::string& output,
                                const ImportOptions& options) {
  ImportResult result;
  const Status made = make_file(output, options, [&](const std::string& path) -> Status {
    Result<MergedFile> file = convert_trace(input, path);
    if (!file.ok()) return file.error();
    result.processes = 1;
    result.calls = file->calls;
    result.dispatches = file->ops;
    return {};
  });
  if (!made.ok()) return made.error();
  Result<Db> db = Db::open_read_only(output);
  if (!db.ok()) return db.error();
  const auto number = [&](const char* sql) {
    Result<int64_t> value = db->query_int(sql);
    return value.ok() ? *value : 0;
  };
  result.processes = static_cast<uint64_t>(number("select count(distinct pid) from rocpd_api"));
  result.markers =
      static_cast<uint64_t>(number("select count(*) from rocpd_api where apiName_id in (select id "
                                   "from rocpd_string where string = 'UserMarker')"));
  result.calls -= result.markers;
  result.copies =
      static_cast<uint64_t>(number("select count(*) from op where opType like 'Copy%' or opType "
                                   "like 'Fill%' or opType in ('Memcpy', 'Memset')"));
  result.dispatches -= result.copies;
  result.duration_ns = number(
      "select max(end) - min(start) from (select start, end from rocpd_api union all select start, "
      "end from rocpd_op)");
  for (const char* table : {"rocpd_string", "rocpd_ustring", "rocpd_api", "rocpd_op",
                            "rocpd_api_ops", "rocpd_kernelapi", "rocpd_copyapi", "rocpd_monitor"})
    result.rows +=
        static_cast<uint64_t>(number((std::string("select count(*) from ") + table).c_str()));
  return result;
}

}  // namespace wavetap::store
