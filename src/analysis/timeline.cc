#include "analysis/timeline.h"

#include <algorithm>
#include <map>

#include "analysis/lanes.h"

namespace wavetap::analysis {
namespace {

std::vector<TimelineTrack> queue_tracks(const store::Trace& trace, const Window& window) {
  const store::Ops& ops = trace.ops;
  std::vector<uint32_t> order;
  order.reserve(ops.size());
  for (uint32_t op = 0; op < ops.size(); ++op)
    if (window.holds(ops.start[op])) order.push_back(op);
  const auto earlier = [&](uint32_t a, uint32_t b) { return ops.start[a] < ops.start[b]; };
  if (!std::is_sorted(order.begin(), order.end(), earlier))
    std::stable_sort(order.begin(), order.end(), earlier);

  struct QueueRows {
    Lanes lanes;
    std::vector<std::vector<uint32_t>> rows;
  };
  std::map<std::pair<int32_t, int32_t>, QueueRows> queues;  // by GPU and queue
  for (const uint32_t op : order) {
    QueueRows& queue = queues[{ops.gpu[op], ops.queue[op]}];
    const size_t lane = queue.lanes.place(ops.start[op], ops.end[op]);
    if (lane == queue.rows.size()) queue.rows.emplace_back();
    queue.rows[lane].push_back(op);
  }
  std::vector<TimelineTrack> tracks;
  for (auto& [id, queue] : queues)
    tracks.push_back(
        {.name = "GPU " + std::to_string(id.first) + " queue " + std::to_string(id.second),
         .is_queue = true,
         .rows = std::move(queue.rows)});
  return tracks;
}

std::vector<TimelineTrack> thread_tracks(const store::Trace& trace, const CallTree& tree,
                                         const Window& window) {
  const std::vector<uint32_t> depths = call_depths(tree);
  std::vector<std::vector<std::vector<uint32_t>>> threads(trace.threads.size());
  for (const uint32_t row : tree.order) {
    if (!window.holds(trace.apis.start[row])) continue;
    std::vector<std::vector<uint32_t>>& rows = threads[trace.apis.thread[row]];
    if (rows.size() <= depths[row]) rows.resize(depths[row] + 1);
    rows[depths[row]].push_back(row);
  }
  std::vector<TimelineTrack> tracks;
  for (size_t t = 0; t < threads.size(); ++t) {
    if (threads[t].empty()) continue;
    const store::Thread& thread = trace.threads[t];
    tracks.push_back({.name = "thread " + std::to_string(thread.tid) +
                              (thread.tid == thread.pid ? " (main)" : ""),
                      .is_queue = false,
                      .rows = std::move(threads[t])});
  }
  return tracks;
}

}  // namespace

std::vector<TimelineTrack> build_timeline(const store::Trace& trace, const CallTree& tree,
                                          const Window& window) {
  std::vector<TimelineTrack> tracks = queue_tracks(trace, window);
  for (TimelineTrack& track : thread_tracks(trace, tree, window))
    tracks.push_back(std::move(track));
  return tracks;
}

}  // namespace wavetap::analysis
