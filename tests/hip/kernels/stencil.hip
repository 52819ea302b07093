// Iterated 2-D five-point and single 3-D seven-point stencils with LDS halos and fixed borders.
#include "check.h"

constexpr int kTile = 16;

__global__ void stencil_2d(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile + 2][kTile + 2];
  const int x = blockIdx.x * kTile + threadIdx.x;
  const int y = blockIdx.y * kTile + threadIdx.y;
  const int tx = threadIdx.x + 1;
  const int ty = threadIdx.y + 1;
  auto at = [&](int px, int py) {
    return px >= 0 && px < width && py >= 0 && py < height ? in[py * width + px] : 0.0f;
  };
  tile[ty][tx] = at(x, y);
  if (threadIdx.x == 0) tile[ty][0] = at(x - 1, y);
  if (threadIdx.x == kTile - 1) tile[ty][kTile + 1] = at(x + 1, y);
  if (threadIdx.y == 0) tile[0][tx] = at(x, y - 1);
  if (threadIdx.y == kTile - 1) tile[kTile + 1][tx] = at(x, y + 1);
  __syncthreads();
  if (x >= width || y >= height) return;
  const bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
  out[y * width + x] =
      border
          ? tile[ty][tx]
          : 0.25f * ((tile[ty][tx - 1] + tile[ty][tx + 1]) + (tile[ty - 1][tx] + tile[ty + 1][tx]));
}

__global__ void stencil_3d(const double* in, double* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  const int i = (z * ny + y) * nx + x;
  if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
    out[i] = in[i];
    return;
  }
  out[i] =
      ((in[i - 1] + in[i + 1]) + (in[i - nx] + in[i + nx])) + (in[i - nx * ny] + in[i + nx * ny]);
}

void run_2d() {
  const int width = 77, height = 50, steps = 6;
  check::Rng rng(2);
  std::vector<float> grid(width * height);
  for (float& v : grid) v = rng.uniform(0, 100);
  check::Buffer<float> a(grid), b(grid.size());
  float *from = a, *to = b;
  for (int step = 0; step < steps; ++step) {
    stencil_2d<<<dim3(check::blocks_for(width, kTile), check::blocks_for(height, kTile)),
                 dim3(kTile, kTile)>>>(from, to, width, height);
    std::swap(from, to);
    std::vector<float> next = grid;
    for (int y = 1; y < height - 1; ++y) {
      for (int x = 1; x < width - 1; ++x) {
        const int i = y * width + x;
        next[i] = 0.25f * ((grid[i - 1] + grid[i + 1]) + (grid[i - width] + grid[i + width]));
      }
    }
    grid = next;
  }
  check::sync();
  check::equal("2-D five-point, 6 steps", a.read(), grid);
}

void run_3d() {
  const int nx = 19, ny = 21, nz = 13;
  check::Rng rng(3);
  std::vector<double> grid(nx * ny * nz);
  for (double& v : grid) v = rng.uniform64(-1, 1);
  std::vector<double> want = grid;
  for (int z = 1; z < nz - 1; ++z) {
    for (int y = 1; y < ny - 1; ++y) {
      for (int x = 1; x < nx - 1; ++x) {
        const int i = (z * ny + y) * nx + x;
        want[i] = ((grid[i - 1] + grid[i + 1]) + (grid[i - nx] + grid[i + nx])) +
                  (grid[i - nx * ny] + grid[i + nx * ny]);
      }
    }
  }
  check::Buffer<double> in(grid), out(grid.size());
  const dim3 block(8, 4, 4);
  stencil_3d<<<dim3(check::blocks_for(nx, 8), check::blocks_for(ny, 4), check::blocks_for(nz, 4)),
               block>>>(in, out, nx, ny, nz);
  check::sync();
  check::equal("3-D seven-point", out.read(), want);
}

int main() {
  run_2d();
  run_3d();
  return check::finish();
}
