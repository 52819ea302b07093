// Stable least-significant-digit radix sort of 32-bit keys with values, four bits per pass. Each
// block owns a contiguous tile; the scatter keeps order within a tile by ranking with LDS counters.
#include <algorithm>

#include "check.h"

constexpr int kBlock = 64;
constexpr int kItems = 4;
constexpr int kTile = kBlock * kItems;
constexpr int kDigits = 16;

// counts[digit][block], so that one flat exclusive scan gives every tile its start per digit.
__global__ void count_digits(const uint32_t* keys, int count, int shift, int* counts, int blocks) {
  __shared__ int local[kDigits];
  if (threadIdx.x < kDigits) local[threadIdx.x] = 0;
  __syncthreads();
  for (int item = 0; item < kItems; ++item) {
    const int i = blockIdx.x * kTile + item * kBlock + threadIdx.x;
    if (i < count) atomicAdd(&local[(keys[i] >> shift) % kDigits], 1);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * blocks + blockIdx.x] = local[threadIdx.x];
}

// A single block scans the whole table in order.
__global__ void scan_counts(int* counts, int count) {
  __shared__ int partial[kBlock];
  int carry = 0;
  for (int base = 0; base < count; base += kBlock) {
    const int i = base + threadIdx.x;
    const int own = i < count ? counts[i] : 0;
    partial[threadIdx.x] = own;
    __syncthreads();
    for (int delta = 1; delta < kBlock; delta *= 2) {
      const int add = static_cast<int>(threadIdx.x) >= delta ? partial[threadIdx.x - delta] : 0;
      __syncthreads();
      partial[threadIdx.x] += add;
      __syncthreads();
    }
    if (i < count) counts[i] = carry + partial[threadIdx.x] - own;
    carry += partial[kBlock - 1];
    __syncthreads();
  }
}

__global__ void scatter(const uint32_t* keys, const uint32_t* values, uint32_t* out_keys,
                        uint32_t* out_values, int count, int shift, const int* starts, int blocks) {
  __shared__ uint8_t digits[kTile];
  __shared__ int next[kDigits];
  const int base = blockIdx.x * kTile;
  for (int i = threadIdx.x; i < kTile; i += kBlock) {
    digits[i] = base + i < count ? (keys[base + i] >> shift) % kDigits : 0xff;
  }
  if (threadIdx.x < kDigits) next[threadIdx.x] = starts[threadIdx.x * blocks + blockIdx.x];
  __syncthreads();
  // One lane per digit walks the tile: slow and obviously stable.
  if (threadIdx.x < kDigits) {
    for (int i = 0; i < kTile; ++i) {
      if (digits[i] != threadIdx.x) continue;
      const int target = next[threadIdx.x]++;
      out_keys[target] = keys[base + i];
      out_values[target] = values[base + i];
    }
  }
}

void run(int count, uint32_t key_mask) {
  check::Rng rng(count);
  std::vector<uint32_t> keys(count), values(count), order(count);
  for (int i = 0; i < count; ++i) {
    keys[i] = rng.next() & key_mask;
    values[i] = order[i] = static_cast<uint32_t>(i);
  }
  const int blocks = static_cast<int>(check::blocks_for(count, kTile));
  check::Buffer<uint32_t> key_a(keys), key_b(count), value_a(values), value_b(count);
  check::Buffer<int> counts(kDigits * blocks);
  uint32_t *from_keys = key_a, *to_keys = key_b, *from_values = value_a, *to_values = value_b;
  for (int shift = 0; shift < 32; shift += 4) {
    count_digits<<<blocks, kBlock>>>(from_keys, count, shift, counts, blocks);
    scan_counts<<<1, kBlock>>>(counts, kDigits * blocks);
    scatter<<<blocks, kBlock>>>(from_keys, from_values, to_keys, to_values, count, shift, counts,
                                blocks);
    std::swap(from_keys, to_keys);
    std::swap(from_values, to_values);
  }
  check::sync();
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  std::vector<uint32_t> sorted(count);
  for (int i = 0; i < count; ++i) sorted[i] = keys[order[i]];
  char what[64];
  std::snprintf(what, sizeof what, "%d keys masked with 0x%x", count, key_mask);
  check::equal(what, key_a.read(), sorted);
  check::equal("their values, in stable order", value_a.read(), order);
}

int main() {
  run(3001, 0xffffffff);
  run(1024, 0xff);
  run(5, 0xffffffff);
  return check::finish();
}
