// Makes a trace from a text that a person can read and review; the fixtures of the command-line
// tests.
//
//   trace_from_text IN.txt OUT.rpd
//
// One row per line; what a word means depends on the first one:
//   meta KEY VALUE…
//   thread PID TID                             the calls below are made by it
//   call START END FUNCTION ARGS…
//   marker START END TEXT…
//   launch STREAM GRID WORKGROUP KERNEL…       what the call above launched
//   copy STREAM BYTES KIND                     what the call above copied
//   allocation GPU BYTES START END ASKED       memory the call above got; - for none
//   runtime-allocation …                       the same, of no call
//   op GPU QUEUE START END TYPE DESCRIPTION…   what a GPU did for the call above
//   lone-op …                                  the same, for no call
//   dispatch GRID WORKGROUP                    how the kernel above was started
//   counter NAME VALUE                         what the op above was counted to do
//   frame DEPTH TEXT…                          a stack frame of the call above
//   monitor DEVICE KIND START END VALUE
//   library PID TIME HOW PATH SONAME FAMILY…
//   process PID START END EXITED COMMAND…
//   device GPU COMPUTE-UNITS TARGET NAME…
//   figure PID GPU LAYER FIELD VALUE…          what a layer said of a GPU; - for none
//   fault PID TIME GPU ADDRESS WHAT…
//   inflight PID KIND GPU QUEUE SUBMITTED NAME…
//   open-call PID TID START NAME
//   sql STATEMENT…                             run when all rows are in
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "store/trace_writer.h"

namespace {

using wavetap::Result;
using wavetap::Status;
using wavetap::store::SessionTexts;
using wavetap::store::TraceWriter;
namespace rows = wavetap::store::rows;

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "trace_from_text: %s\n", message.c_str());
  std::exit(1);
}

// The words of a line.
class Words {
 public:
  explicit Words(const std::string& line) : in_(line) {}

  bool starts(std::string& kind) { return (in_ >> kind) && kind[0] != '#'; }
  std::string word() {
    std::string out;
    if (!(in_ >> out)) die("a word is missing: " + in_.str());
    return out;
  }
  int64_t number() {
    const std::string text = word();
    char* end = nullptr;
    const int64_t value = std::strtoll(text.c_str(), &end, 0);
    if (*end != '\0') die("not a number: " + text + " in: " + in_.str());
    return value;
  }
  // "-" is nothing.
  std::optional<int64_t> maybe() {
    std::streampos before = in_.tellg();
    if (word() == "-") return std::nullopt;
    in_.seekg(before);
    return number();
  }
  std::string rest() {
    std::string out;
    std::getline(in_ >> std::ws, out);
    return out;
  }

 private:
  std::istringstream in_;
};

// Lines that need tables of wavetap's own; a file without any of them looks like RPD's.
const std::set<std::string> kOwnTables = {"library",   "process",    "figure",
                                          "fault",     "device",     "inflight",
                                          "open-call", "allocation", "runtime-allocation",
                                          "dispatch"};

class Maker {
 public:
  explicit Maker(TraceWriter& writer) : writer_(writer), texts_(writer, /*session=*/0) {}

  void line(const std::string& text) {
    Words words(text);
    std::string kind;
    if (!words.starts(kind)) return;
    const std::map<std::string, std::function<void()>> makers = {
        {"meta", [&] { add_meta(words); }},
        {"thread", [&] { pid_ = words.number(), tid_ = words.number(); }},
        {"call", [&] { add_call(words); }},
        {"marker", [&] { add_marker(words); }},
        {"launch", [&] { add_launch(words); }},
        {"copy", [&] { add_copy(words); }},
        {"allocation", [&] { add_allocation(words, call_); }},
        {"runtime-allocation", [&] { add_allocation(words, std::nullopt); }},
        {"op", [&] { add_op(words), writer_.put(rows::Link{.call = call_, .op = ops_}); }},
        {"lone-op", [&] { add_op(words); }},
        {"dispatch", [&] { add_dispatch(words); }},
        {"counter", [&] { add_counter(words); }},
        {"frame", [&] { add_frame(words); }},
        {"monitor", [&] { add_monitor(words); }},
        {"library", [&] { add_library(words); }},
        {"process", [&] { add_process(words); }},
        {"device", [&] { add_device(words); }},
        {"figure", [&] { add_figure(words); }},
        {"fault", [&] { add_fault(words); }},
        {"inflight", [&] { add_inflight(words); }},
        {"open-call", [&] { add_open_call(words); }},
        {"sql", [&] { sql_.push_back(words.rest()); }},
    };
    const auto maker = makers.find(kind);
    if (maker == makers.end()) die("unknown line: " + text);
    maker->second();
  }

