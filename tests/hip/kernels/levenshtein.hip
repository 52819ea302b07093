// Edit distances: a batch of short pairs one lane each with rows in scratch, and one long pair by
// anti-diagonals across a whole block.
#include <algorithm>

#include "check.h"

constexpr int kMax = 40;

__global__ void distance_per_lane(const char* a, const char* b, const int* lengths, int* out,
                                  int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const char* x = a + i * kMax;
  const char* y = b + i * kMax;
  const int length_x = lengths[2 * i], length_y = lengths[2 * i + 1];
  int row[kMax + 1];
  for (int k = 0; k <= length_y; ++k) row[k] = k;
  for (int r = 1; r <= length_x; ++r) {
    int diagonal = row[0];
    row[0] = r;
    for (int c = 1; c <= length_y; ++c) {
      const int above = row[c];
      row[c] = min(min(above, row[c - 1]) + 1, diagonal + (x[r - 1] != y[c - 1]));
      diagonal = above;
    }
  }
  out[i] = row[length_y];
}

__global__ void distance_by_diagonals(const char* x, const char* y, int n, int* out) {
  extern __shared__ int lines[];  // three anti-diagonals of n + 1 cells, indexed by row
  for (int d = 0; d <= 2 * n; ++d) {
    int* now = lines + d % 3 * (n + 1);
    const int* before = lines + (d + 2) % 3 * (n + 1);
    const int* earlier = lines + (d + 1) % 3 * (n + 1);
    for (int r = threadIdx.x; r <= n; r += blockDim.x) {
      const int c = d - r;
      if (c < 0 || c > n) continue;
      if (r == 0 || c == 0) {
        now[r] = r + c;
      } else {
        now[r] = min(min(before[r - 1], before[r]) + 1, earlier[r - 1] + (x[r - 1] != y[c - 1]));
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = lines[2 * n % 3 * (n + 1) + n];
}

int host_distance(const std::string& x, const std::string& y) {
  std::vector<int> row(y.size() + 1);
  for (size_t k = 0; k <= y.size(); ++k) row[k] = static_cast<int>(k);
  for (size_t r = 1; r <= x.size(); ++r) {
    int diagonal = row[0];
    row[0] = static_cast<int>(r);
    for (size_t c = 1; c <= y.size(); ++c) {
      const int above = row[c];
      row[c] = std::min(std::min(above, row[c - 1]) + 1, diagonal + (x[r - 1] != y[c - 1]));
      diagonal = above;
    }
  }
  return row[y.size()];
}

int main() {
  const int count = 130;
  check::Rng rng(4);
  const auto random_text = [&](uint32_t length) {
    std::string text(length, ' ');
    for (char& c : text) c = static_cast<char>('a' + rng.below(4));
    return text;
  };
  std::vector<char> a(count * kMax), b(count * kMax);
  std::vector<int> lengths(2 * count), want(count);
  for (int i = 0; i < count; ++i) {
    const std::string x = random_text(rng.below(kMax + 1)), y = random_text(rng.below(kMax + 1));
    std::copy(x.begin(), x.end(), a.begin() + i * kMax);
    std::copy(y.begin(), y.end(), b.begin() + i * kMax);
    lengths[2 * i] = static_cast<int>(x.size()), lengths[2 * i + 1] = static_cast<int>(y.size());
    want[i] = host_distance(x, y);
  }
  check::Buffer<char> device_a(a), device_b(b);
  check::Buffer<int> device_lengths(lengths), out(count);
  distance_per_lane<<<check::blocks_for(count, 64), 64>>>(device_a, device_b, device_lengths, out,
                                                          count);
  check::sync();
  check::equal("130 short pairs", out.read(), want);

  const int n = 300;
  const std::string x = random_text(n), y = random_text(n);
  check::Buffer<char> device_x(std::vector<char>(x.begin(), x.end())),
      device_y(std::vector<char>(y.begin(), y.end()));
  distance_by_diagonals<<<1, 128, 3 * (n + 1) * sizeof(int)>>>(device_x, device_y, n, out);
  check::sync();
  check::equal("one pair of 300 by diagonals", out.read()[0], host_distance(x, y));
  return check::finish();
}
