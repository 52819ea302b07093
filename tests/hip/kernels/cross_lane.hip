// Cross-lane data movement through compiler built-ins: DPP controls, ds_swizzle, ds_permute,
// ds_bpermute, readlane, readfirstlane, and on gfx10 also DPP8 and permlane16. Expected values come
// from the patterns' definitions over the lane number.
#include "check.h"

constexpr int kLanes = 64;
constexpr int kOld = -7;

// Which lane a DPP control reads for `lane`, or -1 for none. Rows are 16 lanes.
int dpp_source(int control, int lane) {
  const int row = lane & ~15, in_row = lane & 15;
  if (control < 0x100) return (lane & ~3) | (control >> (2 * (lane & 3)) & 3);
  const int amount = control & 15;
  switch (control & ~15) {
    case 0x100: return in_row + amount < 16 ? lane + amount : -1;  // row_shl
    case 0x110: return in_row - amount >= 0 ? lane - amount : -1;  // row_shr
    case 0x120: return row | ((in_row - amount) & 15);             // row_ror
    case 0x140:
      return amount == 0 ? row | (15 - in_row)
                         : (lane & ~7) | (7 - (lane & 7));  // row_mirror, row_half_mirror
    case 0x150: return row | amount;                        // row_share, row_newbcast
    default: return row | (in_row ^ amount);                // row_xmask
  }
}

template <int kControl, int kRowMask, int kBankMask, bool kBound>
__global__ void move_dpp(int* out) {
  const int lane = threadIdx.x;
  out[lane] =
      __builtin_amdgcn_update_dpp(kOld, lane * 3 + 1, kControl, kRowMask, kBankMask, kBound);
}

template <int kControl, int kRowMask = 0xf, int kBankMask = 0xf, bool kBound = false>
void check_dpp(const char* name) {
  check::Buffer<int> out(kLanes);
  move_dpp<kControl, kRowMask, kBankMask, kBound><<<1, kLanes>>>(out);
  check::sync();
  std::vector<int> want(kLanes);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int wave = check::wave_size();
    const int row = lane % wave / 16, bank = lane % 16 / 4;
    const bool enabled = (kRowMask >> row & 1) && (kBankMask >> bank & 1);
    const int source = dpp_source(kControl, lane);
    want[lane] = !enabled ? kOld : source >= 0 ? source * 3 + 1 : kBound ? 0 : kOld;
  }
  check::equal(name, out.read(), want);
}

template <int kPattern>
__global__ void swizzle(int* out) {
  out[threadIdx.x] = __builtin_amdgcn_ds_swizzle(static_cast<int>(threadIdx.x * 5 + 2), kPattern);
}

template <int kPattern>
void check_swizzle(const char* name) {
  check::Buffer<int> out(kLanes);
  swizzle<kPattern><<<1, kLanes>>>(out);
  check::sync();
  std::vector<int> want(kLanes);
  for (int lane = 0; lane < kLanes; ++lane) {
    int source = (lane & ~3) | (kPattern >> (2 * (lane & 3)) & 3);
    if ((kPattern & 0x8000) == 0) {
      const int within =
          (((lane & 31) & (kPattern & 31)) | (kPattern >> 5 & 31)) ^ (kPattern >> 10 & 31);
      source = (lane & ~31) | within;
    }
    want[lane] = source * 5 + 2;
  }
  check::equal(name, out.read(), want);
}

__global__ void permutes(int* forward, int* backward, int* uniform) {
  const int lane = threadIdx.x % warpSize;
  const int target = (lane * 7 + 3) % warpSize;
  forward[threadIdx.x] = __builtin_amdgcn_ds_permute(target * 4, lane);
  backward[threadIdx.x] = __builtin_amdgcn_ds_bpermute(target * 4, lane * 2);
  int value = __builtin_amdgcn_readlane(lane + 100, 5);
  // Among lanes 9 and up the first active one is 9.
  if (lane >= 9) value = __builtin_amdgcn_readfirstlane(lane * 11);
  uniform[threadIdx.x] = value;
}