  Status finish() {
    // Markers are numbered behind all calls.
    std::stable_sort(calls_made_.begin(), calls_made_.end(),
                     [](const auto& a, const auto& b) { return a.id.value < b.id.value; });
    for (const rows::Call& call : calls_made_) writer_.put(call);
    texts_.finish();
    return writer_.finish(sql_);
  }

 private:
  void add_meta(Words& words) {
    const std::string key = words.word();
    writer_.add_metadata(key, words.rest());
  }

  int64_t text_id(const std::string& text) {
    const auto [known, is_new] = args_.try_emplace(text, 0);
    if (is_new) known->second = texts_.text(text);
    return known->second;
  }

  void put_call(int64_t id, int64_t start, int64_t end, const std::string& name,
                const std::string& domain, const std::string& args) {
    call_ = id;
    calls_made_.push_back({.id = id,
                           .pid = pid_,
                           .tid = tid_,
                           .start = start,
                           .end = end,
                           .name = texts_.string(name),
                           .category = texts_.no_string(),
                           .domain = texts_.string(domain),
                           .args = text_id(args)});
  }
  void add_call(Words& words) {
    const int64_t start = words.number(), end = words.number();
    const std::string name = words.word();
    put_call(++calls_, start, end, name, "hip", words.rest());
  }
  void add_marker(Words& words) {
    const int64_t start = words.number(), end = words.number();
    put_call(wavetap::store::kFirstMarkerId + markers_++, start, end, wavetap::store::kMarkerName,
             wavetap::store::kMarkerName, words.rest());
  }

  void add_launch(Words& words) {
    const int64_t stream = words.number(), grid = words.number(), workgroup = words.number();
    writer_.put(rows::LaunchCall{.call = call_,
                                 .stream = stream,
                                 .grid_x = grid,
                                 .grid_y = 1,
                                 .grid_z = 1,
                                 .workgroup_x = workgroup,
                                 .workgroup_y = 1,
                                 .workgroup_z = 1,
                                 .group_bytes = 0,
                                 .private_bytes = 0,
                                 .kernel = texts_.string(words.rest())});
  }
  void add_copy(Words& words) {
    const int64_t stream = words.number(), bytes = words.number();
    writer_.put(rows::CopyCall{.call = call_,
                               .stream = stream,
                               .size = bytes,
                               .width = 0,
                               .height = 0,
                               .kind = words.number(),
                               .dst = 0x10,
                               .src = 0x20,
                               .dst_device = 0,
                               .src_device = 0,
                               .sync = false,
                               .pinned = false});
  }
  void add_allocation(Words& words, std::optional<int64_t> call) {
    const int64_t gpu = words.number(), bytes = words.number(), start = words.number();
    const std::optional<int64_t> end = words.maybe(), asked = words.maybe();
    writer_.put(rows::AllocationEvent{.pid = pid_,
                                      .api = call,
                                      .gpu = gpu,
                                      .kind = gpu < 0 ? "host" : "device",
                                      .address = 0x7f000000 + 0x100000 * allocations_++,
                                      .bytes = bytes,
                                      .start = start,
                                      .end = end,
                                      .asked = asked});
  }
  void add_op(Words& words) {
    const int64_t gpu = words.number(), queue = words.number(), start = words.number(),
                  end = words.number();
    const std::string type = words.word();
    writer_.put(rows::Op{.id = ++ops_,
                         .gpu = gpu,
                         .queue = queue,
                         .sequence = 0,
                         .start = start,
                         .end = end,
                         .description = texts_.string(words.rest()),
                         .type = texts_.string(type)});
  }
  void add_dispatch(Words& words) {
    const int64_t grid = words.number(), workgroup = words.number();
    writer_.put(rows::Dispatch{.op = ops_,
                               .kernel = std::nullopt,
                               .submitted = 0,
                               .grid_x = grid,
                               .grid_y = 1,
                               .grid_z = 1,
                               .workgroup_x = workgroup,
                               .workgroup_y = 1,
                               .workgroup_z = 1,
                               .lds_bytes = 0,
                               .dynamic_lds_bytes = 0,
                               .scratch_bytes = 0,
                               .kernarg_address = 0,
                               .kernarg = std::nullopt,
                               .node = 0,
                               .barrier = false,
                               .timed = true,
                               .by_order = false});
  }
  void add_counter(Words& words) {
    const std::string name = words.word();
    writer_.put(rows::Counter{
        .value = std::atof(words.word().c_str()), .op = ops_, .name = texts_.string(name)});
  }
  void add_frame(Words& words) {
    const int64_t depth = words.number();
    writer_.put(
        rows::StackFrame{.api = call_, .depth = depth, .name = texts_.string(words.rest())});
  }
  void add_monitor(Words& words) {
    const int64_t device = words.number();
    const std::string type = words.word();
    const int64_t start = words.number(), end = words.number();
    const std::string value = words.word();
    writer_.put(rows::Monitor{.device_type = "gpu",
                              .device = device,
                              .type = type,
                              .start = start,
                              .end = end,
                              .value = value});
  }

