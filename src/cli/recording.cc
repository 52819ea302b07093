#include "cli/recording.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "cli/live_process.h"
#include "cli/post_mortem.h"
#include "format/reader.h"
#include "format/session.h"
#include "store/trace.h"
#include "util/csv.h"
#include "util/file.h"
#include "util/progress.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

namespace fs = std::filesystem;

// What recording costs on the host, from bench/recorder; the estimate in the summary is made of
// them.
constexpr double kCallNs = 25;
constexpr double kOperationNs = 250;
// A process that begins to record, a file that a thread is given, and a thread that goes on in the
// file of another.
constexpr double kProcessNs = 1'000'000;
constexpr double kFileNs = 140'000;
constexpr double kThreadNs = 3'000;

constexpr size_t kMaxNotes = 5;

// Processes that were killed have left their sockets behind, which go.
void remove_stale_sockets(const std::string& folder) {
  const Result<format::SessionReader> session = format::SessionReader::open(folder);
  if (!session.ok()) return;
  for (const format::ProcessStreams& process : session->processes())
    if (!is_running(process.id)) remove_stale_socket(process.id.pid);
}

// Two digits where there is something to see.
std::string percent(double share) {
  return share < 0.0001 ? "0.00"
         : share < 0.1  ? fmt::format("{:.2f}", share * 100)
                        : fmt::format("{:.0f}", share * 100);
}

// Whether a program started now would find the library. Asked in a process of its own: what the
// library does when it is loaded is not for this one.
bool loader_finds(const char* library) {
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO), dup2(nowhere, STDERR_FILENO);
    _exit(dlopen(library, RTLD_LAZY | RTLD_LOCAL) != nullptr ? 0 : 1);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 1;
}

// Programs that want libroctx64 and have none get ours, whose calls the recorder sees. Behind all
// other folders, and only where there is none, because the loader looks here before it looks in its
// own.
void add_roctx(std::vector<std::pair<std::string, std::string>>& environment) {
  const Result<std::string> folder = roctx_folder();
  if (!folder.ok() || folder->find_first_of(":;") != std::string::npos ||
      loader_finds("libroctx64.so.4"))
    return;
  const char* const present = std::getenv("LD_LIBRARY_PATH");
  const bool is_set = present != nullptr && *present != '\0';
  environment.emplace_back("LD_LIBRARY_PATH",
                           is_set ? std::string(present) + ":" + *folder : *folder);
}

void remove_folder(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

}  // namespace

Result<Recording> Recording::begin(const RecordingOptions& options) {
  Recording recording;
  recording.options_ = options;
  const std::string shown = util::escape_control(options.output);
  std::error_code ignored;
  if (fs::is_directory(options.output, ignored))
    return errorf("%s: is a folder; name a file with -o", shown.c_str());
  if (util::is_special(options.output))
    return errorf(
        "%s: not a regular file; name another one with -o, or record nothing with "
        "--no-trace",
        shown.c_str());
  // The program may change its working directory.
  recording.folder_ = fs::absolute(options.output, ignored).string() + ".raw-XXXXXX";
  if (mkdtemp(recording.folder_.data()) == nullptr)
    return errorf("%s: cannot be written here: %s; name another file with -o", shown.c_str(),
                  std::strerror(errno));
  recording.output_ =
      std::make_unique<SharedOutput>(SharedOutput::join(options.output, options.append));
  if (!recording.output_->problem().empty()) warn({recording.output_->problem()});
  return recording;
}

std::vector<std::pair<std::string, std::string>> Recording::environment() const {
  std::vector<std::string> words;
  if (options_.args) words.insert(words.end(), {"args", "kernargs"});
  if (options_.stacks) words.push_back("stacks");
  if (options_.hsa) words.push_back("hsa");
  if (options_.barriers) words.push_back("barriers");
  if (options_.start_paused) words.push_back("paused");
  std::vector<std::pair<std::string, std::string>> environment = {
      {format::kSessionVariable, folder_}, {format::kOptionsVariable, util::join(words, ",")}};
  add_roctx(environment);
  return environment;
}