__global__ void only_gfx10(int* dpp8, int* permute, int* exchanged) {
#if defined(__gfx1030__)
  const unsigned lane = threadIdx.x;
  dpp8[lane] = static_cast<int>(__builtin_amdgcn_mov_dpp8(
      lane + 50, 0 | 7 << 3 | 1 << 6 | 6 << 9 | 2 << 12 | 5 << 15 | 3 << 18 | 4 << 21));
  permute[lane] = static_cast<int>(
      __builtin_amdgcn_permlane16(lane, lane + 50, 0x01234567u, 0xfedcba98u, true, false));
  exchanged[lane] = static_cast<int>(
      __builtin_amdgcn_permlanex16(lane, lane + 50, 0x01234567u, 0xfedcba98u, true, false));
#endif
}

int main() {
  check_dpp<0x1b>("quad_perm reversed");
  check_dpp<0x00>("quad_perm broadcast");
  check_dpp<0x101>("row_shl 1");
  check_dpp<0x107>("row_shl 7");
  check_dpp<0x111>("row_shr 1");
  check_dpp<0x111, 0xf, 0xf, true>("row_shr 1, bound_ctrl");
  check_dpp<0x11f>("row_shr 15");
  check_dpp<0x125>("row_ror 5");
  check_dpp<0x140>("row_mirror");
  check_dpp<0x141>("row_half_mirror");
  check_dpp<0x111, 0x5>("row_shr 1, rows 0 and 2");
  check_dpp<0x121, 0xf, 0x6>("row_ror 1, banks 1 and 2");
  check_swizzle<0x041f>("swap neighbours");
  check_swizzle<0x1f | 0x1f << 10>("reverse 32");
  check_swizzle<0x0010>("broadcast within 16");
  check_swizzle<0x18 | 3 << 5>("broadcast lane 3 of 8");
  check_swizzle<0x8000 | 0x1b>("quad_perm mode");

  const int wave = check::wave_size();
  check::Buffer<int> forward(kLanes), backward(kLanes), uniform(kLanes);
  permutes<<<1, kLanes>>>(forward, backward, uniform);
  check::sync();
  std::vector<int> want_forward(kLanes), want_backward(kLanes), want_uniform(kLanes);
  for (int i = 0; i < kLanes; ++i) {
    const int lane = i % wave, base = i - lane, target = (lane * 7 + 3) % wave;
    want_forward[base + target] = lane;
    want_backward[i] = target * 2;
    want_uniform[i] = lane >= 9 ? 99 : 105;
  }
  check::equal("ds_permute", forward.read(), want_forward);
  check::equal("ds_bpermute", backward.read(), want_backward);
  check::equal("readlane and readfirstlane", uniform.read(), want_uniform);

  if (check::target() == "gfx1030") {
    check::Buffer<int> dpp8(kLanes), permute(kLanes), exchanged(kLanes);
    only_gfx10<<<1, kLanes>>>(dpp8, permute, exchanged);
    check::sync();
    const int order[8] = {0, 7, 1, 6, 2, 5, 3, 4};
    const int nibble[16] = {7, 6, 5, 4, 3, 2, 1, 0, 8, 9, 10, 11, 12, 13, 14, 15};
    std::vector<int> want8(kLanes), want16(kLanes), want_exchanged(kLanes);
    for (int i = 0; i < kLanes; ++i) {
      want8[i] = (i & ~7) + order[i & 7] + 50;
      want16[i] = (i & ~15) + nibble[i & 15] + 50;
      want_exchanged[i] = ((i & ~15) ^ 16) + nibble[i & 15] + 50;
    }
    check::equal("dpp8", dpp8.read(), want8);
    check::equal("permlane16", permute.read(), want16);
    check::equal("permlanex16", exchanged.read(), want_exchanged);
  }
  return check::finish();
}
