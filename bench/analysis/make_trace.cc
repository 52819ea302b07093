// Makes a trace of any size with the shape of a PyTorch training run, for
// bench/analysis/measure.py.
//
//   bench_make_trace OUT.rpd ROWS THREADS [RANK [COUNTERS]]
//
// COUNTERS: how many counters each kernel has, up to ten (0).
//
// Every thread repeats one unit of four calls inside a marker per step: an operator's marker, the
// marker of the operator inside it, the launch or copy inside that, and a query after it. So calls
// nest four deep, a quarter of them have an op, and ids of all threads interleave as they do in a
// recording. Now and then a graph is launched, memory is allocated and freed. Everything follows
// from the arguments: two runs give the same file.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "store/trace_writer.h"

namespace {

using wavetap::Result;
using wavetap::Status;
using wavetap::store::SessionTexts;
using wavetap::store::TraceWriter;
namespace rows = wavetap::store::rows;

constexpr int kGpus = 4;
constexpr int kUnitsPerStep = 64;
constexpr int kOpsPerGraph = 8;

[[noreturn]] void die(const wavetap::Error& error) {
  std::fprintf(stderr, "bench_make_trace: %s\n", error.message.c_str());
  std::exit(1);
}

class Maker {
 public:
  Maker(TraceWriter& writer, int64_t rows, int threads, int rank, int counters)
      : writer_(writer),
        texts_(writer, /*session=*/0),
        rows_(rows),
        threads_(static_cast<size_t>(threads)),
        pid_(1000 + rank) {
    add_strings();
    constexpr const char* kCounters[] = {
        "SQ_WAVES",      "SQ_INSTS",     "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM",
        "SQ_INSTS_VMEM", "SQ_INSTS_LDS", "TCC_REQ_sum",   "TCC_HIT_sum",   "TCC_MISS_sum"};
    for (size_t i = 0; i < static_cast<size_t>(counters) && i < std::size(kCounters); ++i)
      counters_.push_back(add_string(kCounters[i]));
    for (size_t t = 0; t < threads_.size(); ++t)
      threads_[t].now = 1'000'000'000 + static_cast<int64_t>(t) * 77;
  }

  void run() {
    capture_graph();
    while (made_ < rows_)
      for (size_t t = 0; t < threads_.size() && made_ < rows_; ++t) unit(t);
    for (size_t t = 0; t < threads_.size(); ++t)
      if (threads_[t].step_begin != 0) end_step(t);
    // Markers are numbered behind all calls.
    for (const rows::Call& marker : markers_) writer_.put(marker);
    texts_.finish();
  }

 private:
  struct Thread {
    int64_t now = 0;
    int64_t step_begin = 0;
    int64_t units = 0;
    int64_t gpu_free = 0;
  };

  int64_t random(int64_t below) {
    seed_ = seed_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int64_t>((seed_ >> 33) % static_cast<uint64_t>(below));
  }

  int64_t add_string(const std::string& text) { return texts_.string(text); }

  void add_strings() {
    empty_ = texts_.no_string();
    hip_ = add_string("hip");
    marker_ = add_string(wavetap::store::kMarkerName);
    launch_name_ = add_string("hipLaunchKernel");
    copy_name_ = add_string("hipMemcpyAsync");
    query_ = add_string("hipStreamQuery");
    malloc_ = add_string("hipMalloc");
    free_ = add_string("hipFree");
    begin_capture_ = add_string("hipStreamBeginCapture");
    end_capture_ = add_string("hipStreamEndCapture");
    instantiate_ = add_string("hipGraphInstantiate");
    graph_launch_ = add_string("hipGraphLaunch");
    kernel_type_ = add_string("KernelExecution");
    copy_type_ = add_string("CopyHostToDevice");
    task_type_ = add_string("Task");
    for (int k = 0; k < 40; ++k)
      kernels_.push_back(add_string("void at::native::kernel_" + std::to_string(k) +
                                    "<4, float, at::detail::Array<char*, 3>>(int)"));
  }

