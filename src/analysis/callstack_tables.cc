#include "analysis/callstack_tables.h"

#include <algorithm>

#include "analysis/callstack_tree.h"
#include "store/derived_tables.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

// A table of more rows than this, some gigabytes, is worth writing where calls are many, not where
// they are merely nested by the thousand.
constexpr uint64_t kManyPairs = 50'000'000;
constexpr uint64_t kDeepOnAverage = 100;

// A call and one that it was made inside of, or itself.
struct Pair {
  uint32_t ancestor = 0;  // rows of Apis
  uint32_t call = 0;
  int64_t depth = 0;  // 0: the call itself
  int64_t cpu = 0;    // ns of the call alone
  int64_t gpu = 0;
};

// Pairs of each call, outermost ancestor first.
template <class Emit>
void for_each_pair(const CallTree& tree, Emit&& emit) {
  std::vector<uint32_t> chain;
  for (const uint32_t row : tree.order) {
    chain.clear();
    for (uint32_t at = row; at != kNoRow; at = tree.parent[at]) chain.push_back(at);
    for (size_t i = chain.size(); i-- > 0;)
      emit(Pair{chain[i], row, static_cast<int64_t>(i), tree.cpu_self[row], tree.gpu_self[row]});
  }
}

struct StackEvent {
  int64_t time;
  uint32_t row;
  bool is_end;
};

// Starts and ends of calls by thread, each thread's in the order of RPD's walk.
std::vector<std::vector<StackEvent>> rpd_events(const store::Trace& trace) {
  const store::Apis& apis = trace.apis;
  std::vector<std::vector<StackEvent>> per_thread(trace.threads.size());
  for (uint32_t row = 0; row < apis.size(); ++row) {
    per_thread[apis.thread[row]].push_back({apis.start[row], row, false});
    per_thread[apis.thread[row]].push_back({apis.end[row], row, true});
  }
  for (std::vector<StackEvent>& events : per_thread)
    std::stable_sort(events.begin(), events.end(), [](const StackEvent& a, const StackEvent& b) {
      return a.time != b.time ? a.time < b.time : a.is_end < b.is_end;
    });
  return per_thread;
}

struct Frame {
  uint32_t row;
  int64_t start;
  // What had been charged to all calls of the thread when this one began. The difference to a later
  // sum is what its callees were charged: nobody needs to walk the stack for it.
  int64_t cpu_before, gpu_before;
};

// Calls ended(stack, row that ended, its cpu time, cpu and gpu time charged so far and with it) with
// the frame that is about to go on top of the stack.
template <class Ended>
void walk_rpd(const store::Trace& trace, Ended&& ended) {
  const std::vector<int64_t> gpu = gpu_time_per_api(trace);
  std::vector<Frame> stack;
  for (const std::vector<StackEvent>& events : rpd_events(trace)) {
    stack.clear();
    int64_t cpu_charged = 0, gpu_charged = 0;
    for (const StackEvent& event : events) {
      if (!event.is_end) {
        stack.push_back({event.row, event.time, cpu_charged, gpu_charged});
        continue;
      }
      if (stack.empty()) continue;
      const Frame& top = stack.back();
      const int64_t of_callees = stack.size() > 1 ? cpu_charged - top.cpu_before : 0;
      const int64_t cpu = event.time - top.start - of_callees;
      cpu_charged += cpu;
      gpu_charged += gpu[event.row];
      ended(stack, event.row, cpu, gpu[event.row], cpu_charged, gpu_charged);
      stack.pop_back();
    }
  }
}

uint64_t count_pairs(const store::Trace& trace, const CallTree& tree, bool rpd_compatible) {
  uint64_t pairs = 0;
  if (rpd_compatible) {
    walk_rpd(trace, [&](const std::vector<Frame>& stack, auto&&...) { pairs += stack.size(); });
    return pairs;
  }
  for (const uint32_t depth : call_depths(tree)) pairs += depth + 1;
  return pairs;
}

}  // namespace

CallTimes rpd_call_times(const store::Trace& trace) {
  CallTimes times;
  for (std::vector<int64_t>* column : {&times.calls, &times.cpu_inclusive, &times.cpu_exclusive,
                                       &times.gpu_inclusive, &times.gpu_exclusive})
    column->assign(trace.apis.size(), 0);
  walk_rpd(trace, [&](const std::vector<Frame>& stack, uint32_t, int64_t cpu, int64_t gpu,
                      int64_t cpu_charged, int64_t gpu_charged) {
    const Frame& frame = stack.back();
    times.calls[frame.row] = 1;
    times.cpu_exclusive[frame.row] = cpu;
    times.gpu_exclusive[frame.row] = gpu;
    times.cpu_inclusive[frame.row] = cpu_charged - frame.cpu_before;
    times.gpu_inclusive[frame.row] = gpu_charged - frame.gpu_before;
  });
  return times;
}

Status write_callstack(const std::string& path, const store::Trace& trace, const Options& options) {
  const CallTree tree = build_call_tree(trace);
  if (const uint64_t pairs = count_pairs(trace, tree, options.rpd_compatible);
      pairs > kManyPairs && pairs / trace.apis.size() > kDeepOnAverage)
    return Error{path + ": calls are nested so deeply that ext_callstack would have " +
                 util::group_digits(pairs) +
                 " rows; cut a part of the trace with `wavetap trim` and use that"};
  Result<store::DerivedWriter> writer = store::DerivedWriter::begin(path, store::kCallstackTables);
  if (!writer.ok()) return writer.error();
  Result<store::Stmt> insert =
      writer->db().prepare("insert into ext_callstack values (?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.error();
  int64_t sequence = 0;
  const auto emit = [&](const Pair& pair) {
    insert->bind(1, sequence++);
    insert->bind(2, trace.apis.id[pair.ancestor]);
    insert->bind(3, trace.apis.id[pair.call]);
    insert->bind(4, pair.depth);
    insert->bind(5, pair.cpu);
    insert->bind(6, pair.gpu);
    insert->run();
  };
  if (options.rpd_compatible) {
    walk_rpd(trace, [&](const std::vector<Frame>& stack, uint32_t row, int64_t cpu, int64_t gpu,
                        int64_t, int64_t) {
      for (size_t i = 0; i < stack.size(); ++i)
        emit({stack[i].row, row, static_cast<int64_t>(stack.size() - 1 - i), cpu, gpu});
    });
  } else {
    for_each_pair(tree, emit);
  }
  if (!insert->status().ok()) return insert->status();
  return writer->commit();
}

}  // namespace wavetap::analysis
