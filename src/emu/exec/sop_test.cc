// Scalar arithmetic against a second, deliberately naive implementation (bit by bit where that is
// plainest), over all pairs of edge values, both values of SCC, on every generation.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "emu/testing/machine.h"
#include "emu/testing/targets.h"

namespace wavetap::emu::sop_test {
namespace {

const uint32_t kEdges32[] = {0,          1,          2,          3,          15,         16,
                             31,         32,         33,         63,         64,         0x7f,
                             0x80,       0xff,       0x7fff,     0x8000,     0xffff,     0x10000,
                             0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x12345678,
                             0xdeadbeef, 0x00100004, 0x00200000, 0x007f0000};
const uint64_t kEdges64[] = {0,
                             1,
                             2,
                             0xffffffff,
                             0x100000000,
                             0x7fffffffffffffff,
                             0x8000000000000000,
                             0x8000000000000001,
                             0xfffffffffffffffe,
                             0xffffffffffffffff,
                             0x0123456789abcdef,
                             0xf0f0f0f00f0f0f0f,
                             0x0000800000000000,
                             0xffff7fffffffffff};

struct Result {
  uint64_t d;
  bool scc;
};
using Reference = std::function<Result(uint64_t a, uint64_t b, bool scc, uint64_t d)>;

struct Case {
  const char* name;
  int d_bits;  // 0: no result
  int a_bits;
  int b_bits;  // 0: one source
  Reference reference;
  const char* gfx11 = nullptr;  // spelling on gfx11; same as `name` when null, "" when it has none
};

int64_t sx(uint64_t value, int bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}
uint64_t low(uint64_t value, int bits) {
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}
bool bit(uint64_t value, int at) { return (value >> at & 1) != 0; }
bool fits_signed32(__int128 value) { return value >= INT32_MIN && value <= INT32_MAX; }

// Results that set SCC when they are not zero.
Reference nonzero(int bits, std::function<uint64_t(uint64_t, uint64_t)> f) {
  return [=](uint64_t a, uint64_t b, bool, uint64_t) {
    const uint64_t d = low(f(a, b), bits);
    return Result{d, d != 0};
  };
}
// Results that leave SCC alone.
Reference keeps_scc(std::function<uint64_t(uint64_t, uint64_t)> f) {
  return [=](uint64_t a, uint64_t b, bool scc, uint64_t) { return Result{f(a, b), scc}; };
}
Reference compares(std::function<bool(uint64_t, uint64_t)> f) {
  return [=](uint64_t a, uint64_t b, bool, uint64_t d) { return Result{d, f(a, b)}; };
}
Reference bitwise(int bits, std::function<bool(bool, bool)> f) {
  return nonzero(bits, [=](uint64_t a, uint64_t b) {
    uint64_t d = 0;
    for (int i = 0; i < bits; ++i) d |= uint64_t{f(bit(a, i), bit(b, i))} << i;
    return d;
  });
}
uint64_t extract(uint64_t a, uint64_t field, int bits, bool is_signed) {
  const int offset = static_cast<int>(field & (bits - 1));
  const int width = static_cast<int>(field >> 16 & 0x7f);
  uint64_t d = 0;
  bool last = false;
  for (int i = 0; i < bits; ++i) {
    if (i < width) {
      // Beyond the top of the source there are zeros, or copies of its sign.
      const int from = offset + i;
      last = from < bits ? bit(a, from) : is_signed && bit(a, bits - 1);
      d |= uint64_t{last} << i;
    } else if (is_signed && width != 0) {
      d |= uint64_t{last} << i;
    }
  }
  return d;
}
uint64_t find_from_low(uint64_t a, int bits, bool wanted) {
  for (int i = 0; i < bits; ++i)
    if (bit(a, i) == wanted) return static_cast<uint64_t>(i);
  return 0xffffffff;
}
uint64_t find_from_high(uint64_t a, int bits, bool wanted) {
  for (int i = 0; i < bits; ++i)
    if (bit(a, bits - 1 - i) == wanted) return static_cast<uint64_t>(i);
  return 0xffffffff;
}
uint64_t count_bits(uint64_t a, int bits, bool wanted) {
  uint64_t n = 0;
  for (int i = 0; i < bits; ++i) n += bit(a, i) == wanted;
  return n;
}
uint64_t whole_quads(uint64_t a, int bits) {
  uint64_t d = 0;
  for (int i = 0; i < bits; ++i)
    for (int j = i & ~3; j < (i & ~3) + 4; ++j)
      if (bit(a, j)) d |= uint64_t{1} << i;
  return d;
}
uint64_t quad_mask(uint64_t a, int bits) {
  uint64_t d = 0;
  for (int i = 0; i < bits; ++i)
    if (bit(a, i)) d |= uint64_t{1} << (i / 4);
  return d;
}
uint64_t reversed(uint64_t a, int bits) {
  uint64_t d = 0;
  for (int i = 0; i < bits; ++i) d |= uint64_t{bit(a, i)} << (bits - 1 - i);
  return d;
}
Reference shifted_add(int by) {
  return [=](uint64_t a, uint64_t b, bool, uint64_t) {
    const unsigned __int128 sum = (static_cast<unsigned __int128>(a) << by) + b;
    return Result{low(static_cast<uint64_t>(sum), 32), (sum >> 32) != 0};
  };
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"s_add_u32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool, uint64_t) {
         return Result{low(a + b, 32), a + b > 0xffffffff};
       }},
      {"s_sub_u32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool, uint64_t) {
         return Result{low(a - b, 32), b > a};
       }},
      {"s_add_i32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool, uint64_t) {
         return Result{low(a + b, 32), !fits_signed32(__int128{sx(a, 32)} + sx(b, 32))};
       }},
      {"s_sub_i32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool, uint64_t) {
         return Result{low(a - b, 32), !fits_signed32(__int128{sx(a, 32)} - sx(b, 32))};
       }},
      {"s_addc_u32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool scc, uint64_t) {
         return Result{low(a + b + scc, 32), a + b + scc > 0xffffffff};
       }},
      {"s_subb_u32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool scc, uint64_t) {
         return Result{low(a - b - scc, 32), b + scc > a};
       }},
      {"s_absdiff_i32", 32, 32, 32,
       nonzero(32,
               [](uint64_t a, uint64_t b) {
                 const int64_t difference = sx(low(a - b, 32), 32);
                 return static_cast<uint64_t>(difference < 0 ? -difference : difference);
               })},
      {"s_min_i32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool, uint64_t) {
         return sx(a, 32) < sx(b, 32) ? Result{a, true} : Result{b, false};
       }},
      {"s_max_i32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool, uint64_t) {
         return sx(a, 32) > sx(b, 32) ? Result{a, true} : Result{b, false};
       }},
      {"s_min_u32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool, uint64_t) {
         return a < b ? Result{a, true} : Result{b, false};
       }},
      {"s_max_u32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool, uint64_t) {
         return a > b ? Result{a, true} : Result{b, false};
       }},
      {"s_mul_i32", 32, 32, 32, keeps_scc([](uint64_t a, uint64_t b) { return low(a * b, 32); })},
      {"s_mul_hi_u32", 32, 32, 32, keeps_scc([](uint64_t a, uint64_t b) { return a * b >> 32; })},
      {"s_mul_hi_i32", 32, 32, 32, keeps_scc([](uint64_t a, uint64_t b) {
         return low(static_cast<uint64_t>(sx(a, 32) * sx(b, 32)) >> 32, 32);
       })},
      {"s_lshl1_add_u32", 32, 32, 32, shifted_add(1)},
      {"s_lshl2_add_u32", 32, 32, 32, shifted_add(2)},
      {"s_lshl3_add_u32", 32, 32, 32, shifted_add(3)},
      {"s_lshl4_add_u32", 32, 32, 32, shifted_add(4)},
      {"s_pack_ll_b32_b16", 32, 32, 32,
       keeps_scc([](uint64_t a, uint64_t b) { return low(a, 16) | low(b, 16) << 16; })},
      {"s_pack_lh_b32_b16", 32, 32, 32,
       keeps_scc([](uint64_t a, uint64_t b) { return low(a, 16) | (b >> 16) << 16; })},
      {"s_pack_hh_b32_b16", 32, 32, 32,
       keeps_scc([](uint64_t a, uint64_t b) { return a >> 16 | (b >> 16) << 16; })},
      {"s_cselect_b32", 32, 32, 32,
       [](uint64_t a, uint64_t b, bool scc, uint64_t) {
         return Result{scc ? a : b, scc};
       }},
      {"s_cselect_b64", 64, 64, 64,
       [](uint64_t a, uint64_t b, bool scc, uint64_t) {
         return Result{scc ? a : b, scc};
       }},
      {"s_bitreplicate_b64_b32", 64, 32, 0, keeps_scc([](uint64_t a, uint64_t) {
         uint64_t d = 0;
         for (int i = 0; i < 64; ++i) d |= uint64_t{bit(a, i / 2)} << i;
         return d;
       })},
      {"s_abs_i32", 32, 32, 0,
       nonzero(32,
               [](uint64_t a, uint64_t) {
                 return static_cast<uint64_t>(sx(a, 32) < 0 ? -sx(a, 32) : sx(a, 32));
               })},
      {"s_sext_i32_i8", 32, 32, 0,
       keeps_scc([](uint64_t a, uint64_t) { return low(static_cast<uint64_t>(sx(a, 8)), 32); })},
      {"s_sext_i32_i16", 32, 32, 0,
       keeps_scc([](uint64_t a, uint64_t) { return low(static_cast<uint64_t>(sx(a, 16)), 32); })},
      {"s_flbit_i32", 32, 32, 0,
       keeps_scc([](uint64_t a, uint64_t) { return find_from_high(a, 32, !bit(a, 31)); }),
       "s_cls_i32"},
      {"s_flbit_i32_i64", 32, 64, 0,
       keeps_scc([](uint64_t a, uint64_t) { return find_from_high(a, 64, !bit(a, 63)); }),
       "s_cls_i32_i64"},
      {"s_cmp_eq_i32", 0, 32, 32, compares([](uint64_t a, uint64_t b) { return a == b; })},
      {"s_cmp_lg_i32", 0, 32, 32, compares([](uint64_t a, uint64_t b) { return a != b; })},
      {"s_cmp_gt_i32", 0, 32, 32,
       compares([](uint64_t a, uint64_t b) { return sx(a, 32) > sx(b, 32); })},
      {"s_cmp_ge_i32", 0, 32, 32,
       compares([](uint64_t a, uint64_t b) { return sx(a, 32) >= sx(b, 32); })},
      {"s_cmp_lt_i32", 0, 32, 32,
       compares([](uint64_t a, uint64_t b) { return sx(a, 32) < sx(b, 32); })},
      {"s_cmp_le_i32", 0, 32, 32,
       compares([](uint64_t a, uint64_t b) { return sx(a, 32) <= sx(b, 32); })},
      {"s_cmp_eq_u32", 0, 32, 32, compares([](uint64_t a, uint64_t b) { return a == b; })},
      {"s_cmp_lg_u32", 0, 32, 32, compares([](uint64_t a, uint64_t b) { return a != b; })},
      {"s_cmp_gt_u32", 0, 32, 32, compares([](uint64_t a, uint64_t b) { return a > b; })},
      {"s_cmp_ge_u32", 0, 32, 32, compares([](uint64_t a, uint64_t b) { return a >= b; })},
      {"s_cmp_lt_u32", 0, 32, 32, compares([](uint64_t a, uint64_t b) { return a < b; })},
      {"s_cmp_le_u32", 0, 32, 32, compares([](uint64_t a, uint64_t b) { return a <= b; })},
      {"s_cmp_eq_u64", 0, 64, 64, compares([](uint64_t a, uint64_t b) { return a == b; })},
      {"s_cmp_lg_u64", 0, 64, 64, compares([](uint64_t a, uint64_t b) { return a != b; })},
  };
  // Operations that exist for both widths.
  for (const int w : {32, 64}) {
    const std::string suffix = w == 32 ? "32" : "64";
    static std::deque<std::string> names;  // they outlive the test
    const auto text = [](const std::string& s) { return names.emplace_back(s).c_str(); };
    const auto add = [&](const std::string& name, int d, int a, int b, Reference r,
                         const std::string& gfx11 = "=") {
      all.push_back({text(name), d, a, b, std::move(r), gfx11 == "=" ? nullptr : text(gfx11)});
    };
    add("s_and_b" + suffix, w, w, w, bitwise(w, [](bool a, bool b) { return a && b; }));
    add("s_or_b" + suffix, w, w, w, bitwise(w, [](bool a, bool b) { return a || b; }));
    add("s_xor_b" + suffix, w, w, w, bitwise(w, [](bool a, bool b) { return a != b; }));
    add("s_andn2_b" + suffix, w, w, w, bitwise(w, [](bool a, bool b) { return a && !b; }),
        "s_and_not1_b" + suffix);
    add("s_orn2_b" + suffix, w, w, w, bitwise(w, [](bool a, bool b) { return a || !b; }),
        "s_or_not1_b" + suffix);
    add("s_nand_b" + suffix, w, w, w, bitwise(w, [](bool a, bool b) { return !(a && b); }));
    add("s_nor_b" + suffix, w, w, w, bitwise(w, [](bool a, bool b) { return !(a || b); }));
    add("s_xnor_b" + suffix, w, w, w, bitwise(w, [](bool a, bool b) { return a == b; }));
    add("s_not_b" + suffix, w, w, 0, bitwise(w, [](bool a, bool) { return !a; }));
    add("s_mov_b" + suffix, w, w, 0, keeps_scc([](uint64_t a, uint64_t) { return a; }));
    add("s_cmov_b" + suffix, w, w, 0, [](uint64_t a, uint64_t, bool scc, uint64_t d) {
      return Result{scc ? a : d, scc};
    });
    add("s_lshl_b" + suffix, w, w, 32,
        nonzero(w, [=](uint64_t a, uint64_t b) { return a << (b % w); }));
    add("s_lshr_b" + suffix, w, w, 32,
        nonzero(w, [=](uint64_t a, uint64_t b) { return a >> (b % w); }));
    add("s_ashr_i" + suffix, w, w, 32, nonzero(w, [=](uint64_t a, uint64_t b) {
          return static_cast<uint64_t>(sx(a, w) >> (b % w));
        }));
    add("s_bfm_b" + suffix, w, 32, 32, keeps_scc([=](uint64_t a, uint64_t b) {
          return low(((uint64_t{1} << (a % w)) - 1) << (b % w), w);
        }));
    add("s_bfe_u" + suffix, w, w, 32,
        nonzero(w, [=](uint64_t a, uint64_t b) { return extract(a, b, w, false); }));
    add("s_bfe_i" + suffix, w, w, 32,
        nonzero(w, [=](uint64_t a, uint64_t b) { return extract(a, b, w, true); }));
    add("s_wqm_b" + suffix, w, w, 0,
        nonzero(w, [=](uint64_t a, uint64_t) { return whole_quads(a, w); }));
    add("s_quadmask_b" + suffix, w, w, 0,
        nonzero(w, [=](uint64_t a, uint64_t) { return quad_mask(a, w); }));
    add("s_brev_b" + suffix, w, w, 0,
        keeps_scc([=](uint64_t a, uint64_t) { return reversed(a, w); }));
    add("s_bcnt0_i32_b" + suffix, 32, w, 0,
        nonzero(32, [=](uint64_t a, uint64_t) { return count_bits(a, w, false); }));
    add("s_bcnt1_i32_b" + suffix, 32, w, 0,
        nonzero(32, [=](uint64_t a, uint64_t) { return count_bits(a, w, true); }));
    add("s_ff0_i32_b" + suffix, 32, w, 0,
        keeps_scc([=](uint64_t a, uint64_t) { return find_from_low(a, w, false); }), "");
    add("s_ff1_i32_b" + suffix, 32, w, 0,
        keeps_scc([=](uint64_t a, uint64_t) { return find_from_low(a, w, true); }),
        "s_ctz_i32_b" + suffix);
    add("s_flbit_i32_b" + suffix, 32, w, 0,
        keeps_scc([=](uint64_t a, uint64_t) { return find_from_high(a, w, true); }),
        "s_clz_i32_u" + suffix);
    add("s_bitset0_b" + suffix, w, 32, 0, [=](uint64_t a, uint64_t, bool scc, uint64_t d) {
      return Result{d & ~(uint64_t{1} << (a % w)), scc};
    });
    add("s_bitset1_b" + suffix, w, 32, 0, [=](uint64_t a, uint64_t, bool scc, uint64_t d) {
      return Result{d | uint64_t{1} << (a % w), scc};
    });
    add("s_bitcmp0_b" + suffix, 0, w, 32,
        compares([=](uint64_t a, uint64_t b) { return !bit(a, b % w); }));
    add("s_bitcmp1_b" + suffix, 0, w, 32,
        compares([=](uint64_t a, uint64_t b) { return bit(a, b % w); }));
  }
  return all;
}

