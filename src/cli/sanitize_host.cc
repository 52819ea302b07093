// The recorder notes every call of HIP with its arguments, its result and its stack. Walked in the order of
// time, process by process, they say which memory there is at any moment; a call that names memory that is
// not there, or more of it than there is, is wrong whatever HIP answered. HIP refuses most of them, and
// programs that do not look at the answer go on with data that was never copied.
#include "cli/sanitize_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "amd/hip_calls.h"
#include "analysis/call_args.h"
#include "store/trace.h"
#include "util/json.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using amd::HipDoes;
using amd::HipRole;
using Json = nlohmann::ordered_json;
using sanitize::Kind;

// Handles with a life of their own: which calls make and destroy them, by the beginning of their names.
struct HandleCalls {
  const char* what;
  std::string_view create;
  std::string_view destroy;
  std::string_view argument;
};
constexpr HandleCalls kHandles[] = {
    {"stream", "hipStreamCreate", "hipStreamDestroy", "stream"},
    {"event", "hipEventCreate", "hipEventDestroy", "event"},
    {"module", "hipModuleLoad", "hipModuleUnload", "module"},
};

struct Block {
  uint64_t bytes = 0;
  uint32_t row = 0;  // the call that allocated it
};

// What one process has.
struct Process {
  std::map<uint64_t, uint32_t> allocated;                   // to the last call that returned it
  std::map<uint64_t, Block> live;                           // by address
  std::map<uint64_t, uint32_t> freed;                       // to the call that freed it
  std::map<std::pair<size_t, uint64_t>, uint32_t> handles;  // kind and value, to the call
  std::vector<uint32_t> moves;  // copies and fills, in the order of time
};

class HostCheck {
 public:
  HostCheck(const store::Trace& trace, const sanitize::ToolSet& tools, SanitizeReport& report)
      : trace_(trace), tools_(tools), report_(report) {}

