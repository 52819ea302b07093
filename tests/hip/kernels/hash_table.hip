// Open-addressing hash table built concurrently with atomicCAS, counting duplicates; then looked
// up.
#include <map>

#include "check.h"

constexpr uint32_t kEmpty = 0xffffffffu;
constexpr uint32_t kSlots = 4096;

__device__ uint32_t hash(uint32_t key) {
  key ^= key >> 16;
  key *= 0x7feb352du;
  key ^= key >> 15;
  key *= 0x846ca68bu;
  return key ^ (key >> 16);
}

__global__ void insert(uint32_t* keys, uint32_t* counts, const uint32_t* in, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const uint32_t key = in[i];
  for (uint32_t slot = hash(key) % kSlots;; slot = (slot + 1) % kSlots) {
    const uint32_t before = atomicCAS(&keys[slot], kEmpty, key);
    if (before == kEmpty || before == key) {
      atomicAdd(&counts[slot], 1u);
      return;
    }
  }
}

__global__ void find(const uint32_t* keys, const uint32_t* counts, const uint32_t* in,
                     uint32_t* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  uint32_t slot = hash(in[i]) % kSlots;
  while (keys[slot] != kEmpty && keys[slot] != in[i]) slot = (slot + 1) % kSlots;
  out[i] = keys[slot] == in[i] ? counts[slot] : 0;
}

int main() {
  const int count = 6000;
  check::Rng rng(10);
  std::vector<uint32_t> in(count), queries(3000), want;
  std::map<uint32_t, uint32_t> reference;
  for (uint32_t& key : in) ++reference[key = rng.below(3200) * 2654435761u];
  for (uint32_t& key : queries) {
    key = rng.below(6400) * 2654435761u;
    const auto found = reference.find(key);
    want.push_back(found == reference.end() ? 0 : found->second);
  }
  check::Buffer<uint32_t> keys(kSlots), counts(kSlots), device_in(in), device_queries(queries),
      out(queries.size());
  keys.fill_bytes(0xff);
  counts.fill_bytes(0);
  insert<<<check::blocks_for(count, 256), 256>>>(keys, counts, device_in, count);
  find<<<check::blocks_for(queries.size(), 256), 256>>>(keys, counts, device_queries, out,
                                                        static_cast<int>(queries.size()));
  check::sync();
  check::equal("counts of 3000 looked-up keys", out.read(), want);
  size_t used = 0;
  for (uint32_t key : keys.read()) used += key != kEmpty;
  check::expect(used == reference.size(), "%zu slots used for %zu distinct keys", used,
                reference.size());
  return check::finish();
}