  int64_t add_text(const std::string& text) { return texts_.text(text); }

  int64_t add_api(size_t t, int64_t begin, int64_t end, int64_t name, int64_t text) {
    const bool is_marker = name == marker_;
    const int64_t id = is_marker
                           ? wavetap::store::kFirstMarkerId + static_cast<int64_t>(markers_.size())
                           : ++calls_;
    const rows::Call call{.id = id,
                          .pid = pid_,
                          .tid = pid_ + static_cast<int64_t>(t),
                          .start = begin,
                          .end = end,
                          .name = name,
                          .category = empty_,
                          .domain = is_marker ? marker_ : hip_,
                          .args = text};
    if (is_marker) markers_.push_back(call);
    else writer_.put(call);
    ++made_;
    return id;
  }

  void add_op(size_t t, int64_t api, int64_t asked, int64_t type, int64_t description,
              int64_t length) {
    Thread& thread = threads_[t];
    const int64_t begin = std::max(thread.gpu_free, asked + 2000);
    thread.gpu_free = begin + length;
    writer_.put(rows::Op{.id = ++ops_,
                         .gpu = t % kGpus,
                         .queue = t,
                         .sequence = 0,
                         .start = begin,
                         .end = begin + length,
                         .description = description,
                         .type = type});
    writer_.put(rows::Link{.call = api, .op = ops_});
    if (type != kernel_type_) return;
    for (size_t i = 0; i < counters_.size(); ++i)
      writer_.put(rows::Counter{
          .value = static_cast<double>((i + 1) * 4096 + static_cast<size_t>(ops_ % 7)),
          .op = ops_,
          .name = counters_[i]});
  }

  static uint64_t stream_address(size_t t) { return 0x7f1000 + t; }
  static std::string stream(size_t t) {
    char text[24];
    std::snprintf(text, sizeof text, "%#" PRIx64, stream_address(t));
    return text;
  }

  void add_launch(size_t t, int64_t api, int64_t kernel) {
    writer_.put(rows::LaunchCall{.call = api,
                                 .stream = stream_address(t),
                                 .grid_x = 256,
                                 .grid_y = 1,
                                 .grid_z = 1,
                                 .workgroup_x = 256,
                                 .workgroup_y = 1,
                                 .workgroup_z = 1,
                                 .group_bytes = 0,
                                 .private_bytes = 0,
                                 .kernel = kernel});
  }

  void add_copy(size_t t, int64_t api, int64_t bytes) {
    writer_.put(rows::CopyCall{.call = api,
                               .stream = stream_address(t),
                               .size = bytes,
                               .width = 0,
                               .height = 0,
                               .kind = 1,
                               .dst = 0x7f0010,
                               .src = 0x7f0020,
                               .dst_device = 0,
                               .src_device = 0,
                               .sync = false,
                               .pinned = false});
  }

  // One graph of the first thread, captured before everything else.
  void capture_graph() {
    Thread& thread = threads_[0];
    const auto call = [&](int64_t name, const std::string& text) {
      const int64_t begin = thread.now;
      thread.now += 1000;
      return add_api(0, begin, begin + 800, name, add_text(text));
    };
    call(begin_capture_, "stream = " + stream(0) + " | mode = 0");
    for (int k = 0; k < kOpsPerGraph; ++k)
      add_launch(0, call(launch_name_, ""), kernels_[static_cast<size_t>(k)]);
    call(end_capture_, "stream = " + stream(0) + " | graph = 0x9000");
    call(instantiate_, "graphExec = 0x9100 | graph = 0x9000");
  }

