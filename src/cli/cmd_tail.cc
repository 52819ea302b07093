// wavetap tail: the events of a running program, or of a session folder, as one JSON object a line.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/live_process.h"
#include "cli/live_session.h"
#include "store/call_text.h"
#include "util/json.h"
#include "util/json_library.h"

namespace wavetap::cli {
namespace {

using nlohmann::ordered_json;

constexpr useconds_t kTailPauseUs = 50'000;

struct TailOptions {
  std::string target;
  bool no_follow = false;
};

// 2026-11-15T05:59:07.123456789Z
std::string iso_time(int64_t realtime_ns) {
  const time_t seconds = realtime_ns / 1'000'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:09}Z", text, realtime_ns % 1'000'000'000);
}

class Printer {
 public:
  LiveSession::Visitor visitor() {
    LiveSession::Visitor v;
    v.call = [this](LiveProcess& process, uint32_t tid, const format::CallRecord& call) {
      print_call(process, tid, call);
    };
    v.operation = [this](LiveProcess& process, const LiveOperation& op, int64_t start,
                         int64_t end) { print_operation(process, op, start, end); };
    v.marker = [this](LiveProcess& process, uint32_t tid, const format::Record& record) {
      print_marker(process, tid, record);
    };
    v.memory = [this](LiveProcess& process, uint32_t tid, const format::Record& record) {
      print_memory(process, tid, record);
    };
    return v;
  }
  // False when nobody reads any more.
  bool flush() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

 private:
  ordered_json begin(const LiveProcess& process, const char* kind, int64_t monotonic_ns,
                     uint32_t tid) {
    return {{"time", iso_time(monotonic_ns + process.facts.clock.epoch_offset())},
            {"ns", monotonic_ns},
            {"pid", process.facts.id().pid},
            {"tid", tid},
            {"kind", kind}};
  }
  void print(const ordered_json& object) { fmt::print("{}\n", util::json_line(object)); }

  void print_call(LiveProcess& process, uint32_t tid, const format::CallRecord& call) {
    const store::RawFunction* function = process.facts.function(call.function);
    const store::RecordedCall words(call);
    const int64_t start = process.facts.clock.monotonic(call.start);
    ordered_json out = begin(process, "call", start, tid);
    out["domain"] = function == nullptr ? "" : store::api_name(function->api);
    out["function"] =
        function == nullptr ? fmt::format("function {}", call.function) : function->name;
    text_.clear();
    if (function != nullptr) store::append_arguments(text_, function->layout, words.arguments());
    out["args"] = text_;
    // Parameters that are streams have one of these names, whatever the function does.
    for (const char* name : {"stream", "hStream"}) {
      const auto place = function == nullptr ? std::nullopt : function->layout.find(name);
      const auto stream = place ? words.arguments().at(place->word) : std::nullopt;
      if (stream) out["stream"] = fmt::format("{:#x}", *stream);
    }
    out["result"] = call.result;
    out["duration_ns"] = process.facts.clock.monotonic(call.start + words.duration()) - start;
    print(out);
  }

  void print_operation(LiveProcess& process, const LiveOperation& op, int64_t start, int64_t end) {
    const char* kind = op.kind == format::Kind::kDispatch ? "kernel"
                       : op.kind == format::Kind::kCopy   ? "copy"
                                                          : "barrier";
    ordered_json out =
        begin(process, kind, process.facts.clock.monotonic_of_boottime(start), op.tid);
    out["device"] = op.device;
    if (op.queue != 0) out["queue"] = op.queue;
    out["name"] = op.name;
    if (op.kind == format::Kind::kDispatch) {
      out["grid"] = op.grid;
      out["workgroup"] = op.workgroup;
    }
    if (op.bytes != 0) out["bytes"] = op.bytes;
    out["duration_ns"] = end - start;
    print(out);
  }

  void print_marker(LiveProcess& process, uint32_t tid, const format::Record& record) {
    const auto* marker = record.as<format::MarkerRecord>();
    if (marker == nullptr) return;
    static constexpr const char* kKinds[] = {"push", "pop", "mark", "range start", "range stop"};
    const uint8_t kind = record.header.flags & static_cast<uint8_t>(~format::kMarkerNamed);
    ordered_json out = begin(process, "marker", process.facts.clock.monotonic(marker->time), tid);
    out["event"] = kind < std::size(kKinds) ? kKinds[kind] : "other";
    format::TextCursor texts(record.after<format::MarkerRecord>());
    const std::string message(texts.next()), domain(texts.next()), category(texts.next());
    if (!message.empty()) out["text"] = message;
    if (!domain.empty()) out["domain"] = domain;
    if (!category.empty())
      out[(record.header.flags & format::kMarkerNamed) != 0 ? "name" : "category"] = category;
    if (marker->range != 0) out["range"] = marker->range;
    print(out);
  }

  void print_memory(LiveProcess& process, uint32_t tid, const format::Record& record) {
    if (record.header.kind == format::Kind::kAllocate) {
      const auto* r = record.as<format::AllocateRecord>();
      const store::RawAgent* agent = process.facts.agent(r->agent);
      ordered_json out = begin(process, "allocate", process.facts.clock.monotonic(r->time), tid);
      out["device"] = agent == nullptr || agent->fact.is_gpu == 0
                          ? -1
                          : static_cast<int64_t>(agent->fact.gpu_index);
      out["memory"] = store::memory_kind_name(static_cast<format::MemoryKind>(record.header.flags));
      out["address"] = fmt::format("{:#x}", r->address);
      out["bytes"] = r->bytes;
      print(out);
    } else {
      const auto* r = record.as<format::FreeRecord>();
      ordered_json out = begin(process, "free", process.facts.clock.monotonic(r->time), tid);
      out["address"] = fmt::format("{:#x}", r->address);
      print(out);
    }
  }

  std::string text_;
};

int tail(const TailOptions& options) {
  const Result<std::string> folder = find_session(options.target);
  if (!folder.ok()) return fail(folder.error());
  Result<LiveSession> session = LiveSession::open(*folder);
  if (!session.ok()) return fail(session.error());
  Printer printer;
  const LiveSession::Visitor visitor = printer.visitor();
  while (true) {
    // Asked before reading: what was written before the end is then certainly seen.
    const bool ended = options.no_follow || session->ended();
    const bool any = session->poll(visitor);
    if (!printer.flush()) return kDone;
    if (ended) break;
    if (!any) usleep(kTailPauseUs);
  }
  const format::Damage damage = session->reader().total_damage();
  for (const std::string& note : damage.notes) warn({note});
  return damage.any() ? kIncomplete : kDone;
}

}  // namespace

void add_tail(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<TailOptions>();
  Command& command = parent.add_command(
      "tail", "print the events of a running program as they happen, one JSON object a line",
      "tail PID|DIR [--no-follow]",
      "  wavetap tail 4711 | jq 'select(.kind == \"kernel\") | .name'\n"
      "  wavetap tail trace.rpd.raw-a1b2c3 --no-follow\n");
  command
      .add_option("PID|DIR", options->target, "a recorded process, or the folder of its recording")
      ->required();
  command.add_flag("--no-follow", options->no_follow, "end with what has been recorded so far");
  command.callback([options, &invocation] { invocation.exit_code = tail(*options); });
}

}  // namespace wavetap::cli
