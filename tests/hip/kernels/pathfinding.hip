// Cheapest path down a grid (dynamic programming over rows with LDS halos), and Bellman-Ford on a
// maze until nothing changes.
#include <algorithm>
#include <queue>

#include "check.h"

constexpr int kRows = 8;  // rows advanced per launch
constexpr int kWidth = 128;

__global__ void advance_rows(const int* cost, const int* from, int* to, int width, int rows,
                             int first_row) {
  __shared__ int line[2][kWidth];
  const int inner = kWidth - 2 * kRows;
  const int x = static_cast<int>(blockIdx.x) * inner + static_cast<int>(threadIdx.x) - kRows;
  const bool valid = x >= 0 && x < width;
  line[0][threadIdx.x] = valid ? from[x] : 1 << 28;
  __syncthreads();
  int current = 0;
  for (int r = 0; r < kRows && first_row + r < rows; ++r) {
    const int t = threadIdx.x;
    int best = line[current][t];
    if (t > 0) best = min(best, line[current][t - 1]);
    if (t < kWidth - 1) best = min(best, line[current][t + 1]);
    line[1 - current][t] = valid ? best + cost[(first_row + r) * width + x] : 1 << 28;
    current = 1 - current;
    __syncthreads();
  }
  if (valid && threadIdx.x >= kRows && threadIdx.x < kWidth - kRows)
    to[x] = line[current][threadIdx.x];
}

__global__ void relax_cells(const uint8_t* wall, const int* distance, int* next, int width,
                            int height, int* changed) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int own = distance[y * width + x];
  next[y * width + x] = own;
  if (wall[y * width + x]) return;
  int best = own;
  if (x > 0) best = min(best, distance[y * width + x - 1] + 1);
  if (x + 1 < width) best = min(best, distance[y * width + x + 1] + 1);
  if (y > 0) best = min(best, distance[(y - 1) * width + x] + 1);
  if (y + 1 < height) best = min(best, distance[(y + 1) * width + x] + 1);
  if (best < own) {
    next[y * width + x] = best;
    *changed = 1;
  }
}

void run_rows() {
  const int width = 500, rows = 37;
  check::Rng rng(8);
  std::vector<int> cost(width * rows), line(width);
  for (int& v : cost) v = static_cast<int>(rng.below(10));
  check::Buffer<int> device_cost(cost), a(line), b(width);
  int *from = a, *to = b;
  for (int row = 0; row < rows; row += kRows) {
    advance_rows<<<check::blocks_for(width, kWidth - 2 * kRows), kWidth>>>(device_cost, from, to,
                                                                           width, rows, row);
    std::swap(from, to);
  }
  check::sync();
  for (int r = 0; r < rows; ++r) {
    std::vector<int> next(width);
    for (int x = 0; x < width; ++x) {
      int best = line[x];
      if (x > 0) best = std::min(best, line[x - 1]);
      if (x + 1 < width) best = std::min(best, line[x + 1]);
      next[x] = best + cost[r * width + x];
    }
    line = next;
  }
  check::equal("cheapest cost to every exit", from == a.get() ? a.read() : b.read(), line);
}

void run_maze() {
  const int width = 45, height = 33;
  check::Rng rng(12);
  std::vector<uint8_t> wall(width * height);
  for (uint8_t& w : wall) w = rng.below(10) < 3;
  wall[0] = 0;
  std::vector<int> distance(width * height, 1 << 28);
  distance[0] = 0;
  check::Buffer<uint8_t> device_wall(wall);
  check::Buffer<int> device_distance(distance), other(distance.size()), changed(1);
  int *from = device_distance, *to = other;
  for (int pass = 0;; ++pass) {
    changed.fill_bytes(0);
    relax_cells<<<dim3(check::blocks_for(width, 16), check::blocks_for(height, 16)),
                  dim3(16, 16)>>>(device_wall, from, to, width, height, changed);
    std::swap(from, to);
    if (changed.read()[0] == 0 || pass > width * height) break;
  }
  check::sync();
  std::queue<int> queue;
  queue.push(0);
  while (!queue.empty()) {
    const int i = queue.front(), x = i % width, y = i / width;
    queue.pop();
    const int neighbours[4][2] = {{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}};
    for (const auto& n : neighbours) {
      if (n[0] < 0 || n[0] >= width || n[1] < 0 || n[1] >= height) continue;
      const int j = n[1] * width + n[0];
      if (wall[j] || distance[j] <= distance[i] + 1) continue;
      distance[j] = distance[i] + 1;
      queue.push(j);
    }
  }
  check::equal("distances in a maze",
               from == device_distance ? device_distance.read() : other.read(), distance);
}

int main() {
  run_rows();
  run_maze();
  return check::finish();
}