  void run() {
    std::vector<uint32_t> rows(trace_.apis.size());
    std::iota(rows.begin(), rows.end(), 0u);
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      return trace_.apis.start[a] < trace_.apis.start[b];
    });
    for (const uint32_t row : rows) take(row);
    index_launches();
    for (Json& finding : report_.findings) {
      name_launch(finding);
      name_allocation(finding);
      name_mover(finding, finding);
      if (finding.contains("other")) name_mover(finding["other"], finding);
    }
    if (!tools_.has(sanitize::Tool::kLeakcheck)) return;
    for (const auto& [pid, process] : processes_) find_leaks(process);
  }

 private:
  std::string_view args(uint32_t row) const { return trace_.args(row); }
  std::string_view name(uint32_t row) const { return trace_.str(trace_.apis.name[row]); }
  bool has_failed(uint32_t row) const { return !analysis::find_arg(args(row), "result").empty(); }

  // An argument, or, as `p[3]`, a word of the structure that one is or points at.
  std::optional<uint64_t> argument(uint32_t row, std::string_view argument_name) const {
    const size_t bracket = argument_name.find('[');
    std::string_view value = analysis::find_arg(args(row), argument_name.substr(0, bracket));
    if (bracket == std::string_view::npos) return analysis::parse_number(value);
    const std::vector<std::string> words = util::split(value, ' ');
    const std::string_view index = argument_name.substr(bracket + 1);
    const std::optional<uint64_t> at =
        analysis::parse_number(index.substr(0, index.empty() ? 0 : index.size() - 1));
    return at && *at < words.size() ? analysis::parse_number(words[*at]) : std::nullopt;
  }

  std::optional<uint64_t> number(uint32_t row, const amd::HipCall& call, HipRole role) const {
    const std::string_view wanted = amd::argument_of(call, role);
    if (wanted.empty() || wanted.find('|') != std::string_view::npos) return std::nullopt;
    return argument(row, wanted);
  }

  void take(uint32_t row) {
    const amd::HipCall* call = amd::find_hip_call(name(row));
    Process& process = processes_[trace_.threads[trace_.apis.thread[row]].pid];
    take_handle(row, process);
    if (call == nullptr) return;
    const std::optional<uint64_t> pointer = number(row, *call, HipRole::kPointer);
    switch (call->does) {
      case HipDoes::kAllocate:
      case HipDoes::kAllocateHost: {
        // Those that tell no size (arrays, pitched memory) are known by address alone.
        if (!pointer || *pointer == 0 || has_failed(row)) return;
        process.live[*pointer] = {bytes_of(row, *call), row};
        process.allocated[*pointer] = row;
        process.freed.erase(*pointer);
        return;
      }
      case HipDoes::kFree:
        if (pointer && *pointer != 0) take_free(row, *pointer, process);
        return;
      case HipDoes::kCopy:
      case HipDoes::kFill:
        process.moves.push_back(row);
        for (const HipRole role : {HipRole::kDst, HipRole::kSrc})
          if (const std::optional<uint64_t> at = number(row, *call, role))
            check_extent(row, *call, role, *at, process);
        return;
      default: return;
    }
  }

  void take_handle(uint32_t row, Process& process) {
    if (has_failed(row)) return;
    for (size_t kind = 0; kind < std::size(kHandles); ++kind) {
      const HandleCalls& calls = kHandles[kind];
      const bool creates = name(row).starts_with(calls.create);
      if (!creates && !name(row).starts_with(calls.destroy)) continue;
      const std::optional<uint64_t> handle =
          analysis::parse_number(analysis::find_arg(args(row), calls.argument));
      if (!handle) return;
      if (creates) process.handles[{kind, *handle}] = row;
      else process.handles.erase({kind, *handle});
      return;
    }
  }

  // The allocation around an address.
  const std::pair<const uint64_t, Block>* around(const Process& process, uint64_t address) const {
    auto above = process.live.upper_bound(address);
    if (above == process.live.begin()) return nullptr;
    const auto& below = *std::prev(above);
    return address - below.first < std::max<uint64_t>(below.second.bytes, 1) ? &below : nullptr;
  }

  void take_free(uint32_t row, uint64_t pointer, Process& process) {
    if (const auto found = process.live.find(pointer); found != process.live.end()) {
      if (has_failed(row)) return;
      process.live.erase(found);
      process.freed[pointer] = row;
      return;
    }
    if (const auto before = process.freed.find(pointer); before != process.freed.end()) {
      add(Kind::kDoubleFree, row, pointer,
          fmt::format("{:#x} was freed before, by {}", pointer, caller(before->second)));
    } else if (const auto* block = around(process, pointer)) {
      add(Kind::kInvalidFree, row, pointer,
          fmt::format("{:#x} is {} into an allocation of {} bytes and not its begin", pointer,
                      util::count_of(pointer - block->first, "byte"), block->second.bytes));
      // HIP takes it all the same.
      if (!has_failed(row)) process.live.erase(block->first);
    } else if (has_failed(row)) {
      add(Kind::kInvalidFree, row, pointer,
          fmt::format("{:#x} is not the begin of an allocation", pointer));
    }
  }

  // What an allocation has; 0: that is not known.
  uint64_t bytes_of(uint32_t row, const amd::HipCall& call) const {
    if (const std::optional<uint64_t> bytes = number(row, call, HipRole::kBytes)) return *bytes;
    const std::optional<uint64_t> rows = number(row, call, HipRole::kHeight);
    return argument(row, "pitch").value_or(0) * rows.value_or(0);
  }

  // How many bytes lie between an end of a copy and the last one that is copied from or to there; of a rectangle with what
  // is between its rows.
  std::optional<uint64_t> reach(uint32_t row, const amd::HipCall& call, HipRole role) const {
    if (const std::optional<uint64_t> bytes = number(row, call, HipRole::kBytes)) return bytes;
    const std::optional<uint64_t> width = number(row, call, HipRole::kWidth);
    const std::optional<uint64_t> height = number(row, call, HipRole::kHeight);
    if (!width || !height || *width == 0 || *height == 0) return std::nullopt;
    const bool is_source = role == HipRole::kSrc;
    if (name(row).starts_with("hipMemcpy3D")) {
      // hipMemcpy3DParms: position, then pointer, pitch, width and rows of a layer, of each end; the extent.
      const auto word = [&](int number_of) {
        return argument(row, fmt::format("p[{}]", number_of)).value_or(0);
      };
      const int at = is_source ? 1 : 9;
      const uint64_t depth = word(18);
      if (word(at - 1) != 0 || depth == 0) return std::nullopt;  // an array
      return ((word(at + 2) + depth - 1) * word(at + 6) + word(at + 1) + *height - 1) *
                 word(at + 4) +
             word(at) + *width;
    }
    std::optional<uint64_t> pitch = argument(row, is_source ? "spitch" : "dpitch");
    if (!pitch) pitch = argument(row, "pitch");
    if (!pitch || name(row).find("Array") != std::string_view::npos) return std::nullopt;
    return (*height - 1) * *pitch + *width;
  }

  void check_extent(uint32_t row, const amd::HipCall& call, HipRole role, uint64_t address,
                    const Process& process) {
    const std::optional<uint64_t> bytes = reach(row, call, role);
    if (!bytes || *bytes == 0) return;
    const char* verb = role == HipRole::kSrc ? "reads" : "writes";
    if (const auto* block = around(process, address)) {
      const uint64_t left = block->first + block->second.bytes - address;
      if (block->second.bytes != 0 && *bytes > left)
        add(Kind::kCopyOutOfBounds, row, address,
            fmt::format("{} {} bytes at {:#x}, where {} of an allocation of {} are left", verb,
                        *bytes, address, left, block->second.bytes));
    } else if (process.freed.count(address) != 0 && has_failed(row)) {
      add(Kind::kCopyOutOfBounds, row, address,
          fmt::format("{} {} bytes at {:#x}, which was freed by {}", verb, *bytes, address,
                      caller(process.freed.at(address))));
    }
  }

  void find_leaks(const Process& process) {
    for (const auto& [pointer, block] : process.live)
      add(Kind::kLeak, block.row, pointer,
          block.bytes == 0 ? "not freed when the program ended"
                           : fmt::format("{} bytes not freed when the program ended", block.bytes),
          block.bytes);
    for (const auto& [handle, row] : process.handles)
      add(Kind::kHandleLeak, row, handle.second,
          fmt::format("{} not destroyed when the program ended", kHandles[handle.first].what));
  }

  // When the kernels of each process ran, and which calls launched them; of those without times, when they were launched.
  void index_launches() {
    const auto add = [&](uint32_t api, store::Str kernel, int64_t start) {
      if (api == store::kNoRow) return;
      const int64_t pid = trace_.threads[trace_.apis.thread[api]].pid;
      launches_[{pid, std::string(trace_.str(kernel))}].emplace_back(start, api);
    };
    std::set<uint32_t> has_run;
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t op = trace_.links.op[i];
      if (op == store::kNoRow) continue;
      add(trace_.links.api[i], trace_.ops.name(op), trace_.ops.start[op]);
      has_run.insert(trace_.links.api[i]);
    }
    // A fault leaves none.
    for (const store::KernelLaunch& launch : trace_.launches)
      if (launch.api != store::kNoRow && has_run.count(launch.api) == 0)
        add(launch.api, launch.kernel, trace_.apis.start[launch.api]);
    for (auto& [kernel, launches] : launches_) std::sort(launches.begin(), launches.end());
  }

  // The row of the call that launched a kernel which was running, or had just ended, at a time.
  std::optional<uint32_t> launch_of(int64_t pid, const std::string& kernel, int64_t time_ns) const {
    const auto known = launches_.find({pid, kernel});
    if (known == launches_.end()) return std::nullopt;
    const auto behind =
        std::upper_bound(known->second.begin(), known->second.end(), time_ns,
                         [](int64_t time, const std::pair<int64_t, uint32_t>& launch) {
                           return time < launch.first;
                         });
    if (behind == known->second.begin()) return std::nullopt;
    return std::prev(behind)->second;
  }

  void name_launch(Json& finding) {
    if (!finding.contains("kernel") || !finding.contains("time_ns")) return;
    const std::optional<uint32_t> row =
        launch_of(finding.value("pid", int64_t{0}), util::text_in(finding, "kernel"),
                  finding.value("time_ns", int64_t{0}));
    if (row) finding["launch"] = Json{{"call", name(*row)}, {"stack", stack_of(*row)}};
  }

  // Who allocated and who freed the memory that a kernel used wrongly.
  void name_allocation(Json& finding) {
    if (!finding.contains("allocation")) return;
    const auto process = processes_.find(finding.value("pid", int64_t{0}));
    const std::optional<uint64_t> address =
        analysis::parse_number(finding["allocation"].value("address", std::string()));
    if (process == processes_.end() || !address) return;
    const auto note = [&](const char* key, const std::map<uint64_t, uint32_t>& calls) {
      const auto call = calls.find(*address);
      if (call == calls.end()) return;
      finding["allocation"][key] = caller(call->second);
      finding["allocation"][fmt::format("{}_stack", key)] = stack_of(call->second);
    };
    note("allocated_by", process->second.allocated);
    if (finding["allocation"].value("freed", 0) != 0) note("freed_by", process->second.freed);
  }

  // How many ends of what was moved are a call's own. The runtime puts memory of its own between some.
  int ends_in_common(uint32_t row, const Json& moves) const {
    const amd::HipCall& call = *amd::find_hip_call(name(row));
    const uint64_t bytes =
        number(row, call, HipRole::kBytes).value_or(number(row, call, HipRole::kWidth).value_or(1));
    const auto has = [&](HipRole role, const char* key) {
      const std::optional<uint64_t> begin = number(row, call, role);
      const std::optional<uint64_t> at = analysis::parse_number(moves.value(key, std::string()));
      return begin && at && *at >= *begin && *at - *begin < bytes;
    };
    return has(HipRole::kDst, "to") + has(HipRole::kSrc, "from");
  }

  // The call that a copy was made for: the last one before it that is about this memory.
  void name_mover(Json& side, const Json& finding) {
    const auto process = processes_.find(finding.value("pid", int64_t{0}));
    if (!side.contains("moves") || process == processes_.end()) return;
    const Json& moves = side["moves"];
    std::optional<uint32_t> found;
    int most = 0;
    for (const uint32_t row : process->second.moves) {
      if (trace_.apis.start[row] > moves.value("time_ns", int64_t{0})) break;
      if (const int ends = ends_in_common(row, moves); ends != 0 && ends >= most) {
        most = ends;
        found = row;
      }
    }
    if (!found) return;
    side["call"] = name(*found);
    side["arguments"] = args(*found);
    add_stack(side, *found);
  }

  void add_stack(Json& side, uint32_t row) const {
    const std::vector<std::string> stack = stack_of(row);
    side["stack"] = stack;
    for (const std::string& frame : stack) {
      const size_t at = frame.find(" at ");
      if (at == std::string::npos) continue;
      side["source"] = frame.substr(at + 4);
      break;
    }
  }

  // The stack of a call, innermost first, without the call itself.
  std::vector<std::string> stack_of(uint32_t row) const {
    std::vector<std::string> frames;
    const auto from = std::lower_bound(
        trace_.stack_frames.begin(), trace_.stack_frames.end(), row,
        [](const store::StackFrame& frame, uint32_t wanted) { return frame.api < wanted; });
    for (auto frame = from; frame != trace_.stack_frames.end() && frame->api == row; ++frame)
      if (frame->depth > 0) frames.emplace_back(trace_.str(frame->name));
    return frames;
  }

  std::string caller(uint32_t row) const {
    const std::vector<std::string> stack = stack_of(row);
    return std::string(name(row)) + (stack.empty() ? "" : " in " + stack.front());
  }

  void add(Kind kind, uint32_t row, uint64_t address, const std::string& detail,
           uint64_t bytes = 0) {
    const sanitize::KindRow& what = sanitize::row_of(kind);
    if (!tools_.has(what.tool)) return;
    const std::vector<std::string> stack = stack_of(row);
    const std::string key =
        std::string(what.name) + "|" + std::string(name(row)) + "|" + util::join(stack, "|");
    const auto [known, is_new] = by_place_.emplace(key, report_.findings.size());
    if (!is_new) {
      Json& finding = report_.findings[known->second];
      finding["times"] = finding["times"].get<uint64_t>() + 1;
      if (bytes != 0) finding["bytes"] = finding["bytes"].get<uint64_t>() + bytes;
      return;
    }
    Json finding = {{"pid", trace_.threads[trace_.apis.thread[row]].pid},
                    {"times", 1},
                    {"tool", sanitize::tool_name(what.tool)},
                    {"severity", sanitize::severity_name(what.severity)},
                    {"kind", what.name},
                    {"call", name(row)},
                    {"time_ns", trace_.apis.start[row]},
                    {"arguments", args(row)},
                    {"address", fmt::format("{:#x}", address)},
                    {"detail", detail}};
    add_stack(finding, row);
    if (kind == Kind::kLeak) finding["bytes"] = bytes;
    report_.findings.push_back(std::move(finding));
  }

  const store::Trace& trace_;
  const sanitize::ToolSet& tools_;
  SanitizeReport& report_;
  std::map<int64_t, Process> processes_;  // by pid
  // By process and kernel: start, and row of the call.
  std::map<std::pair<int64_t, std::string>, std::vector<std::pair<int64_t, uint32_t>>> launches_;
  std::map<std::string, size_t> by_place_;
};

}  // namespace

bool looks_at_calls(const sanitize::ToolSet& tools) {
  return tools.has(sanitize::Tool::kLeakcheck) || tools.has(sanitize::Tool::kHostcheck);
}

bool needs_recording(const sanitize::ToolSet& tools) {
  return looks_at_calls(tools) || tools.has(sanitize::Tool::kRacecheck) ||
         tools.has(sanitize::Tool::kMemcheck);
}

Status find_host_mistakes(const std::string& trace_path, const sanitize::ToolSet& tools,
                          SanitizeReport& report) {
  store::LoadOptions options;
  options.args = true;
  options.stack_frames = true;
  const Result<store::Trace> trace = store::Trace::load(trace_path, options);
  if (!trace.ok()) return trace.error();
  HostCheck(*trace, tools, report).run();
  return {};
}

}  // namespace wavetap::cli
