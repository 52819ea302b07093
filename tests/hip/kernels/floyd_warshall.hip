// All-pairs shortest paths, one launch per intermediate vertex, with path reconstruction.
#include "check.h"

constexpr int kFar = 1 << 28;

__global__ void relax(int* distance, int* via, int n, int k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = blockIdx.y;
  if (j >= n) return;
  const int through = distance[i * n + k] + distance[k * n + j];
  if (through < distance[i * n + j]) {
    distance[i * n + j] = through;
    via[i * n + j] = k;
  }
}

int main() {
  const int n = 70;
  check::Rng rng(70);
  std::vector<int> distance(n * n, kFar), via(n * n, -1);
  for (int i = 0; i < n; ++i) {
    distance[i * n + i] = 0;
    for (int e = 0; e < 3; ++e)
      distance[i * n + static_cast<int>(rng.below(n))] = 1 + static_cast<int>(rng.below(100));
    distance[i * n + i] = 0;
  }
  check::Buffer<int> device_distance(distance), device_via(via);
  for (int k = 0; k < n; ++k) {
    relax<<<dim3(check::blocks_for(n, 64), n), 64>>>(device_distance, device_via, n, k);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        const int through = distance[i * n + k] + distance[k * n + j];
        if (through < distance[i * n + j]) {
          distance[i * n + j] = through;
          via[i * n + j] = k;
        }
      }
    }
  }
  check::sync();
  check::equal("distances", device_distance.read(), distance);
  check::equal("intermediate vertices", device_via.read(), via);
  return check::finish();
}
