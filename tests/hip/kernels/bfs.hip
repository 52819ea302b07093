// Breadth-first search by frontier queues: atomicCAS claims a vertex, atomicAdd reserves its slot.
#include <deque>

#include "check.h"

__global__ void expand(const int* starts, const int* targets, const int* frontier,
                       int frontier_size, int* next, int* next_size, int* depth, int level) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= frontier_size) return;
  const int vertex = frontier[i];
  for (int e = starts[vertex]; e < starts[vertex + 1]; ++e) {
    if (atomicCAS(&depth[targets[e]], -1, level) == -1) next[atomicAdd(next_size, 1)] = targets[e];
  }
}

int main() {
  const int vertices = 2000;
  check::Rng rng(77);
  std::vector<std::vector<int>> edges(vertices);
  for (int v = 0; v < vertices; ++v) {
    const int degree = v % 50 == 0 ? 60 : 1 + static_cast<int>(rng.below(4));
    // The last tenth is unreachable.
    for (int i = 0; i < degree; ++i)
      edges[v].push_back(static_cast<int>(rng.below(vertices * 9 / 10)));
  }
  std::vector<int> starts = {0}, targets;
  for (const std::vector<int>& list : edges) {
    targets.insert(targets.end(), list.begin(), list.end());
    starts.push_back(static_cast<int>(targets.size()));
  }
  std::vector<int> want(vertices, -1), level_sizes;
  std::deque<int> queue = {0};
  want[0] = 0;
  while (!queue.empty()) {
    const int v = queue.front();
    queue.pop_front();
    if (want[v] >= static_cast<int>(level_sizes.size())) level_sizes.push_back(0);
    ++level_sizes[want[v]];
    for (int t : edges[v]) {
      if (want[t] >= 0) continue;
      want[t] = want[v] + 1;
      queue.push_back(t);
    }
  }

  std::vector<int> depth(vertices, -1);
  depth[0] = 0;
  check::Buffer<int> device_starts(starts), device_targets(targets), device_depth(depth);
  check::Buffer<int> frontier_a(std::vector<int>(vertices, 0)), frontier_b(vertices), next_size(1);
  int *frontier = frontier_a, *next = frontier_b, size = 1, level = 0;
  std::vector<int> device_sizes;
  while (size > 0) {
    device_sizes.push_back(size);
    next_size.fill_bytes(0);
    expand<<<check::blocks_for(size, 64), 64>>>(device_starts, device_targets, frontier, size, next,
                                                next_size, device_depth, ++level);
    size = next_size.read()[0];
    std::swap(frontier, next);
  }
  check::sync();
  check::equal("depth of every vertex", device_depth.read(), want);
  check::equal("size of every frontier", device_sizes, level_sizes);
  return check::finish();
}
