// CRC-32 of a buffer: per-lane chunks with a table in constant memory, combined by GF(2) matrix
// powers.
#include "check.h"

__constant__ uint32_t g_table[256];

__host__ __device__ uint32_t apply(const uint32_t* matrix, uint32_t vector) {
  uint32_t sum = 0;
  for (int bit = 0; vector != 0; vector >>= 1, ++bit) {
    if (vector & 1) sum ^= matrix[bit];
  }
  return sum;
}

__global__ void crc_chunks(const uint8_t* data, uint32_t* out, int chunk, int chunks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= chunks) return;
  uint32_t crc = i == 0 ? 0xffffffffu : 0;
  for (int b = 0; b < chunk; ++b) crc = g_table[(crc ^ data[i * chunk + b]) & 0xff] ^ crc >> 8;
  out[i] = crc;
}

// Pairwise combination; shift[level] advances a CRC over 2^level chunks of zeros.
__global__ void combine(uint32_t* crcs, const uint32_t* shift, int chunks) {
  __shared__ uint32_t level_crc[256];
  level_crc[threadIdx.x] = static_cast<int>(threadIdx.x) < chunks ? crcs[threadIdx.x] : 0;
  __syncthreads();
  int level = 0;
  for (int stride = 1; stride < chunks; stride *= 2, ++level) {
    uint32_t mixed = 0;
    const bool own = threadIdx.x % (2 * stride) == 0;
    if (own)
      mixed = apply(shift + 32 * level, level_crc[threadIdx.x]) ^ level_crc[threadIdx.x + stride];
    __syncthreads();
    if (own) level_crc[threadIdx.x] = mixed;
    __syncthreads();
  }
  if (threadIdx.x == 0) crcs[0] = level_crc[0];
}

int main() {
  uint32_t table[256];
  for (uint32_t n = 0; n < 256; ++n) {
    uint32_t c = n;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    table[n] = c;
  }
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(g_table), table, sizeof table));
  const int chunk = 37, chunks = 256, levels = 8;
  check::Rng rng(32);
  std::vector<uint8_t> data(chunk * chunks);
  for (uint8_t& b : data) b = static_cast<uint8_t>(rng.next());
  uint32_t want = 0xffffffffu;
  for (uint8_t b : data) want = table[(want ^ b) & 0xff] ^ want >> 8;
  std::vector<uint32_t> shift(32 * levels);
  for (int bit = 0; bit < 32; ++bit) {
    uint32_t c = 1u << bit;
    for (int b = 0; b < chunk; ++b) c = table[c & 0xff] ^ c >> 8;
    shift[bit] = c;
  }
  for (int level = 1; level < levels; ++level) {
    for (int bit = 0; bit < 32; ++bit)
      shift[32 * level + bit] = apply(&shift[32 * (level - 1)], shift[32 * (level - 1) + bit]);
  }
  check::Buffer<uint8_t> device(data);
  check::Buffer<uint32_t> crcs(chunks), device_shift(shift);
  crc_chunks<<<check::blocks_for(chunks, 64), 64>>>(device, crcs, chunk, chunks);
  combine<<<1, chunks>>>(crcs, device_shift, chunks);
  check::sync();
  check::equal("combined CRC of 9472 bytes", ~crcs.read()[0], ~want);

  const std::string digits = "123456789";
  check::Buffer<uint8_t> small(std::vector<uint8_t>(digits.begin(), digits.end()));
  crc_chunks<<<1, 1>>>(small, crcs, 9, 1);
  check::sync();
  check::equal("the check value of CRC-32", ~crcs.read()[0], 0xcbf43926u);
  return check::finish();
}
