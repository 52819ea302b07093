// wavetap start, stop, flush, status: the recorder in a running program, asked through its socket.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/live_process.h"
#include "cli/live_session.h"
#include "format/session.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using nlohmann::ordered_json;

struct ControlOptions {
  std::string pid;
  bool json = false;
};

int control(const ControlOptions& options, const char* request) {
  const Result<uint32_t> pid = parse_pid(options.pid);
  if (!pid.ok()) return fail(pid.error());
  const Result<Answer> answer = ask(*pid, request);
  if (!answer.ok()) return fail(answer.error());
  const std::string count = value_of(*answer, "count");
  if (count.empty()) fmt::print("process {}: flushed\n", *pid);
  else if (count == "0") fmt::print("process {}: stopped\n", *pid);
  else
    fmt::print("process {}: recording, {} {}\n", *pid, count,
               count == "1" ? "start to stop" : "starts to stop");
  return kDone;
}

// --- status

struct InFlight {
  std::string name;
  int64_t device = 0;
  uint32_t queue = 0;
  uint32_t grid[3] = {}, workgroup[3] = {};
  double seconds = 0;
};

// Kernels and copies of a process that have not ended, longest first, from its raw trace.
std::vector<InFlight> in_flight(const std::string& folder, uint32_t pid) {
  std::vector<InFlight> list;
  Result<LiveSession> session = LiveSession::open(folder);
  if (!session.ok()) return list;
  session->poll({});
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now_ns = time.tv_sec * 1'000'000'000LL + time.tv_nsec;
  for (const auto& [id, process] : session->processes()) {
    if (id.pid != pid) continue;
    for (const auto& [number, op] : process->pending) {
      if (op.kind == format::Kind::kBarrier) continue;
      InFlight item{
          op.name,
          op.device,
          op.queue,
          {},
          {},
          static_cast<double>(now_ns - process->facts.clock.monotonic(op.submitted)) / 1e9};
      std::copy(std::begin(op.grid), std::end(op.grid), item.grid);
      std::copy(std::begin(op.workgroup), std::end(op.workgroup), item.workgroup);
      list.push_back(std::move(item));
    }
  }
  std::sort(list.begin(), list.end(),
            [](const InFlight& a, const InFlight& b) { return a.seconds > b.seconds; });
  return list;
}

