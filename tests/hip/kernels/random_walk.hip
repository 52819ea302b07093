// Random walks with a counter-based generator written in the test: positions are exactly those of
// the host's run, and visits are counted with atomics.
#include "check.h"

__host__ __device__ uint32_t mix(uint32_t a, uint32_t b) {
  uint64_t v = (uint64_t{a} << 32 | b) * 0x9e3779b97f4a7c15ull;
  v ^= v >> 29;
  v *= 0xbf58476d1ce4e5b9ull;
  return static_cast<uint32_t>(v >> 32);
}

constexpr int kSide = 64;

__host__ __device__ int2 walk(int walker, int steps, unsigned* visits) {
  int2 at = {kSide / 2, kSide / 2};
  for (int s = 0; s < steps; ++s) {
    const uint32_t r = mix(static_cast<uint32_t>(walker), static_cast<uint32_t>(s));
    switch (r & 3) {
      case 0: at.x = (at.x + 1) % kSide; break;
      case 1: at.x = (at.x + kSide - 1) % kSide; break;
      case 2: at.y = (at.y + 1) % kSide; break;
      default: at.y = (at.y + kSide - 1) % kSide; break;
    }
    // Some walkers rest early.
    if ((r >> 8) % 211 == 0) break;
#if defined(__HIP_DEVICE_COMPILE__)
    atomicAdd(&visits[at.y * kSide + at.x], 1u);
#else
    ++visits[at.y * kSide + at.x];
#endif
  }
  return at;
}

__global__ void walk_all(int2* ends, unsigned* visits, int walkers, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < walkers) ends[i] = walk(i, steps, visits);
}

int main() {
  const int walkers = 500, steps = 120;
  std::vector<int2> want(walkers);
  std::vector<unsigned> want_visits(kSide * kSide);
  for (int i = 0; i < walkers; ++i) want[i] = walk(i, steps, want_visits.data());
  check::Buffer<int2> ends(walkers);
  check::Buffer<unsigned> visits(kSide * kSide);
  visits.fill_bytes(0);
  walk_all<<<check::blocks_for(walkers, 128), 128>>>(ends, visits, walkers, steps);
  check::sync();
  check::equal("end points", ends.read(), want);
  check::equal("visits of every cell", visits.read(), want_visits);
  return check::finish();
}