  void unit(size_t t) {
    Thread& thread = threads_[t];
    if (thread.step_begin == 0) {
      thread.step_begin = thread.now;
      thread.now += 500;
    }
    const int64_t number = thread.units++;
    const bool backward = number % 2 == 1;
    const int64_t kind = random(static_cast<int64_t>(kernels_.size()));
    const int64_t outer = thread.now, inner = outer + 400 + random(200),
                  call = inner + 300 + random(200);
    const int64_t call_end = call + 2000 + random(3000), inner_end = call_end + 200,
                  outer_end = inner_end + 1500;

    // Ids of markers are given when they end, those of calls when they begin.
    int64_t api = 0;
    if (number % 64 == 63) {
      api = add_api(t, call, call_end, graph_launch_,
                    add_text("graphExec = 0x9100 | stream = " + stream(t)));
      for (int k = 0; k < kOpsPerGraph; ++k)
        add_op(t, api, call, task_type_, kernels_[static_cast<size_t>(k)], 3000 + random(500));
    } else if (number % 32 == 15) {
      api = add_api(t, call, call_end, number % 64 == 15 ? malloc_ : free_,
                    add_text("ptr=0x7f" + std::to_string(t) + "000 | size=0x100000"));
    } else if (number % 16 == 7) {
      api = add_api(t, call, call_end, copy_name_, 1);
      add_copy(t, api, 4096 + random(1 << 20));
      add_op(t, api, call, copy_type_, empty_, 4000 + random(4000));
    } else {
      api = add_api(t, call, call_end, launch_name_, 1);
      add_launch(t, api, kernels_[static_cast<size_t>(kind)]);
      add_op(t, api, call, kernel_type_, kernels_[static_cast<size_t>(kind)], 3000 + random(9000));
    }
    const std::string op = "aten::op_" + std::to_string(kind) + (backward ? "Backward" : "");
    const std::string tail =
        ", seq = " + std::to_string(number / 2) + ", op_id = " + std::to_string(number) +
        ", sizes = [[" + std::to_string(64 << (kind % 4)) +
        ", 1024], [1024, 64]], input_op_ids = [[" + std::to_string(number) + ", 0]]";
    add_api(t, inner, inner_end, marker_, add_text(op + "_inner" + tail));
    add_api(t, inner_end + 300, inner_end + 900, query_, 1);
    add_api(t, outer, outer_end, marker_, add_text(op + tail));
    thread.now = outer_end + 100 + random(300);
    if (thread.units % kUnitsPerStep == 0) end_step(t);
  }

  void end_step(size_t t) {
    Thread& thread = threads_[t];
    add_api(t, thread.step_begin, thread.now, marker_,
            add_text("step " + std::to_string(thread.units / kUnitsPerStep)));
    thread.now += 200;
    thread.step_begin = 0;
  }

  TraceWriter& writer_;
  SessionTexts texts_;
  const int64_t rows_;
  std::vector<Thread> threads_;
  const int64_t pid_;
  std::vector<rows::Call> markers_;
  uint64_t seed_ = 1;
  int64_t made_ = 0, calls_ = 0, ops_ = 0;
  int64_t empty_ = 0, hip_ = 0, marker_ = 0, launch_name_ = 0, copy_name_ = 0, query_ = 0,
          malloc_ = 0, free_ = 0;
  int64_t begin_capture_ = 0, end_capture_ = 0, instantiate_ = 0, graph_launch_ = 0;
  int64_t kernel_type_ = 0, copy_type_ = 0, task_type_ = 0;
  std::vector<int64_t> kernels_, counters_;
};

}  // namespace

int main(int argc, char** argv) {
  const int64_t rows = argc > 3 ? std::atoll(argv[2]) : 0;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 0;
  if (rows < 1 || threads < 1) {
    std::fprintf(stderr, "usage: bench_make_trace OUT.rpd ROWS THREADS [RANK]\n");
    return 1;
  }
  Result<TraceWriter> writer = TraceWriter::create(argv[1], /*wavetap_tables=*/false);
  if (!writer.ok()) die(writer.error());
  Maker(*writer, rows, threads, argc > 4 ? std::atoi(argv[4]) : 0,
        argc > 5 ? std::atoi(argv[5]) : 0)
      .run();
  writer->add_metadata("producer", "bench_make_trace");
  writer->add_metadata("session_count", "1");
  writer->add_metadata("losses", "0");
  if (Status done = writer->finish(); !done.ok()) die(done.error());
  return 0;
}
