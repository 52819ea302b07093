// SHA-256 of many messages, one lane each, against the host's run of the same code and against the
// published test vectors.
#include "check.h"

__constant__ uint32_t g_round[64];

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct Digest {
  uint32_t words[8];
};

__host__ __device__ inline uint32_t rotate(uint32_t v, int by) { return v >> by | v << (32 - by); }

__host__ __device__ inline uint32_t padded_word(const uint8_t* message, int length, int blocks,
                                                int index) {
  uint32_t word = 0;
  for (int b = 0; b < 4; ++b) {
    const int at = index * 4 + b;
    uint8_t byte = at < length ? message[at] : at == length ? 0x80 : 0;
    const int from_end = blocks * 64 - 1 - at;
    if (from_end < 4)
      byte = static_cast<uint8_t>(static_cast<uint32_t>(length) * 8 >> (8 * from_end));
    word = word << 8 | byte;
  }
  return word;
}

__host__ __device__ Digest hash(const uint8_t* message, int length, const uint32_t* round) {
  uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const int blocks = (length + 8) / 64 + 1;
  for (int block = 0; block < blocks; ++block) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) w[i] = padded_word(message, length, blocks, block * 16 + i);
    for (int i = 16; i < 64; ++i) {
      const uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
      const uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t v[8];
    for (int i = 0; i < 8; ++i) v[i] = h[i];
    for (int i = 0; i < 64; ++i) {
      const uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
      const uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round[i] + w[i];
      const uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
      const uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      v[7] = v[6], v[6] = v[5], v[5] = v[4], v[4] = v[3] + t1, v[3] = v[2], v[2] = v[1],
      v[1] = v[0], v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) h[i] += v[i];
  }
  Digest digest;
  for (int i = 0; i < 8; ++i) digest.words[i] = h[i];
  return digest;
}

__global__ void hash_all(const uint8_t* data, const int* offsets, const int* lengths, Digest* out,
                         int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = hash(data + offsets[i], lengths[i], g_round);
}

int main() {
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(g_round), kRound, sizeof kRound));
  std::vector<std::string> messages = {"", "abc",
                                       "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"};
  check::Rng rng(256);
  while (messages.size() < 130) {
    std::string message(rng.below(150), ' ');
    for (char& c : message) c = static_cast<char>(rng.next());
    messages.push_back(message);
  }
  std::vector<uint8_t> data;
  std::vector<int> offsets, lengths;
  std::vector<Digest> want;
  for (const std::string& m : messages) {
    offsets.push_back(static_cast<int>(data.size()));
    lengths.push_back(static_cast<int>(m.size()));
    data.insert(data.end(), m.begin(), m.end());
    want.push_back(hash(reinterpret_cast<const uint8_t*>(m.data()), lengths.back(), kRound));
  }
  const int count = static_cast<int>(messages.size());
  check::Buffer<uint8_t> device_data(data);
  check::Buffer<int> device_offsets(offsets), device_lengths(lengths);
  check::Buffer<Digest> out(count);
  hash_all<<<check::blocks_for(count, 64), 64>>>(device_data, device_offsets, device_lengths, out,
                                                 count);
  check::sync();
  const std::vector<Digest> got = out.read();
  check::equal("130 digests", got, want);
  // FIPS 180-4, the digests of "" and "abc".
  check::equal("empty message", got[0].words[0], 0xe3b0c442u);
  check::equal("abc, first word", got[1].words[0], 0xba7816bfu);
  check::equal("abc, last word", got[1].words[7], 0xf20015adu);
  return check::finish();
}
