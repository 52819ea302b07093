// Local sequence alignment with affine gaps; each block aligns one query, a wavefront of lanes
// sweeps the database in diagonals held in LDS.
#include <algorithm>

#include "check.h"

constexpr int kQuery = 48;
constexpr int kOpen = 5, kExtend = 1, kMatch = 3, kMismatch = -2;

__global__ void align(const char* queries, const char* database, int length, int* out) {
  __shared__ int score[3][kQuery + 1];
  __shared__ int gap_down[2][kQuery + 1];
  __shared__ int best;
  const char* query = queries + blockIdx.x * kQuery;
  const int row = threadIdx.x + 1;
  if (threadIdx.x == 0) {
    best = 0;
    for (int k = 0; k < 3; ++k) score[k][0] = 0;
    gap_down[0][0] = gap_down[1][0] = -1000;
  }
  for (int k = 0; k < 3; ++k) score[k][row] = 0;
  gap_down[0][row] = gap_down[1][row] = -1000;
  __syncthreads();
  int gap_right = -1000, own_best = 0;
  for (int d = 0; d < kQuery + length - 1; ++d) {
    const int column = d - static_cast<int>(threadIdx.x);
    const bool inside = column >= 0 && column < length;
    int value = 0, down = -1000;
    if (inside) {
      // Diagonal d-1 holds the left cell (own row) and the upper cell (previous row).
      gap_right = max(gap_right - kExtend, score[(d + 2) % 3][row] - kOpen);
      down = max(gap_down[(d + 1) % 2][row - 1] - kExtend,
                 (column < 0 ? 0 : score[(d + 2) % 3][row - 1]) - kOpen);
      const int diagonal = score[(d + 1) % 3][row - 1] +
                           (query[threadIdx.x] == database[column] ? kMatch : kMismatch);
      value = max(max(0, diagonal), max(gap_right, down));
      own_best = max(own_best, value);
    }
    score[d % 3][row] = value;
    gap_down[d % 2][row] = down;
    __syncthreads();
  }
  atomicMax(&best, own_best);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = best;
}

int host_align(const char* query, const std::string& database) {
  const int n = static_cast<int>(database.size());
  std::vector<std::vector<int>> h(kQuery + 1, std::vector<int>(n + 1)), down = h, right = h;
  int best = 0;
  for (auto* m : {&down, &right}) {
    for (auto& line : *m) std::fill(line.begin(), line.end(), -1000);
  }
  for (int r = 1; r <= kQuery; ++r) {
    for (int c = 1; c <= n; ++c) {
      right[r][c] = std::max(right[r][c - 1] - kExtend, h[r][c - 1] - kOpen);
      down[r][c] = std::max(down[r - 1][c] - kExtend, h[r - 1][c] - kOpen);
      const int diagonal = h[r - 1][c - 1] + (query[r - 1] == database[c - 1] ? kMatch : kMismatch);
      h[r][c] = std::max({0, diagonal, right[r][c], down[r][c]});
      best = std::max(best, h[r][c]);
    }
  }
  return best;
}

int main() {
  const int queries = 12, length = 200;
  check::Rng rng(44);
  std::string database;
  for (int i = 0; i < length; ++i) database += "ACGT"[rng.below(4)];
  std::vector<char> query(queries * kQuery);
  for (int q = 0; q < queries; ++q) {
    // A damaged piece of the database, so that real alignments with gaps exist.
    int from = static_cast<int>(rng.below(length - 2 * kQuery));
    for (int i = 0; i < kQuery; ++i) {
      if (rng.below(15) == 0) from += static_cast<int>(rng.below(4));
      query[q * kQuery + i] =
          rng.below(10) == 0 ? "ACGT"[rng.below(4)] : database[(from + i) % length];
    }
  }
  std::vector<int> want(queries);
  for (int q = 0; q < queries; ++q) want[q] = host_align(&query[q * kQuery], database);
  check::Buffer<char> device_query(query),
      device_database(std::vector<char>(database.begin(), database.end()));
  check::Buffer<int> out(queries);
  align<<<queries, kQuery>>>(device_query, device_database, length, out);
  check::sync();
  check::equal("scores of 12 queries", out.read(), want);
  return check::finish();
}