std::vector<uint64_t> edges(int bits) {
  if (bits == 64) return {std::begin(kEdges64), std::end(kEdges64)};
  if (bits == 32) return {std::begin(kEdges32), std::end(kEdges32)};
  return {0};
}

std::string operand(int reg, int bits) {
  return bits == 64 ? "s[" + std::to_string(reg) + ":" + std::to_string(reg + 1) + "]"
                    : "s" + std::to_string(reg);
}

class ScalarArithmetic : public testing::TestWithParam<Configuration> {};

TEST_P(ScalarArithmetic, AgreesWithTheReference) {
  const auto [target, wave64] = GetParam();
  TestMachine machine({.target = target, .wave64 = wave64});
  constexpr uint64_t kOld = 0x5a5a5a5aa5a5a5a5;
  for (const Case& c : cases()) {
    const char* name = target.major >= 11 && c.gfx11 != nullptr ? c.gfx11 : c.name;
    if (*name == 0) continue;
    std::string text = name;
    const char* separator = " ";
    if (c.d_bits != 0) text += separator + operand(8, c.d_bits), separator = ", ";
    text += separator + operand(10, c.a_bits);
    if (c.b_bits != 0) text += ", " + operand(12, c.b_bits);
    const LoweredCode* code = machine.load(text);
    ASSERT_NE(code, nullptr) << text;
    for (const uint64_t a : edges(c.a_bits))
      for (const uint64_t b : edges(c.b_bits))
        for (const bool scc : {false, true}) {
          machine.set_s64(8, kOld);
          machine.set_s64(10, a);
          machine.set_s64(12, b);
          machine.wave.scc = scc;
          ASSERT_TRUE(machine.run_loaded(code));
          ASSERT_FALSE(machine.faulted()) << text << ": " << machine.wave.fault.detail;
          const Result expected = c.reference(a, b, scc, c.d_bits == 64 ? kOld : low(kOld, 32));
          const uint64_t d = c.d_bits == 64 ? machine.s64(8) : machine.s(8);
          if (c.d_bits != 0) {
            ASSERT_EQ(d, expected.d) << text << " a=" << a << " b=" << b << " scc=" << scc;
          }
          ASSERT_EQ(machine.wave.scc, expected.scc)
              << text << " a=" << a << " b=" << b << " scc=" << scc;
          // Neighbours and sources are untouched.
          if (c.d_bits == 32) {
            ASSERT_EQ(machine.s(9), kOld >> 32) << text;
          }
          ASSERT_EQ(machine.s64(10), a) << text;
        }
  }
}

