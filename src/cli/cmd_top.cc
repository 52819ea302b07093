// wavetap top: what a recorded program is doing now, as a table that refreshes.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "analysis/kernel_name.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/live_process.h"
#include "cli/live_session.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kRows = 15;
constexpr useconds_t kTopPauseUs = 20'000;

struct TopOptions {
  std::string target;
  double interval = 1;
  bool once = false;
  bool json = false;
};

struct Sums {
  uint64_t count = 0;
  int64_t ns = 0;
};

// What happened between two refreshes.
struct Window {
  std::map<std::string, Sums> kernels, functions;
  // Per GPU: when it was busy, CLOCK_BOOTTIME.
  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> spans;
  uint64_t calls = 0, dispatches = 0, copies = 0, copied_bytes = 0;
};

int64_t union_ns(std::vector<std::pair<int64_t, int64_t>> spans, int64_t begin, int64_t end) {
  std::sort(spans.begin(), spans.end());
  int64_t busy = 0, reached = begin;
  for (const auto& [from, to] : spans) {
    const int64_t a = std::max(from, reached), b = std::min(to, end);
    if (b > a) busy += b - a;
    reached = std::max(reached, std::min(to, end));
  }
  return busy;
}

std::vector<std::pair<std::string, Sums>> largest(const std::map<std::string, Sums>& sums) {
  std::vector<std::pair<std::string, Sums>> list(sums.begin(), sums.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  if (list.size() > kRows) list.resize(kRows);
  return list;
}

struct View {
  Window window;
  double seconds = 0;
  std::map<int64_t, double> busy;            // per GPU, 0..1
  std::map<int64_t, uint64_t> memory_bytes;  // per GPU
  uint64_t in_flight = 0;
};

ordered_json to_json(const View& view) {
  const auto rate = [&](uint64_t count) { return static_cast<double>(count) / view.seconds; };
  ordered_json out = {{"seconds", view.seconds},
                      {"calls_per_s", rate(view.window.calls)},
                      {"dispatches_per_s", rate(view.window.dispatches)},
                      {"copy_bytes_per_s", rate(view.window.copied_bytes)},
                      {"in_flight", view.in_flight}};
  out["gpus"] = ordered_json::array();
  for (const auto& [gpu, share] : view.busy) {
    const auto held = view.memory_bytes.find(gpu);
    out["gpus"].push_back({{"gpu", gpu},
                           {"busy", share},
                           {"memory_bytes", held == view.memory_bytes.end() ? 0 : held->second}});
  }
  const auto list = [&](const char* key, const std::map<std::string, Sums>& sums) {
    out[key] = ordered_json::array();
    for (const auto& [name, s] : largest(sums))
      out[key].push_back({{"name", name}, {"count", s.count}, {"ns", s.ns}});
  };
  list("kernels", view.window.kernels);
  list("functions", view.window.functions);
  return out;
}

std::string to_text(const View& view, size_t columns) {
  const auto rate = [&](uint64_t count) {
    return util::group_digits(static_cast<uint64_t>(static_cast<double>(count) / view.seconds));
  };
  std::string out = fmt::format("{} calls/s, {} dispatches/s, {}/s copied, {} in flight\n",
                                rate(view.window.calls), rate(view.window.dispatches),
                                util::human_bytes(static_cast<uint64_t>(
                                    static_cast<double>(view.window.copied_bytes) / view.seconds)),
                                view.in_flight);
  for (const auto& [gpu, share] : view.busy) {
    const auto held = view.memory_bytes.find(gpu);
    out += fmt::format("GPU {}: {:3.0f} % busy, {} held\n", gpu, share * 100,
                       util::human_bytes(held == view.memory_bytes.end() ? 0 : held->second));
  }
  const auto table = [&](const char* title, const std::map<std::string, Sums>& sums) {
    if (sums.empty()) return;
    util::Table t({{title, util::Align::kLeft, true},
                   {"COUNT/s", util::Align::kRight},
                   {"AVERAGE", util::Align::kRight},
                   {"TIME", util::Align::kRight}});
    for (const auto& [name, s] : largest(sums))
      t.add(
          {util::escape_control(name), rate(s.count),
           fmt::format("{:.1f} us", static_cast<double>(s.ns) / 1e3 / static_cast<double>(s.count)),
           fmt::format("{:.1f} %", static_cast<double>(s.ns) / 1e7 / view.seconds)});
    out += '\n';
    out += t.text(columns);
  };
  table("KERNEL", view.window.kernels);
  table("CALL", view.window.functions);
  return out;
}

// Sums of kernels by what people call them instead of by their full names.
std::map<std::string, Sums> with_labels(const std::map<std::string, Sums>& kernels) {
  std::vector<std::string_view> names;
  for (const auto& [name, sums] : kernels) names.push_back(name);
  const std::vector<std::string> labels = analysis::kernel_labels(names);
  std::map<std::string, Sums> out;
  for (size_t i = 0; i < names.size(); ++i)
    out.emplace(labels[i], kernels.find(std::string(names[i]))->second);
  return out;
}

class Top {
 public:
  Top(LiveSession session, const TopOptions& options)
      : session_(std::move(session)), options_(options) {
    visitor_.call = [this](LiveProcess& process, uint32_t, const format::CallRecord& call) {
      const store::RawFunction* function = process.facts.function(call.function);
      ++window_.calls;
      Sums& sums = window_.functions[function == nullptr ? "?" : function->name];
      ++sums.count;
      sums.ns += process.facts.clock.monotonic(call.start + store::RecordedCall(call).duration()) -
                 process.facts.clock.monotonic(call.start);
    };
    visitor_.operation = [this](LiveProcess&, const LiveOperation& op, int64_t start, int64_t end) {
      if (op.kind == format::Kind::kBarrier) return;
      window_.spans[op.device].push_back({start, end});
      if (op.kind == format::Kind::kCopy) {
        ++window_.copies;
        window_.copied_bytes += op.bytes;
      } else {
        ++window_.dispatches;
        Sums& sums = window_.kernels[op.name];
        ++sums.count;
        sums.ns += end - start;
      }
    };
  }

  int run() {
    // What happened before we came is not shown, but it tells what is held and in flight.
    bool ended = options_.once ? false : session_.ended();
    session_.poll(visitor_);
    if (!ended) window_ = {};
    int64_t begin = now().value;
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    do {
      ended = session_.ended();
      const auto until = begin + static_cast<int64_t>(options_.interval * 1e9);
      while (!ended && now().value < until) {
        session_.poll(visitor_);
        usleep(kTopPauseUs);
        ended = session_.ended();
      }
      session_.poll(visitor_);
      const int64_t end = now().value;
      show(begin, std::max(end, begin + 1), terminal);
      if (std::fflush(stdout) != 0) return kDone;
      window_ = {};
      begin = end;
    } while (!ended && !options_.once);
    return kDone;
  }

 private:
  void show(int64_t begin, int64_t end, bool terminal) {
    View view;
    view.seconds = static_cast<double>(end - begin) / 1e9;
    for (const auto& [id, process] : session_.processes()) {
      view.in_flight += process->pending.size();
      for (const auto& [number, agent] : process->facts.agents)
        if (agent.fact.is_gpu != 0) view.busy[agent.fact.gpu_index];
      for (const auto& [gpu, bytes] : process->memory_bytes) view.memory_bytes[gpu] += bytes;
    }
    for (const auto& [gpu, spans] : window_.spans)
      view.busy[gpu] =
          static_cast<double>(union_ns(spans, begin, end)) / static_cast<double>(end - begin);
    view.window = std::move(window_);
    view.window.kernels = with_labels(view.window.kernels);
    if (options_.json) {
      fmt::print("{}\n", util::json_line(to_json(view)));
      return;
    }
    if (terminal && !options_.once) fmt::print("\x1b[H\x1b[J");
    fmt::print("{}", to_text(view, util::output_columns(STDOUT_FILENO)));
  }

  LiveSession session_;
  TopOptions options_;
  LiveSession::Visitor visitor_;
  Window window_;
};

int top(const TopOptions& options) {
  const Result<std::string> folder = find_session(options.target);
  if (!folder.ok()) return fail(folder.error());
  Result<LiveSession> session = LiveSession::open(*folder);
  if (!session.ok()) return fail(session.error());
  return Top(std::move(*session), options).run();
}

}  // namespace

void add_top(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<TopOptions>();
  Command& command = parent.add_command(
      "top", "calls, kernels, GPU load and memory of a running program, refreshed",
      "top PID|DIR [--interval S] [--once] [--json]",
      "  wavetap top 4711\n"
      "  wavetap top 4711 --once --json\n");
  command
      .add_option("PID|DIR", options->target, "a recorded process, or the folder of its recording")
      ->required();
  command.add_option("--interval", options->interval, "seconds between two refreshes (1)")
      ->type_name("S")
      ->between(0.05, 3600.0);
  command.add_flag("--once", options->once, "show one interval and end");
  command.add_flag("--json", options->json, "print one JSON object per interval");
  command.callback([options, &invocation] { invocation.exit_code = top(*options); });
}

}  // namespace wavetap::cli
