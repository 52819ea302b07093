#include "cli/recording.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "cli/live_process.h"
#include "cli/post_mortem.h"
#include "format/reader.h"
#include "format/session.h"
#include "store/sqlite.h"
#include "util/csv.h"
#include "util/progress.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

namespace fs = std::filesystem;

// What recording costs on the host, from bench/recorder; the estimate in the summary is made of
// them.
constexpr double kCallNs = 25;
constexpr double kOperationNs = 250;

constexpr size_t kMaxNotes = 5;

// Pids of the session that have not ended: their events go on arriving. Those that were killed have
// left their sockets behind, which go.
std::vector<uint32_t> still_running(const std::string& folder) {
  std::vector<uint32_t> running;
  const Result<format::SessionReader> session = format::SessionReader::open(folder);
  if (!session.ok()) return running;
  for (const format::ProcessStreams& process : session->processes()) {
    if (!is_running(process.id)) remove_stale_socket(process.id.pid);
    else if (running.empty() || running.back() != process.id.pid) running.push_back(process.id.pid);
  }
  return running;
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

}  // namespace

Result<Recording> Recording::begin(const RecordingOptions& options) {
  Recording recording;
  recording.options_ = options;
  std::error_code ignored;
  if (fs::is_directory(options.output, ignored))
    return errorf("%s: is a folder; name a file with -o", options.output.c_str());
  // The program may change its working directory.
  recording.folder_ = fs::absolute(options.output, ignored).string() + ".raw-XXXXXX";
  if (mkdtemp(recording.folder_.data()) == nullptr)
    return errorf("%s: cannot be written here: %s; name another file with -o",
                  options.output.c_str(), std::strerror(errno));
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

std::optional<uint64_t> Recording::finish(int status) {
  // Beyond `ulimit -f` the import must fail, not this process: its exit status is the program's.
  signal(SIGXFSZ, SIG_IGN);
  const std::vector<uint32_t> running = still_running(folder_);
  Result<store::ImportResult> result =
      import_with_progress(folder_, options_.output, {.overwrite = true, .allow_empty = true});
  if (!result.ok()) {
    warn({fmt::format("{}; the raw trace is kept: wavetap import {} -o FILE",
                      result.error().message, folder_)});
    return std::nullopt;
  }
  if (!options_.durations.empty()) {
    const Status written = write_durations(options_.output, options_.durations);
    if (!written.ok()) warn(written.error());
  }
  if (result->processes == 0) {
    fmt::print(stderr,
               "wavetap: {}: nothing to record: no process used the GPU's libraries, or none that "
               "can be preloaded into\n",
               options_.output);
  } else {
    fmt::print(stderr, "wavetap: {}\n", summary_line(*result, options_.output));
  }
  for (size_t i = 0; i < result->notes.size() && i < kMaxNotes; ++i)
    fmt::print(stderr, "wavetap: note: {}\n", util::escape_control(result->notes[i]));
  if (result->notes.size() > kMaxNotes)
    fmt::print(stderr, "wavetap: note: and {} more; see table wavetap_loss of the trace\n",
               result->notes.size() - kMaxNotes);
  if (status >= 128 || result->faults > 0) print_post_mortem(options_.output, status);
  if (!running.empty()) {
    std::vector<std::string> pids;
    for (const uint32_t pid : running) pids.push_back(std::to_string(pid));
    warn(
        {fmt::format("{}: still running: process {}; what it does from now on is kept in {}: "
                     "wavetap import {} -o FILE",
                     options_.output, util::join(pids, ", "), folder_, folder_)});
  } else if (options_.keep_raw) {
    fmt::print(stderr, "wavetap: raw trace: {}\n", folder_);
  } else {
    remove_folder(folder_);
  }
  return result->program_kernels;
}

void Recording::discard() { remove_folder(folder_); }

Result<store::ImportResult> import_with_progress(const std::string& folder,
                                                 const std::string& output,
                                                 store::ImportOptions options) {
  util::Progress progress("importing " + output, 100);
  options.progress = [&](double share) { progress.update(static_cast<size_t>(share * 100), ""); };
  return store::import_session(folder, output, options);
}

std::string summary_line(const store::ImportResult& r, const std::string& output) {
  const uint64_t operations = r.dispatches + r.copies + r.barriers + r.unfinished;
  std::vector<std::string> parts;
  const auto part = [&](uint64_t count, const char* one, const char* many) {
    if (count > 0)
      parts.push_back(fmt::format("{} {}", util::group_digits(count), count == 1 ? one : many));
  };
  part(r.calls, "call", "calls");
  part(r.dispatches, "dispatch", "dispatches");
  part(r.copies, "copy", "copies");
  part(r.barriers, "barrier", "barriers");
  part(r.markers, "marker", "markers");
  part(r.unfinished, "unfinished operation", "unfinished operations");
  const uint64_t events = r.calls + r.markers + operations;
  const double cost_ns = kCallNs * static_cast<double>(r.calls + r.markers) +
                         kOperationNs * static_cast<double>(operations);
  std::string line =
      fmt::format("{}: {} event{}", output, util::group_digits(events), events == 1 ? "" : "s");
  if (!parts.empty()) line += fmt::format(" ({})", util::join(parts, ", "));
  if (r.processes > 1) line += fmt::format(" of {} processes", r.processes);
  line += fmt::format(" in {:.3g} s", static_cast<double>(r.duration_ns) / 1e9);
  if (r.duration_ns > 0)
    line +=
        fmt::format(", overhead about {} %", percent(cost_ns / static_cast<double>(r.duration_ns)));
  return line + fmt::format(", {} lost", util::group_digits(r.losses));
}

Status write_durations(const std::string& trace, const std::string& where) {
  Result<store::Db> db = store::Db::open_read_only(trace);
  if (!db.ok()) return db.error();
  Result<store::Stmt> rows = db->prepare(
      "select case when description = '' then opType else description end, queueId, start, end "
      "from op order by start, id");
  if (!rows.ok()) return rows.error();
  const bool console = where == "console";
  FILE* out = console ? stdout : std::fopen(where.c_str(), "we");
  if (out == nullptr)
    return errorf("%s: cannot be written: %s; name another file", where.c_str(),
                  std::strerror(errno));
  fmt::print(out, "name,queue,start,end,ns\n");
  while (rows->step())
    fmt::print(out, "{},{},{},{},{}\n", util::csv_field(rows->text(0)), rows->int64(1),
               rows->int64(2), rows->int64(3), rows->int64(3) - rows->int64(2));
  const bool good = std::fflush(out) == 0 && std::ferror(out) == 0;
  if (!console) std::fclose(out);
  if (!rows->status().ok()) return rows->status();
  return good ? Status()
              : Status(
                    errorf("%s: cannot be written; make room or name another file", where.c_str()));
}

}  // namespace wavetap::cli