// The destination may be a source, and a constant may stand for either source.
TEST_P(ScalarArithmetic, ReadsBeforeItWritesAndTakesConstants) {
  const auto [target, wave64] = GetParam();
  TestMachine machine({.target = target, .wave64 = wave64});
  machine.set_s(0, 5);
  machine.set_s(1, 7);
  ASSERT_TRUE(machine.run("s_sub_u32 s1, s0, s1"));
  EXPECT_EQ(machine.s(1), static_cast<uint32_t>(-2));
  EXPECT_TRUE(machine.wave.scc);
  ASSERT_TRUE(machine.run("s_sub_u32 s1, 0x12345678, s0"));
  EXPECT_EQ(machine.s(1), 0x12345673u);
  ASSERT_TRUE(machine.run("s_add_u32 s1, s0, -16"));
  EXPECT_EQ(machine.s(1), static_cast<uint32_t>(-11));
  machine.set_s64(2, 0x100);
  ASSERT_TRUE(machine.run("s_lshl_b64 s[2:3], s[2:3], s2"));  // by 0x100 & 63
  EXPECT_EQ(machine.s64(2), 0x100u);
  ASSERT_TRUE(machine.run("s_mov_b64 s[2:3], -1"));
  EXPECT_EQ(machine.s64(2), ~uint64_t{0});
}

