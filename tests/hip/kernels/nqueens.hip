// N-queens by backtracking: each lane owns one placement of the first rows and searches the rest
// with an explicit stack, so lanes of a wave finish at very different times.
#include "check.h"

__global__ void count_solutions(int n, unsigned long long* total) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  const int prefix[3] = {id / (n * n), id / n % n, id % n};
  const unsigned all = (1u << n) - 1;
  unsigned columns = 0, left = 0, right = 0;
  if (id >= n * n * n) return;
  for (int row = 0; row < 3; ++row) {
    const unsigned bit = 1u << prefix[row];
    if ((columns | left | right) & bit) return;
    columns |= bit;
    left = (left | bit) << 1;
    right = (right | bit) >> 1;
  }
  struct Frame {
    unsigned columns, left, right, free;
  } stack[16];
  int depth = 0;
  unsigned long long found = 0;
  stack[0] = {columns, left, right, all & ~(columns | left | right)};
  while (depth >= 0) {
    Frame& frame = stack[depth];
    if (frame.free == 0) {
      --depth;
      continue;
    }
    const unsigned bit = frame.free & (0u - frame.free);
    frame.free ^= bit;
    const unsigned next = frame.columns | bit;
    if (next == all) {
      ++found;
      continue;
    }
    const unsigned next_left = (frame.left | bit) << 1, next_right = (frame.right | bit) >> 1;
    stack[++depth] = {next, next_left, next_right, all & ~(next | next_left | next_right)};
  }
  if (found != 0) atomicAdd(total, found);
}

int main() {
  // OEIS A000170.
  const unsigned long long known[] = {0, 0, 0, 0, 2, 10, 4, 40, 92, 352};
  for (int n = 4; n <= 9; ++n) {
    check::Buffer<unsigned long long> total(1);
    total.fill_bytes(0);
    count_solutions<<<check::blocks_for(n * n * n, 64), 64>>>(n, total);
    check::sync();
    check::equal((std::to_string(n) + " queens").c_str(), total.read()[0], known[n]);
  }
  return check::finish();
}