Recording::Outcome Recording::finish(int status, const util::RunDetails& details,
                                     const std::vector<Inheritor>& running) {
  // Beyond `ulimit -f` the import must fail, not this process: its exit status is the program's.
  signal(SIGXFSZ, SIG_IGN);
  remove_stale_sockets(folder_);
  const std::string staged = folder_ + ".rpd";
  Result<store::ImportResult> result =
      import_with_progress(folder_, staged, options_.output,
                           {.overwrite = true,
                            .allow_empty = true,
                            .ended_pid = static_cast<uint32_t>(details.pid),
                            .ended_ns = details.ended_ns});
  if (!result.ok()) {
    keep_raw(result.error());
    return {};
  }
  if (!options_.durations.empty()) {
    const Status written = write_durations(staged, options_.durations);
    if (!written.ok()) warn(written.error());
  }
  const Result<Placed> placed = output_->place(staged);
  if (!placed.ok()) {
    keep_raw(placed.error());
    return {result->program_kernels, result->processes, result->swaps};
  }
  if (!options_.quiet) print(*result, *placed);
  if (!options_.quiet && (status >= 128 || result->faults > 0))
    print_post_mortem(placed->added ? staged : options_.output, status);
  if (placed->added) remove_file(staged);
  keep_or_remove(running);
  return {result->program_kernels, result->processes, result->swaps};
}

// The trace could not be made; what was recorded is still there, if anything was.
void Recording::keep_raw(const Error& error) const {
  remove_file(folder_ + ".rpd");
  std::error_code ignored;
  if (fs::is_empty(folder_, ignored)) {
    fs::remove(folder_, ignored);
    warn({error.message + "; nothing was recorded"});
  } else {
    warn({fmt::format("{}; the raw trace is kept: wavetap import {} -o FILE", error.message,
                      util::escape_control(folder_))});
  }
}

void Recording::print(const store::ImportResult& result, const Placed& placed) const {
  const std::string added = placed.added
                                ? fmt::format("; added to {} of other runs",
                                              util::count_of(placed.events_before, "event"))
                                : "";
  if (result.processes == 0) {
    fmt::print(stderr,
               "wavetap: {}: nothing to record: no process used the GPU's libraries, or none that "
               "can be preloaded into{}\n",
               util::escape_control(options_.output), added);
  } else {
    fmt::print(stderr, "wavetap: {}{}\n", summary_line(result, options_.output), added);
  }
  for (size_t i = 0; i < result.notes.size() && i < kMaxNotes; ++i)
    fmt::print(stderr, "wavetap: note: {}\n", util::escape_control(result.notes[i]));
  if (result.notes.size() > kMaxNotes)
    fmt::print(stderr, "wavetap: note: and {} more; see table wavetap_loss of the trace\n",
               result.notes.size() - kMaxNotes);
}

void Recording::keep_or_remove(const std::vector<Inheritor>& running) const {
  const std::string folder = util::escape_control(folder_);
  if (!running.empty()) {
    std::vector<std::string> names;
    for (const Inheritor& process : running)
      names.push_back(fmt::format("{} ({})", process.pid, util::escape_control(process.name)));
    warn({fmt::format(
        "{}: still running: process {}; what it does from now on is kept in {}: "
        "wavetap import {} -o FILE, when it has ended, makes a trace of everything",
        util::escape_control(options_.output), util::join(names, ", "), folder, folder)});
  } else if (options_.keep_raw) {
    fmt::print(stderr, "wavetap: raw trace: {}\n", folder);
  } else {
    remove_folder(folder_);
  }
}

void Recording::discard() { remove_folder(folder_); }

Result<store::ImportResult> import_with_progress(const std::string& folder,
                                                 const std::string& output,
                                                 const std::string& shown,
                                                 store::ImportOptions options) {
  util::Progress progress("importing " + util::escape_control(shown), 100);
  options.progress = [&](double share) { progress.update(static_cast<size_t>(share * 100), ""); };
  return store::import_session(folder, output, options);
}

