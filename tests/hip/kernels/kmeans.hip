// Lloyd's k-means: assignment by lane, centroid sums by integer LDS and global atomics, so that the
// result does not depend on the order of additions and must equal the host's.
#include "check.h"

constexpr int kClusters = 7;

__global__ void assign(const int2* points, const int2* centroids, int* owner,
                       unsigned long long* sums, int count) {
  __shared__ unsigned long long local[kClusters * 3];
  if (threadIdx.x < kClusters * 3) local[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    const int2 p = points[i];
    int best = 0;
    long long best_square = -1;
    for (int c = 0; c < kClusters; ++c) {
      const long long dx = p.x - centroids[c].x, dy = p.y - centroids[c].y;
      const long long square = dx * dx + dy * dy;
      if (best_square < 0 || square < best_square) {
        best = c;
        best_square = square;
      }
    }
    owner[i] = best;
    atomicAdd(&local[best * 3], static_cast<unsigned long long>(p.x));
    atomicAdd(&local[best * 3 + 1], static_cast<unsigned long long>(p.y));
    atomicAdd(&local[best * 3 + 2], 1ull);
  }
  __syncthreads();
  if (threadIdx.x < kClusters * 3) atomicAdd(&sums[threadIdx.x], local[threadIdx.x]);
}

__global__ void move_centroids(int2* centroids, const unsigned long long* sums) {
  const int c = threadIdx.x;
  const unsigned long long members = sums[c * 3 + 2];
  if (members != 0)
    centroids[c] = make_int2(static_cast<int>(sums[c * 3] / members),
                             static_cast<int>(sums[c * 3 + 1] / members));
}

int main() {
  const int count = 3000, steps = 5;
  check::Rng rng(33);
  std::vector<int2> points(count), centroids(kClusters);
  for (int2& p : points)
    p = make_int2(static_cast<int>(rng.below(100000)), static_cast<int>(rng.below(100000)));
  for (int c = 0; c < kClusters; ++c) centroids[c] = points[c];
  std::vector<int> owner(count);
  check::Buffer<int2> device_points(points), device_centroids(centroids);
  check::Buffer<int> device_owner(count);
  check::Buffer<unsigned long long> sums(kClusters * 3);
  for (int s = 0; s < steps; ++s) {
    sums.fill_bytes(0);
    assign<<<check::blocks_for(count, 128), 128>>>(device_points, device_centroids, device_owner,
                                                   sums, count);
    move_centroids<<<1, kClusters>>>(device_centroids, sums);
    std::vector<unsigned long long> host_sums(kClusters * 3);
    for (int i = 0; i < count; ++i) {
      long long best_square = -1;
      for (int c = 0; c < kClusters; ++c) {
        const long long dx = points[i].x - centroids[c].x, dy = points[i].y - centroids[c].y;
        if (best_square < 0 || dx * dx + dy * dy < best_square) {
          best_square = dx * dx + dy * dy;
          owner[i] = c;
        }
      }
      host_sums[owner[i] * 3] += points[i].x;
      host_sums[owner[i] * 3 + 1] += points[i].y;
      ++host_sums[owner[i] * 3 + 2];
    }
    for (int c = 0; c < kClusters; ++c) {
      if (host_sums[c * 3 + 2] == 0) continue;
      centroids[c] = make_int2(static_cast<int>(host_sums[c * 3] / host_sums[c * 3 + 2]),
                               static_cast<int>(host_sums[c * 3 + 1] / host_sums[c * 3 + 2]));
    }
  }
  check::sync();
  check::equal("owner of every point", device_owner.read(), owner);
  check::equal("centroids", device_centroids.read(), centroids);
  return check::finish();
}
