// Explicit 1-D heat equation in f64, many time steps inside one launch per block-sized segment with
// halo exchange between launches; and Gray-Scott reaction-diffusion in f32 over a 2-D torus.
#include "check.h"

constexpr int kHalo = 8;
constexpr int kInner = 112;

// Each block advances kInner cells by kHalo steps from a window with kHalo cells on either side.
__global__ void heat_steps(const double* in, double* out, int count, double alpha) {
#pragma clang fp contract(off)
  __shared__ double window[2][kInner + 2 * kHalo];
  const int first = static_cast<int>(blockIdx.x) * kInner - kHalo;
  const int width = kInner + 2 * kHalo;
  const int cell = first + static_cast<int>(threadIdx.x);
  window[0][threadIdx.x] = window[1][threadIdx.x] = cell >= 0 && cell < count ? in[cell] : 0.0;
  __syncthreads();
  int from = 0;
  for (int s = 0; s < kHalo; ++s) {
    const int t = threadIdx.x;
    if (t > s && t < width - 1 - s && cell > 0 && cell < count - 1) {
      window[1 - from][t] =
          window[from][t] +
          alpha * ((window[from][t - 1] - 2.0 * window[from][t]) + window[from][t + 1]);
    } else {
      window[1 - from][t] = window[from][t];
    }
    from = 1 - from;
    __syncthreads();
  }
  if (threadIdx.x >= kHalo && threadIdx.x < kHalo + kInner && cell < count)
    out[cell] = window[from][threadIdx.x];
}

__global__ void gray_scott(const float2* in, float2* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  auto at = [&](int dx, int dy) {
    return in[(y + dy + height) % height * width + (x + dx + width) % width];
  };
  const float2 own = at(0, 0), left = at(-1, 0), right = at(1, 0), up = at(0, -1), down = at(0, 1);
  const float uvv = own.x * own.y * own.y;
  out[y * width + x] = make_float2(
      own.x + 0.16f * (left.x + right.x + up.x + down.x - 4 * own.x) - uvv + 0.035f * (1 - own.x),
      own.y + 0.08f * (left.y + right.y + up.y + down.y - 4 * own.y) + uvv - 0.1f * own.y);
}

void run_heat() {
#pragma clang fp contract(off)
  const int count = 500, rounds = 5;
  std::vector<double> rod(count);
  check::Rng rng(2);
  for (double& v : rod) v = rng.uniform64(0, 100);
  check::Buffer<double> a(rod), b(count);
  double *from = a, *to = b;
  for (int r = 0; r < rounds; ++r) {
    heat_steps<<<check::blocks_for(count, kInner), kInner + 2 * kHalo>>>(from, to, count, 0.23);
    std::swap(from, to);
  }
  check::sync();
  for (int s = 0; s < rounds * kHalo; ++s) {
    const std::vector<double> old = rod;
    for (int i = 1; i < count - 1; ++i)
      rod[i] = old[i] + 0.23 * ((old[i - 1] - 2.0 * old[i]) + old[i + 1]);
  }
  check::equal("heat, 40 steps", from == a.get() ? a.read() : b.read(), rod);
}

void run_gray_scott() {
  const int width = 50, height = 37, steps = 10;
  std::vector<float2> grid(width * height, make_float2(1, 0));
  for (int y = 10; y < 20; ++y) {
    for (int x = 20; x < 30; ++x) grid[y * width + x] = make_float2(0.5f, 0.25f);
  }
  check::Buffer<float2> a(grid), b(grid.size());
  for (int s = 0; s < steps; s += 2) {
    gray_scott<<<dim3(check::blocks_for(width, 16), check::blocks_for(height, 16)), dim3(16, 16)>>>(
        a, b, width, height);
    gray_scott<<<dim3(check::blocks_for(width, 16), check::blocks_for(height, 16)), dim3(16, 16)>>>(
        b, a, width, height);
  }
  check::sync();
  std::vector<double> u(width * height), v(width * height);
  for (size_t i = 0; i < grid.size(); ++i) u[i] = grid[i].x, v[i] = grid[i].y;
  for (int s = 0; s < steps; ++s) {
    const std::vector<double> old_u = u, old_v = v;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const int i = y * width + x, l = y * width + (x + width - 1) % width,
                  r = y * width + (x + 1) % width;
        const int t = (y + height - 1) % height * width + x, d = (y + 1) % height * width + x;
        const double uvv = old_u[i] * old_v[i] * old_v[i];
        u[i] = old_u[i] + 0.16 * (old_u[l] + old_u[r] + old_u[t] + old_u[d] - 4 * old_u[i]) - uvv +
               0.035 * (1 - old_u[i]);
        v[i] = old_v[i] + 0.08 * (old_v[l] + old_v[r] + old_v[t] + old_v[d] - 4 * old_v[i]) + uvv -
               0.1 * old_v[i];
      }
    }
  }
  std::vector<float> got;
  std::vector<double> want;
  for (const float2& cell : a.read()) got.insert(got.end(), {cell.x, cell.y});
  for (size_t i = 0; i < u.size(); ++i) want.insert(want.end(), {u[i], v[i]});
  check::near("reaction-diffusion, 10 steps", got, want, 1e-4, 1e-5);
}

int main() {
  run_heat();
  run_gray_scott();
  return check::finish();
}
