// Conway's Game of Life on a torus, one byte per cell and 32 cells per word with bit tricks.
#include "check.h"

__global__ void step_bytes(const uint8_t* in, uint8_t* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int neighbours = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx != 0 || dy != 0)
        neighbours += in[(y + dy + height) % height * width + (x + dx + width) % width];
    }
  }
  out[y * width + x] = neighbours == 3 || (neighbours == 2 && in[y * width + x] != 0);
}

// Adds three one-bit planes: sum and carry.
__device__ void full_add(uint32_t a, uint32_t b, uint32_t c, uint32_t* sum, uint32_t* carry) {
  *sum = a ^ b ^ c;
  *carry = (a & b) | (c & (a ^ b));
}

// The row left and right neighbours come from the adjoining words through funnel shifts.
__global__ void step_bits(const uint32_t* in, uint32_t* out, int words, int height) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (w >= words) return;
  uint32_t sum[3], carry[3], middle = 0;
  for (int i = 0; i < 3; ++i) {
    const uint32_t* row = in + (y + i - 1 + height) % height * words;
    const uint32_t own = row[w];
    const uint32_t left = __funnelshift_l(row[(w + words - 1) % words], own, 1);
    const uint32_t right = __funnelshift_r(own, row[(w + 1) % words], 1);
    if (i == 1) {
      middle = own;
      sum[i] = left ^ right;
      carry[i] = left & right;
    } else {
      full_add(left, own, right, &sum[i], &carry[i]);
    }
  }
  uint32_t ones, ones_carry, twos, fours;
  full_add(sum[0], sum[1], sum[2], &ones, &ones_carry);
  full_add(carry[0], carry[1], carry[2], &twos, &fours);
  const uint32_t more_fours = twos & ones_carry;
  twos ^= ones_carry;
  // Two or three neighbours: the twos bit alone, with one deciding between survival and birth.
  out[y * words + w] = twos & ~(fours | more_fours) & (ones | middle);
}

int main() {
  const int width = 96, height = 61, steps = 8, words = width / 32;
  check::Rng rng(1);
  std::vector<uint8_t> cells(width * height);
  std::vector<uint32_t> bits(words * height);
  for (int i = 0; i < width * height; ++i) {
    cells[i] = rng.below(3) == 0;
    bits[i / 32] |= uint32_t{cells[i]} << (i % 32);
  }
  check::Buffer<uint8_t> byte_a(cells), byte_b(cells.size());
  check::Buffer<uint32_t> bit_a(bits), bit_b(bits.size());
  for (int s = 0; s < steps; s += 2) {
    const dim3 grid(check::blocks_for(width, 32), check::blocks_for(height, 4)), block(32, 4);
    step_bytes<<<grid, block>>>(byte_a, byte_b, width, height);
    step_bytes<<<grid, block>>>(byte_b, byte_a, width, height);
    step_bits<<<dim3(1, height), 64>>>(bit_a, bit_b, words, height);
    step_bits<<<dim3(1, height), 64>>>(bit_b, bit_a, words, height);
  }
  check::sync();
  for (int s = 0; s < steps; ++s) {
    std::vector<uint8_t> next(cells.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        int n = 0;
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) {
            n += (dx || dy) && cells[(y + dy + height) % height * width + (x + dx + width) % width];
          }
        }
        next[y * width + x] = n == 3 || (n == 2 && cells[y * width + x]);
      }
    }
    cells = next;
  }
  std::vector<uint32_t> want_bits(words * height);
  for (int i = 0; i < width * height; ++i) want_bits[i / 32] |= uint32_t{cells[i]} << (i % 32);
  check::equal("bytes, 8 generations", byte_a.read(), cells);
  check::equal("bits, 8 generations", bit_a.read(), want_bits);
  return check::finish();
}
