// LZ77-style compression of independent blocks, one lane per 256-byte block with a hash table in
// LDS; the output must be the host's byte for byte and decompress to the input.
#include "check.h"

constexpr int kBlock = 256;
constexpr int kHash = 64;
constexpr int kOutput = kBlock + kBlock / 8 + 8;

// Token: 0..127 = that many + 1 literals follow; 128..255 = copy (token - 128 + 3) bytes from the
// one-byte distance that follows.
template <class Table>
__host__ __device__ int compress(const uint8_t* in, uint8_t* out, Table table) {
  for (int i = 0; i < kHash; ++i) table(i) = 0xffff;
  int position = 0, literal_start = 0, size = 0;
  const auto flush = [&](int end) {
    for (int at = literal_start; at < end;) {
      const int run = end - at < 128 ? end - at : 128;
      out[size++] = static_cast<uint8_t>(run - 1);
      for (int k = 0; k < run; ++k) out[size++] = in[at + k];
      at += run;
    }
  };
  while (position + 3 <= kBlock) {
    const uint32_t key =
        (in[position] | in[position + 1] << 8 | in[position + 2] << 16) * 2654435761u >> 26;
    const int candidate = table(static_cast<int>(key));
    table(static_cast<int>(key)) = static_cast<uint16_t>(position);
    int length = 0;
    if (candidate != 0xffff && position - candidate < 256) {
      while (position + length < kBlock && length < 130 &&
             in[candidate + length] == in[position + length])
        ++length;
    }
    if (length < 3) {
      ++position;
      continue;
    }
    flush(position);
    out[size++] = static_cast<uint8_t>(128 + length - 3);
    out[size++] = static_cast<uint8_t>(position - candidate);
    position += length;
    literal_start = position;
  }
  flush(kBlock);
  return size;
}

struct LdsTable {
  uint16_t* base;
  __device__ uint16_t& operator()(int i) const { return base[i * 32]; }
};
struct HostTable {
  uint16_t* base;
  uint16_t& operator()(int i) const { return base[i]; }
};

__global__ void compress_blocks(const uint8_t* in, uint8_t* out, int* sizes, int blocks) {
  __shared__ uint16_t tables[kHash * 32];
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < blocks)
    sizes[i] = compress(in + i * kBlock, out + i * kOutput, LdsTable{tables + threadIdx.x});
}

__global__ void decompress_blocks(const uint8_t* in, uint8_t* out, const int* sizes, int blocks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= blocks) return;
  const uint8_t* from = in + i * kOutput;
  uint8_t* to = out + i * kBlock;
  int written = 0;
  for (int at = 0; at < sizes[i];) {
    const int token = from[at++];
    if (token < 128) {
      for (int k = 0; k <= token; ++k) to[written++] = from[at++];
    } else {
      const int distance = from[at++];
      for (int k = 0; k < token - 125; ++k, ++written) to[written] = to[written - distance];
    }
  }
}

int main() {
  const int blocks = 70;
  check::Rng rng(77);
  std::vector<uint8_t> in(blocks * kBlock);
  const char* const words[] = {"wave ", "lane ", "kernel ", "queue ", "signal "};
  for (int b = 0; b < blocks; ++b) {
    std::string text;
    while (text.size() < kBlock) {
      if (b % 7 == 0) text += static_cast<char>(rng.next());
      else text += words[rng.below(5)];
    }
    std::copy_n(text.begin(), kBlock, in.begin() + b * kBlock);
  }
  std::vector<uint8_t> want(blocks * kOutput);
  std::vector<int> want_sizes(blocks);
  for (int b = 0; b < blocks; ++b) {
    uint16_t table[kHash];
    want_sizes[b] = compress(&in[b * kBlock], &want[b * kOutput], HostTable{table});
  }
  check::Buffer<uint8_t> device_in(in), out(want.size()), back(in.size());
  check::Buffer<int> sizes(blocks);
  out.fill_bytes(0);
  compress_blocks<<<check::blocks_for(blocks, 32), 32>>>(device_in, out, sizes, blocks);
  decompress_blocks<<<check::blocks_for(blocks, 64), 64>>>(out, back, sizes, blocks);
  check::sync();
  check::equal("compressed sizes", sizes.read(), want_sizes);
  check::equal("compressed bytes", out.read(), want);
  check::equal("decompressed", back.read(), in);
  int total = 0;
  for (int s : want_sizes) total += s;
  check::expect(total < blocks * kBlock * 3 / 4, "%d bytes became %d", blocks * kBlock, total);
  return check::finish();
}