TEST_P(ScalarArithmetic, ConstantForms) {
  const auto [target, wave64] = GetParam();
  TestMachine machine({.target = target, .wave64 = wave64});
  ASSERT_TRUE(machine.run("s_movk_i32 s4, 0x8000"));
  EXPECT_EQ(machine.s(4), 0xffff8000u);
  machine.wave.scc = false;
  ASSERT_TRUE(machine.run("s_cmovk_i32 s4, 12"));
  EXPECT_EQ(machine.s(4), 0xffff8000u);
  machine.wave.scc = true;
  ASSERT_TRUE(machine.run("s_cmovk_i32 s4, 12"));
  EXPECT_EQ(machine.s(4), 12u);
  machine.set_s(4, 0x7fffffff);
  ASSERT_TRUE(machine.run("s_addk_i32 s4, 1"));
  EXPECT_EQ(machine.s(4), 0x80000000u);
  EXPECT_TRUE(machine.wave.scc);
  ASSERT_TRUE(machine.run("s_addk_i32 s4, 0xffff"));
  EXPECT_EQ(machine.s(4), 0x7fffffffu);
  EXPECT_TRUE(machine.wave.scc);
  ASSERT_TRUE(machine.run("s_addk_i32 s4, 0xffff"));
  EXPECT_FALSE(machine.wave.scc);
  machine.set_s(4, 7);
  ASSERT_TRUE(machine.run("s_mulk_i32 s4, 0xfffe"));
  EXPECT_EQ(machine.s(4), static_cast<uint32_t>(-14));

  struct Compare {
    const char* op;
    uint32_t value;
    bool expected;
  };
  // The constant is 0x8000: -32768 to the signed forms, 32768 to the unsigned ones.
  for (const Compare& c : std::initializer_list<Compare>{{"s_cmpk_eq_i32", 0xffff8000, true},
                                                         {"s_cmpk_eq_i32", 0x8000, false},
                                                         {"s_cmpk_lg_i32", 0x8000, true},
                                                         {"s_cmpk_gt_i32", 0, true},
                                                         {"s_cmpk_ge_i32", 0xffff8000, true},
                                                         {"s_cmpk_lt_i32", 0x80000000, true},
                                                         {"s_cmpk_le_i32", 0, false},
                                                         {"s_cmpk_eq_u32", 0x8000, true},
                                                         {"s_cmpk_eq_u32", 0xffff8000, false},
                                                         {"s_cmpk_lg_u32", 0x8000, false},
                                                         {"s_cmpk_gt_u32", 0xffffffff, true},
                                                         {"s_cmpk_ge_u32", 0x7fff, false},
                                                         {"s_cmpk_lt_u32", 0, true},
                                                         {"s_cmpk_le_u32", 0x8000, true}}) {
    machine.set_s(4, c.value);
    machine.wave.scc = !c.expected;
    ASSERT_TRUE(machine.run(std::string(c.op) + " s4, 0x8000"));
    EXPECT_EQ(machine.wave.scc, c.expected) << c.op << " " << c.value;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ScalarArithmetic, testing::ValuesIn(kConfigurations),
                         configuration_name);

TEST(ScalarArithmeticGfx11, PacksTheHighAndLowHalves) {
  TestMachine machine({.target = kGfx1100, .wave64 = false});
  machine.set_s(0, 0xaaaabbbb);
  machine.set_s(1, 0xccccdddd);
  ASSERT_TRUE(machine.run("s_pack_hl_b32_b16 s2, s0, s1"));
  EXPECT_EQ(machine.s(2), 0xddddaaaau);
}

TEST(ScalarArithmeticGfx10, NullReadsAsZeroAndSwallowsWrites) {
  TestMachine machine({.target = kGfx1030, .wave64 = true});
  machine.set_exec(0x123456789abcdef0);
  machine.set_s(1, 5);
  ASSERT_TRUE(machine.run("s_add_u32 null, s1, s1\ns_mov_b64 null, -1\ns_add_u32 s0, null, s1"));
  EXPECT_EQ(machine.s(0), 5u);
  EXPECT_EQ(machine.wave.exec(), 0x123456789abcdef0u);
  ASSERT_TRUE(machine.run("s_mov_b64 s[2:3], null"));
  EXPECT_EQ(machine.s64(2), 0u);
}

}  // namespace
}  // namespace wavetap::emu::sop_test