  void add_library(Words& words) {
    const int64_t pid = words.number(), time = words.number();
    const std::string how = words.word(), path = words.word(), soname = words.word(),
                      families = words.rest();
    writer_.put(rows::LibraryEvent{.pid = pid,
                                   .time = time,
                                   .path = path,
                                   .soname = soname,
                                   .build_id = "",
                                   .answers_for = families,
                                   .how = how});
  }
  void add_process(Words& words) {
    const int64_t pid = words.number(), start = words.number(), end = words.number(),
                  exited = words.number();
    const std::string command = words.rest();
    writer_.put(rows::ProcessRun{.session = processes_++,
                                 .pid = pid,
                                 .parent = 1,
                                 .start = start,
                                 .end = end,
                                 .executable = command.substr(0, command.find(' ')),
                                 .command = command,
                                 .hostname = "node1",
                                 .agent = "0.1",
                                 .emulated = false,
                                 .exited = exited != 0});
  }
  void add_device(Words& words) {
    const int64_t id = words.number(), units = words.number();
    const std::string target = words.word(), product = words.rest();
    writer_.put(rows::DeviceUse{.id = id,
                                .name = target,
                                .product = product,
                                .uuid = "",
                                .compute_units = units,
                                .clock_mhz = 1000,
                                .wavefront = 32,
                                .pci = "",
                                .memory_bytes = int64_t{16} << 30,
                                .peak_bytes = 0,
                                .peak_time = std::nullopt});
  }
  void add_figure(Words& words) {
    const int64_t pid = words.number();
    const std::optional<int64_t> gpu = words.maybe();
    const std::string layer = words.word(), field = words.word(), value = words.rest();
    writer_.put(rows::DeviceFigure{.pid = pid,
                                   .gpu = gpu,
                                   .pci = std::nullopt,
                                   .layer = layer,
                                   .field = field,
                                   .value = value,
                                   .told = std::nullopt});
  }
  void add_fault(Words& words) {
    const int64_t pid = words.number(), time = words.number(), gpu = words.number(),
                  address = words.number();
    writer_.put(rows::FaultEvent{.pid = pid,
                                 .time = time,
                                 .gpu = gpu,
                                 .queue = std::nullopt,
                                 .address = address,
                                 .reason = 1,
                                 .what = words.rest(),
                                 .owner = "in no allocation"});
  }
  void add_inflight(Words& words) {
    const int64_t pid = words.number();
    const std::string kind = words.word();
    const int64_t gpu = words.number(), queue = words.number(), submitted = words.number();
    const std::optional<int64_t> size =
        kind == "kernel" ? std::optional<int64_t>(64) : std::nullopt;
    const std::optional<int64_t> one = kind == "kernel" ? std::optional<int64_t>(1) : std::nullopt;
    writer_.put(rows::InflightWork{.pid = pid,
                                   .api = std::nullopt,
                                   .kind = kind,
                                   .gpu = gpu,
                                   .queue = queue,
                                   .submitted = submitted,
                                   .name = words.rest(),
                                   .grid_x = size,
                                   .grid_y = one,
                                   .grid_z = one,
                                   .workgroup_x = size,
                                   .workgroup_y = one,
                                   .workgroup_z = one,
                                   .args = std::nullopt});
  }
  void add_open_call(Words& words) {
    const int64_t pid = words.number(), tid = words.number(), start = words.number();
    writer_.put(rows::OpenCall{.pid = pid, .tid = tid, .name = words.rest(), .start = start});
  }

  TraceWriter& writer_;
  SessionTexts texts_;
  std::map<std::string, int64_t> args_;
  std::vector<rows::Call> calls_made_;
  std::vector<std::string> sql_;
  int64_t pid_ = 100, tid_ = 100, call_ = 0;
  int64_t calls_ = 0, markers_ = 0, ops_ = 0, processes_ = 0, allocations_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) die("usage: trace_from_text IN.txt OUT.rpd");
  std::ifstream in(argv[1]);
  if (!in) die(std::string(argv[1]) + ": cannot be read");
  std::vector<std::string> lines;
  bool own_tables = false;
  for (std::string line; std::getline(in, line); lines.push_back(line))
    own_tables = own_tables || kOwnTables.contains(line.substr(0, line.find(' ')));
  Result<TraceWriter> writer = TraceWriter::create(argv[2], own_tables);
  if (!writer.ok()) die(writer.error().message);
  Maker maker(*writer);
  for (const std::string& line : lines) maker.line(line);
  if (Status done = maker.finish(); !done.ok()) die(done.error().message);
  return 0;
}
