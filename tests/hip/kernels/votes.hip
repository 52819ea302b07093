// __ballot, __any, __all, __popcll of masks, lane ids and mask-prefix counts, under full, partial
// and nested divergence.
#include "check.h"

__global__ void vote(const int* in, unsigned long long* ballots, int* any, int* all, int* prefix) {
  const int i = threadIdx.x;
  const bool yes = in[i] & 1;
  ballots[i] = __ballot(yes);
  any[i] = __any(in[i] > 250);
  all[i] = __all(in[i] >= 0);
  const unsigned long long mask = __ballot(yes);
  const unsigned low = __builtin_amdgcn_mbcnt_lo(static_cast<unsigned>(mask), 0);
  prefix[i] =
      warpSize == 64 ? __builtin_amdgcn_mbcnt_hi(static_cast<unsigned>(mask >> 32), low) : low;
}

__global__ void vote_divergent(const int* in, unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned long long result = 0;
  if (in[i] % 3 == 0) {
    result = __ballot(1);
    if (in[i] % 2 == 0) result ^= __ballot(in[i] % 4 == 0);
  } else {
    for (int turn = 0; turn < in[i] % 5; ++turn) result = result * 3 + __ballot(turn == in[i] % 4);
  }
  out[i] = result;
}

int main() {
  // Not a multiple of 64: the last wave is partial.
  const int wave = check::wave_size(), count = 160;
  check::Rng rng(21);
  std::vector<int> in(count);
  for (int& v : in) v = static_cast<int>(rng.below(256));
  std::vector<unsigned long long> ballots(count), divergent(count);
  std::vector<int> any(count), all(count), prefix(count);
  for (int i = 0; i < count; ++i) {
    const int base = i / wave * wave, end = std::min(base + wave, count);
    all[i] = 1;
    for (int j = base; j < end; ++j) {
      if (in[j] & 1) ballots[i] |= 1ull << (j - base);
      if ((in[j] & 1) && j < i) ++prefix[i];
      if (in[j] > 250) any[i] = 1;
    }
    if (in[i] % 3 == 0) {
      for (int j = base; j < end; ++j) {
        if (in[j] % 3 != 0) continue;
        divergent[i] ^= 1ull << (j - base);
        if (in[i] % 2 == 0 && in[j] % 2 == 0 && in[j] % 4 == 0) divergent[i] ^= 1ull << (j - base);
      }
    } else {
      for (int turn = 0; turn < in[i] % 5; ++turn) {
        unsigned long long mask = 0;
        for (int j = base; j < end; ++j) {
          if (in[j] % 3 != 0 && turn < in[j] % 5 && turn == in[j] % 4) mask |= 1ull << (j - base);
        }
        divergent[i] = divergent[i] * 3 + mask;
      }
    }
  }
  check::Buffer<int> device_in(in), device_any(count), device_all(count), device_prefix(count);
  check::Buffer<unsigned long long> device_ballots(count), device_divergent(count);
  vote<<<1, count>>>(device_in, device_ballots, device_any, device_all, device_prefix);
  vote_divergent<<<1, count>>>(device_in, device_divergent);
  check::sync();
  check::equal("ballot", device_ballots.read(), ballots);
  check::equal("any", device_any.read(), any);
  check::equal("all", device_all.read(), all);
  check::equal("prefix count of a mask", device_prefix.read(), prefix);
  check::equal("ballots inside branches and loops", device_divergent.read(), divergent);
  return check::finish();
}