// Every process of this user with a recorder.
std::vector<uint32_t> recorded_processes() {
  std::vector<std::string> folders;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    folders.push_back(std::string(runtime) + "/wavetap");
  folders.push_back(fmt::format("/tmp/wavetap-{}", geteuid()));
  std::vector<uint32_t> pids;
  for (const std::string& folder : folders) {
    DIR* listing = opendir(folder.c_str());
    if (listing == nullptr) continue;
    while (const dirent* entry = readdir(listing)) {
      const std::string name = entry->d_name;
      if (!name.ends_with(format::kSocketSuffix)) continue;
      const Result<uint32_t> pid =
          parse_pid(name.substr(0, name.size() - sizeof format::kSocketSuffix + 1));
      if (pid.ok()) pids.push_back(*pid);
    }
    closedir(listing);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

ordered_json status_json(uint32_t pid, const Answer& answer, const std::vector<InFlight>& flying) {
  ordered_json out = {{"pid", pid}};
  ordered_json calls = ordered_json::array();
  for (const auto& [key, value] : answer) {
    if (key == "pid") continue;
    if (key == "call") {
      const std::vector<std::string> words = util::split(value, ' ');
      if (words.size() == 3)
        calls.push_back({{"tid", std::strtol(words[0].c_str(), nullptr, 10)},
                         {"function", words[1]},
                         {"seconds", std::strtod(words[2].c_str(), nullptr)}});
      continue;
    }
    const bool number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (number) out[key] = std::strtoull(value.c_str(), nullptr, 10);
    else out[key] = value;
  }
  out["open_calls"] = calls;
  out["in_flight"] = ordered_json::array();
  for (const InFlight& item : flying)
    out["in_flight"].push_back({{"name", item.name},
                                {"device", item.device},
                                {"queue", item.queue},
                                {"grid", item.grid},
                                {"workgroup", item.workgroup},
                                {"seconds", item.seconds}});
  return out;
}

void print_status(uint32_t pid, const Answer& answer, const std::vector<InFlight>& flying) {
  fmt::print("process {}: {}, {} events of {} threads, {} on disk, {} lost\n", pid,
             value_of(answer, "state"),
             util::group_digits(std::strtoull(value_of(answer, "events").c_str(), nullptr, 10)),
             value_of(answer, "threads"),
             util::human_bytes(std::strtoull(value_of(answer, "bytes").c_str(), nullptr, 10)),
             value_of(answer, "losses"));
  fmt::print("  session  {}\n", util::escape_control(value_of(answer, "session")));
  for (const auto& [key, value] : answer) {
    if (key != "call") continue;
    const std::vector<std::string> words = util::split(value, ' ');
    if (words.size() == 3) fmt::print("  thread {} in {} for {} s\n", words[0], words[1], words[2]);
  }
  for (const InFlight& item : flying)
    fmt::print(
        "  in flight on GPU {}{}: {}{}, for {:.3f} s\n", item.device,
        item.queue == 0 ? "" : fmt::format(", queue {}", item.queue),
        util::escape_control(item.name),
        item.workgroup[0] == 0
            ? ""
            : fmt::format(", grid {}x{}x{}, workgroup {}x{}x{}", item.grid[0], item.grid[1],
                          item.grid[2], item.workgroup[0], item.workgroup[1], item.workgroup[2]),
        item.seconds);
}

int status(const ControlOptions& options) {
  std::vector<uint32_t> pids;
  if (!options.pid.empty()) {
    const Result<uint32_t> pid = parse_pid(options.pid);
    if (!pid.ok()) return fail(pid.error());
    pids.push_back(*pid);
  } else {
    pids = recorded_processes();
  }
  ordered_json array = ordered_json::array();
  bool any = false;
  for (const uint32_t pid : pids) {
    const Result<Answer> answer = ask(pid, "status");
    if (!answer.ok() && !options.pid.empty()) return fail(answer.error());
    if (!answer.ok()) continue;  // a socket whose process is gone
    any = true;
    const std::vector<InFlight> flying = in_flight(value_of(*answer, "session"), pid);
    if (options.json) array.push_back(status_json(pid, *answer, flying));
    else print_status(pid, *answer, flying);
  }
  if (options.json) fmt::print("{}", util::json_text(options.pid.empty() ? array : array[0]));
  else if (!any) {
    const std::string problem = socket_folder_problem();
    if (!problem.empty()) return fail({"no recorder can be reached: " + problem});
    fmt::print("no recorded process of yours is running\n");
  }
  return kDone;
}

void add_simple(Command& parent, Invocation& invocation, const char* name, const char* summary) {
  auto options = std::make_shared<ControlOptions>();
  Command& command = parent.add_command(name, summary, fmt::format("{} PID", name),
                                        fmt::format("  wavetap {} 4711\n", name));
  command
      .add_option("PID", options->pid,
                  "a process started by wavetap run, or with libwavetap.so loaded")
      ->required();
  command.callback(
      [options, name, &invocation] { invocation.exit_code = control(*options, name); });
}

}  // namespace

void add_control(Command& parent, Invocation& invocation) {
  add_simple(parent, invocation, "start",
             "start recording in a running program; starts and stops are counted");
  add_simple(parent, invocation, "stop", "stop recording in a running program");
  add_simple(parent, invocation, "flush", "collect the GPU times of everything that has finished");
  auto options = std::make_shared<ControlOptions>();
  Command& command = parent.add_command(
      "status", "what the recorder in a running program is doing, and which kernels are in flight",
      "status [PID] [--json]",
      "  wavetap status\n"
      "  wavetap status 4711\n");
  command.add_option("PID", options->pid, "a recorded process; without it all of yours");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = status(*options); });
}

}  // namespace wavetap::cli
