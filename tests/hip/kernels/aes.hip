// AES-128 in counter mode with the S-box computed at start-up and kept in LDS; encryption of the
// FIPS 197 example block, and of a stream that must decrypt to itself.
#include "check.h"

__device__ __host__ uint8_t times_two(uint8_t v) {
  return static_cast<uint8_t>(v << 1 ^ (v & 0x80 ? 0x1b : 0));
}

void make_s_box(uint8_t* box) {
  uint8_t p = 1, q = 1;
  do {
    p = static_cast<uint8_t>(p ^ times_two(p));  // times three
    q ^= static_cast<uint8_t>(q << 1);           // divided by three
    q ^= static_cast<uint8_t>(q << 2);
    q ^= static_cast<uint8_t>(q << 4);
    if (q & 0x80) q ^= 0x09;
    const auto turn = [&](int by) { return static_cast<uint8_t>(q << by | q >> (8 - by)); };
    box[p] = static_cast<uint8_t>(q ^ turn(1) ^ turn(2) ^ turn(3) ^ turn(4) ^ 0x63);
  } while (p != 1);
  box[0] = 0x63;
}

void expand_key(const uint8_t* key, const uint8_t* box, uint8_t* round_keys) {
  std::memcpy(round_keys, key, 16);
  uint8_t factor = 1;
  for (int i = 16; i < 176; i += 4) {
    uint8_t t[4];
    std::memcpy(t, round_keys + i - 4, 4);
    if (i % 16 == 0) {
      const uint8_t first = t[0];
      t[0] = static_cast<uint8_t>(box[t[1]] ^ factor), t[1] = box[t[2]], t[2] = box[t[3]],
      t[3] = box[first];
      factor = times_two(factor);
    }
    for (int k = 0; k < 4; ++k) round_keys[i + k] = round_keys[i - 16 + k] ^ t[k];
  }
}

__host__ __device__ void encrypt_block(uint8_t* s, const uint8_t* keys, const uint8_t* box) {
  for (int i = 0; i < 16; ++i) s[i] ^= keys[i];
  for (int round = 1; round <= 10; ++round) {
    uint8_t t[16];
    for (int i = 0; i < 16; ++i) t[i] = box[s[(i + 4 * (i % 4)) % 16]];
    for (int c = 0; c < 16; c += 4) {
      const uint8_t all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3];
      for (int r = 0; r < 4; ++r) {
        const uint8_t mixed = static_cast<uint8_t>(
            t[c + r] ^ all ^ times_two(static_cast<uint8_t>(t[c + r] ^ t[c + (r + 1) % 4])));
        s[c + r] = static_cast<uint8_t>((round < 10 ? mixed : t[c + r]) ^ keys[round * 16 + c + r]);
      }
    }
  }
}

__global__ void encrypt_blocks(uint8_t* blocks, const uint8_t* keys, const uint8_t* box, int count,
                               bool counter_mode) {
  __shared__ uint8_t local_box[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local_box[i] = box[i];
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  uint8_t state[16] = {};
  if (counter_mode) {
    for (int b = 0; b < 4; ++b) state[15 - b] = static_cast<uint8_t>(i >> (8 * b));
  } else {
    for (int b = 0; b < 16; ++b) state[b] = blocks[i * 16 + b];
  }
  encrypt_block(state, keys, local_box);
  for (int b = 0; b < 16; ++b)
    blocks[i * 16 + b] = counter_mode ? blocks[i * 16 + b] ^ state[b] : state[b];
}

int main() {
  std::vector<uint8_t> box(256), keys(176);
  make_s_box(box.data());
  uint8_t key[16], plain[16];
  for (int i = 0; i < 16; ++i)
    key[i] = static_cast<uint8_t>(i), plain[i] = static_cast<uint8_t>(i * 0x11);
  expand_key(key, box.data(), keys.data());
  check::Buffer<uint8_t> device_box(box), device_keys(keys);

  check::Buffer<uint8_t> one(std::vector<uint8_t>(plain, plain + 16));
  encrypt_blocks<<<1, 64>>>(one, device_keys, device_box, 1, false);
  check::sync();
  check::equal("FIPS 197, appendix C.1", one.read(),
               std::vector<uint8_t>{0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd,
                                    0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a});

  const int count = 200;
  check::Rng rng(128);
  std::vector<uint8_t> stream(count * 16);
  for (uint8_t& b : stream) b = static_cast<uint8_t>(rng.next());
  std::vector<uint8_t> want = stream;
  for (int i = 0; i < count; ++i) {
    uint8_t state[16] = {};
    for (int b = 0; b < 4; ++b) state[15 - b] = static_cast<uint8_t>(i >> (8 * b));
    encrypt_block(state, keys.data(), box.data());
    for (int b = 0; b < 16; ++b) want[i * 16 + b] ^= state[b];
  }
  check::Buffer<uint8_t> device(stream);
  encrypt_blocks<<<check::blocks_for(count, 64), 64>>>(device, device_keys, device_box, count,
                                                       true);
  check::sync();
  check::equal("counter mode", device.read(), want);
  encrypt_blocks<<<check::blocks_for(count, 64), 64>>>(device, device_keys, device_box, count,
                                                       true);
  check::sync();
  check::equal("and back", device.read(), stream);
  return check::finish();
}
