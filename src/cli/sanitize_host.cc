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
    for (Json& finding : report_.findings) {
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

  std::optional<uint64_t> number(uint32_t row, const amd::HipCall& call, HipRole role) const {
    const std::string_view argument = amd::argument_of(call, role);
    if (argument.empty() || argument.find('|') != std::string_view::npos) return std::nullopt;
    return analysis::parse_number(analysis::find_arg(args(row), argument));
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
        process.live[*pointer] = {number(row, *call, HipRole::kBytes).value_or(0), row};
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

  void check_extent(uint32_t row, const amd::HipCall& call, HipRole role, uint64_t address,
                    const Process& process) {
    const std::optional<uint64_t> bytes = number(row, call, HipRole::kBytes);
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

  // Who allocated and who freed the memory that a kernel used wrongly.
  void name_allocation(Json& finding) {
    if (!finding.contains("allocation")) return;
    const auto process = processes_.find(finding.value("pid", int64_t{0}));
    const std::optional<uint64_t> address =
        analysis::parse_number(finding["allocation"].value("address", std::string()));
    if (process == processes_.end() || !address) return;
    const auto note = [&](const char* key, const std::map<uint64_t, uint32_t>& calls) {
      if (const auto call = calls.find(*address); call != calls.end())
        finding["allocation"][key] = caller(call->second);
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
  std::map<std::string, size_t> by_place_;
};

}  // namespace

bool looks_at_calls(const sanitize::ToolSet& tools) {
  return tools.has(sanitize::Tool::kLeakcheck) || tools.has(sanitize::Tool::kHostcheck);
}

bool needs_recording(const sanitize::ToolSet& tools) {
  return looks_at_calls(tools) || tools.has(sanitize::Tool::kRacecheck);
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