std::string summary_line(const store::ImportResult& r, const std::string& output) {
  const uint64_t operations = r.events.ops() + r.unfinished;
  std::vector<std::string> parts;
  const auto part = [&](uint64_t count, const char* one, const char* many) {
    if (count > 0)
      parts.push_back(fmt::format("{} {}", util::group_digits(count), count == 1 ? one : many));
  };
  part(r.events.calls, "call", "calls");
  part(r.events.dispatches, "dispatch", "dispatches");
  part(r.events.copies, "copy", "copies");
  part(r.events.barriers, "barrier", "barriers");
  part(r.events.other, "other operation", "other operations");
  part(r.events.markers, "marker", "markers");
  part(r.unfinished, "unfinished operation", "unfinished operations");
  const uint64_t events = r.events.all() + r.unfinished;
  const double cost_ns = kCallNs * static_cast<double>(r.events.calls + r.events.markers) +
                         kOperationNs * static_cast<double>(operations);
  const double setup_ns = kProcessNs * static_cast<double>(r.processes) +
                          kFileNs * static_cast<double>(r.files) +
                          kThreadNs * static_cast<double>(r.threads);
  std::string line = fmt::format("{}: {} event{}", util::escape_control(output),
                                 util::group_digits(events), events == 1 ? "" : "s");
  if (!parts.empty()) line += fmt::format(" ({})", util::join(parts, ", "));
  if (r.processes > 1) line += fmt::format(" of {} processes", r.processes);
  line += fmt::format(" in {:.3g} s", static_cast<double>(r.duration_ns) / 1e9);
  if (r.duration_ns > 0)
    line += fmt::format(", overhead about {} %",
                        percent((cost_ns + setup_ns) / static_cast<double>(r.duration_ns)));
  return line + fmt::format(", {} lost", util::group_digits(r.losses));
}

namespace {

// "grid,workgroup" in work-items, "4096x1x1,256x1x1"; of a copy ",".
std::string geometry_text(const store::Dispatch* dispatch) {
  if (dispatch == nullptr) return ",";
  return fmt::format("{}x{}x{},{}x{}x{}", dispatch->grid_x, dispatch->grid_y, dispatch->grid_z,
                     dispatch->workgroup_x, dispatch->workgroup_y, dispatch->workgroup_z);
}

}  // namespace

Status write_durations(const std::string& trace, const std::string& where) {
  const Result<store::Trace> loaded = store::Trace::load(trace, {.apis = false,
                                                                 .copies_and_launches = false,
                                                                 .monitors = false,
                                                                 .counters = false,
                                                                 .dispatches = true});
  if (!loaded.ok()) return loaded.error();
  const store::Ops& ops = loaded->ops;
  std::vector<const store::Dispatch*> dispatches(ops.size(), nullptr);
  for (const store::Dispatch& dispatch : loaded->dispatches)
    if (dispatch.op < dispatches.size()) dispatches[dispatch.op] = &dispatch;
  std::vector<size_t> order(ops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return ops.start[a] < ops.start[b]; });
  const bool console = where == "console";
  FILE* out = console ? stdout : std::fopen(where.c_str(), "we");
  if (out == nullptr)
    return errorf("%s: cannot be written: %s; name another file", where.c_str(),
                  std::strerror(errno));
  fmt::print(out, "name,queue,start,end,ns,gpu,op,grid,workgroup\n");
  for (const size_t op : order)
    fmt::print(out, "{},{},{},{},{},{},{},{}\n", util::csv_field(loaded->str(ops.name(op))),
               ops.queue[op], ops.start[op], ops.end[op], ops.end[op] - ops.start[op], ops.gpu[op],
               ops.id[op], geometry_text(dispatches[op]));
  const bool good = std::fflush(out) == 0 && std::ferror(out) == 0;
  if (!console) std::fclose(out);
  return good ? Status()
              : Status(
                    errorf("%s: cannot be written; make room or name another file", where.c_str()));
}

}  // namespace wavetap::cli
