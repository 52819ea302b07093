// Matrix transposition through a padded LDS tile, for three element widths and ragged shapes.
#include "check.h"

template <class T>
__global__ void transpose(const T* in, T* out, int rows, int columns) {
  __shared__ T tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x;
  int row = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (column < columns && row + i < rows)
      tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * columns + column];
  }
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x;
  row = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (column < rows && row + i < columns)
      out[(row + i) * rows + column] = tile[threadIdx.x][threadIdx.y + i];
  }
}

template <class T>
void run(const char* type_name, int rows, int columns) {
  check::Rng rng(rows);
  std::vector<T> in(rows * columns), want(rows * columns);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c)
      want[c * rows + r] = in[r * columns + c] = static_cast<T>(rng.below(255));
  }
  check::Buffer<T> device_in(in), out(in.size());
  transpose<<<dim3(check::blocks_for(columns, 32), check::blocks_for(rows, 32)), dim3(32, 8)>>>(
      device_in.get(), out.get(), rows, columns);
  check::sync();
  char what[64];
  std::snprintf(what, sizeof what, "%s %dx%d", type_name, rows, columns);
  check::equal(what, out.read(), want);
}

int main() {
  run<float>("float", 128, 96);
  run<float>("float", 61, 130);
  run<double>("double", 75, 33);
  run<uint8_t>("uint8", 100, 67);
  run<uint16_t>("uint16", 1, 300);
  return check::finish();
}
