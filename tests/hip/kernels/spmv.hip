// Sparse matrix times vector in CSR form: one lane per row, and one wave per row with shuffles.
#include "check.h"

__global__ void spmv_lane_per_row(const int* starts, const int* columns, const float* values,
                                  const float* x, float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}

__global__ void spmv_wave_per_row(const int* starts, const int* columns, const float* values,
                                  const float* x, float* y, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  const int lane = threadIdx.x % warpSize;
  if (row >= rows) return;
  float sum = 0;
  for (int i = starts[row] + lane; i < starts[row + 1]; i += warpSize)
    sum += values[i] * x[columns[i]];
  for (int delta = warpSize / 2; delta > 0; delta /= 2) sum += __shfl_down(sum, delta);
  if (lane == 0) y[row] = sum;
}

int main() {
  const int rows = 501, column_count = 333;
  check::Rng rng(12);
  std::vector<int> starts = {0}, columns;
  std::vector<float> values, x(column_count);
  std::vector<double> want(rows);
  for (float& v : x) v = rng.uniform(-2, 2);
  for (int row = 0; row < rows; ++row) {
    // Row lengths vary from none to several waves' worth.
    const int length = row % 97 == 0 ? 300 : static_cast<int>(rng.below(12));
    for (int i = 0; i < length; ++i) {
      columns.push_back(static_cast<int>(rng.below(column_count)));
      values.push_back(rng.uniform(-1, 1));
      want[row] += double{values.back()} * x[columns.back()];
    }
    starts.push_back(static_cast<int>(columns.size()));
  }
  check::Buffer<int> device_starts(starts), device_columns(columns);
  check::Buffer<float> device_values(values), device_x(x), y(rows);
  spmv_lane_per_row<<<check::blocks_for(rows, 128), 128>>>(device_starts, device_columns,
                                                           device_values, device_x, y, rows);
  check::sync();
  check::near("lane per row", y.read(), want, 1e-5, 1e-4);
  y.fill_bytes(0xff);
  const int rows_per_block = 256 / check::wave_size();
  spmv_wave_per_row<<<check::blocks_for(rows, rows_per_block), 256>>>(
      device_starts, device_columns, device_values, device_x, y, rows);
  check::sync();
  check::near("wave per row", y.read(), want, 1e-5, 1e-4);
  return check::finish();
}
