// Waves full of ordinary operands. The tables of edge values put a NaN or an infinity into every
// wave, and so never see the quick forms of operations (lanes.h), which need a block without any;
// and they hold few of the pairs that make up a bit field.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "emu/exec/float_ops.h"
#include "emu/exec/vop_row.h"
#include "emu/testing/assembler.h"
#include "emu/testing/machine.h"
#include "emu/testing/targets.h"

namespace wavetap::emu {
inline namespace baseline {
const VopTables& vop_tables();
}
namespace {

// --- f16, exactly. Every finite half is an integer times 2^-24, every product of two an integer
// --- times 2^-48.
using Fixed = __int128;
constexpr int kProductBits = 48;

Fixed fixed_of(uint32_t half, int fraction_bits) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const Fixed mantissa = (half & 0x3ff) | (exponent != 0 ? 0x400 : 0);
  const Fixed magnitude = mantissa << (fraction_bits - 24 + (exponent != 0 ? exponent - 1 : 0));
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

// The half nearest to value * 2^-48, ties to even; `zero` is the result when it is zero.
uint32_t nearest_half(Fixed value, uint32_t zero) {
  if (value == 0) return zero;
  const uint32_t sign = value < 0 ? 0x8000 : 0;
  const Fixed magnitude = value < 0 ? -value : value;
  // The largest half that is not above; 0x7c00 stands for 65536, where infinity begins.
  uint32_t below = 0, above = 0x7c00;
  while (above - below > 1) {
    const uint32_t middle = (below + above) / 2;
    (fixed_of(middle, kProductBits) <= magnitude ? below : above) = middle;
  }
  const Fixed to_below = magnitude - fixed_of(below, kProductBits);
  const Fixed to_above = fixed_of(above, kProductBits) - magnitude;
  if (to_below == 0) return sign | below;
  if (to_above < 0) return sign | 0x7c00;
  const bool up = to_above < to_below || (to_above == to_below && (below & 1) != 0);
  return sign | (up ? above : below);
}

uint32_t expected_fma(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t product_sign = (a ^ b) & 0x8000;
  const bool both_zero = (a & 0x7fff) * (b & 0x7fff) == 0 && (c & 0x7fff) == 0;
  const uint32_t zero = both_zero && product_sign == (c & 0x8000) ? product_sign : 0;
  return nearest_half(fixed_of(a, 24) * fixed_of(b, 24) + fixed_of(c, kProductBits), zero);
}
uint32_t expected_mul(uint32_t a, uint32_t b) {
  return nearest_half(fixed_of(a, 24) * fixed_of(b, 24), (a ^ b) & 0x8000);
}
uint32_t expected_add(uint32_t a, uint32_t b) {
  return nearest_half(fixed_of(a, kProductBits) + fixed_of(b, kProductBits), a & b & 0x8000);
}

// Halves with exponents of [first, last], among them zeros.
class Halves {
 public:
  Halves(int first, int last) : exponent_(first, last) {}
  uint32_t next() {
    const auto bits = static_cast<uint32_t>(random_());
    if (bits % 16 == 0) return bits & 0x8000;
    // Short mantissas make ties common.
    const uint32_t mantissa = bits >> 16 & (bits % 3 == 0 ? 0x3e0u : 0x3ffu);
    return (bits & 0x8000) | static_cast<uint32_t>(exponent_(random_)) << 10 | mantissa;
  }
  uint32_t pair() { return next() | next() << 16; }

 private:
  std::mt19937 random_{1};
  std::uniform_int_distribution<int> exponent_;
};

template <class Expected>
void check_packed(const std::string& text, int operands, Expected expected) {
  struct Range {
    int first, last;
  };
  for (const auto& target : {kGfx90a, kGfx1030}) {
    const Shape shape{target, target.major == 9};
    const isa::Program program =
        isa::decode(assemble(text, target, shape.wave64), GpuAddr{0x1000}, target, shape.wave64);
    ASSERT_EQ(program.size(), 1) << text;
    const isa::Inst& inst = program.insts()[0];
    // This host's, which may compute with halves, and the one for hosts that cannot.
    for (const Handler handler :
         {find_handler(inst, shape),
          choose_handler(baseline::vop_tables().vop3p(inst), inst, shape)}) {
      ASSERT_NE(handler, nullptr) << text;
      // Ordinary sizes; with underflow; with overflow; everything.
      for (const Range range : {Range{11, 18}, {0, 12}, {18, 30}, {0, 30}}) {
        TestMachine machine({.target = target, .wave64 = shape.wave64});
        Halves halves(range.first, range.last);
        for (int round = 0; round < 200; ++round) {
          uint32_t in[3][64];
          for (int k = 0; k < operands; ++k)
            for (int lane = 0; lane < machine.wave.lanes; ++lane)
              machine.set_v(static_cast<uint32_t>(k) + 1, lane, in[k][lane] = halves.pair());
          handler(machine.wave, inst);
          for (int lane = 0; lane < machine.wave.lanes; ++lane)
            for (const int shift : {0, 16})
              ASSERT_EQ(machine.v(0, lane) >> shift & 0xffff,
                        expected(in[0][lane] >> shift & 0xffff, in[1][lane] >> shift & 0xffff,
                                 in[2][lane] >> shift & 0xffff))
                  << text << std::hex << ": " << in[0][lane] << " " << in[1][lane] << " "
                  << in[2][lane];
        }
      }
    }
  }
}

TEST(OrdinaryOperands, PackedHalves) {
  check_packed("v_pk_fma_f16 v0, v1, v2, v3", 3, expected_fma);
  check_packed("v_pk_mul_f16 v0, v1, v2", 2,
               [](uint32_t a, uint32_t b, uint32_t) { return expected_mul(a, b); });
  check_packed("v_pk_add_f16 v0, v1, v2", 2,
               [](uint32_t a, uint32_t b, uint32_t) { return expected_add(a, b); });
}

// A sum that a float holds only rounded: right between two halves then, though the exact one is
// nearer to the lower.
TEST(OrdinaryOperands, PackedHalvesAreRoundedOnce) {
  const isa::Program program = isa::decode(assemble("v_pk_fma_f16 v0, v1, v2, v3", kGfx90a, true),
                                           GpuAddr{0x1000}, kGfx90a, true);
  ASSERT_EQ(program.size(), 1);
  const isa::Inst& inst = program.insts()[0];
  const Shape shape{kGfx90a, true};
  for (const Handler handler : {find_handler(inst, shape),
                                choose_handler(baseline::vop_tables().vop3p(inst), inst, shape)}) {
    TestMachine machine({.target = kGfx90a});
    machine.fill_v(1, 0x28012801);  // 2^-5 * (1 + 2^-10)
    machine.fill_v(2, 0x23fe23fe);  // 2^-6 * (1 - 2^-10); the product is 2^-11 - 2^-31
    machine.fill_v(3, 0x3c013c01);  // 1 + 2^-10, odd: a tie would go up
    handler(machine.wave, inst);
    for (int lane = 0; lane < 64; ++lane) ASSERT_EQ(machine.v(0, lane), 0x3c013c01u) << lane;
  }
}

// The result replaces an operand in the register file; a block in doubt needs the operand a second
// time.
TEST(OrdinaryOperands, ResultsMayReplaceAnOperand) {
  TestMachine machine({.target = kGfx90a});
  for (int lane = 0; lane < 64; ++lane) {
    machine.set_v(1, lane, 0x3c003c00);                            // 1, 1
    machine.set_v(2, lane, lane == 40 ? 0x7c003c00 : 0x40004000);  // 2, 2; once infinity, 1
    machine.set_v(3, lane, 0x3c003c00);
  }
  ASSERT_TRUE(machine.run("v_pk_fma_f16 v1, v1, v2, v3"));
  EXPECT_EQ(machine.v(1, 0), 0x42004200u);
  EXPECT_EQ(machine.v(1, 39), 0x42004200u);
  EXPECT_EQ(machine.v(1, 40), 0x7c004000u);
}

TEST(OrdinaryOperands, MiddleOfThree) {
  TestMachine machine({.target = kGfx90a});
  const LoweredCode* code = machine.load("v_med3_f32 v0, v1, v2, v3");
  std::mt19937 random(2);
  const float kValues[] = {0.0f,  -0.0f, 1.0f,    -1.0f,    2.5f,
                           -2.5f, 1e30f, -1e-30f, INFINITY, -INFINITY};
  for (int round = 0; round < 100; ++round) {
    float in[3][64];
    for (int k = 0; k < 3; ++k)
      for (int lane = 0; lane < 64; ++lane)
        machine.set_v(static_cast<uint32_t>(k) + 1, lane,
                      bits(in[k][lane] = kValues[random() % std::size(kValues)]));
    ASSERT_TRUE(machine.run_loaded(code));
    const auto greater = [](float a, float b) {
      return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
    };
    for (int lane = 0; lane < 64; ++lane) {
      const float a = in[0][lane], b = in[1][lane], c = in[2][lane];
      const float highest = std::max({a, b, c});
      const float want = highest == a   ? greater(b, c)
                         : highest == b ? greater(a, c)
                                        : greater(a, b);
      ASSERT_EQ(machine.v(0, lane), bits(want)) << a << " " << b << " " << c;
    }
  }
}

TEST(OrdinaryOperands, SineAndCosine) {
  TestMachine machine({.target = kGfx90a});
  std::mt19937 random(3);
  std::uniform_real_distribution<float> wide(-256, 256), narrow(-1, 1);
  for (int round = 0; round < 100; ++round) {
    for (int lane = 0; lane < 64; ++lane) {
      const float tiny = std::ldexp(narrow(random), -static_cast<int>(random() % 100));
      machine.set_v(1, lane,
                    bits(round % 3 == 0   ? wide(random)
                         : round % 3 == 1 ? narrow(random)
                                          : tiny));
    }
    ASSERT_TRUE(machine.run("v_sin_f32 v2, v1\nv_cos_f32 v3, v1"));
    for (int lane = 0; lane < 64; ++lane) {
      const double turns = f32_of(machine.v(1, lane));
      const double angle = (turns - std::nearbyint(turns)) * 2 * M_PI;
      // One unit in the last place; near its zeros the reference has an error of its own.
      const double sine = std::sin(angle), cosine = std::cos(angle);
      EXPECT_NEAR(f32_of(machine.v(2, lane)), sine, std::fabs(sine) * 0x1p-24 + 1e-16) << turns;
      EXPECT_NEAR(f32_of(machine.v(3, lane)), cosine, std::fabs(cosine) * 0x1p-24 + 1e-16) << turns;
    }
  }
  // The full form, which a NaN among the operands makes a block take, gives the same bits.
  for (int round = 0; round < 1000; ++round) {
    for (int lane = 0; lane < 64; ++lane) {
      // Multiples of 1/32, exact and their neighbours, and anything.
      const float multiple = static_cast<float>(static_cast<int>(random() % 16384) - 8192) / 32;
      const uint32_t near = bits(multiple) + static_cast<uint32_t>(random() % 3) - 1;
      machine.set_v(1, lane,
                    round % 2 == 0
                        ? near
                        : bits(std::ldexp(wide(random), -static_cast<int>(random() % 160))));
    }
    ASSERT_TRUE(machine.run("v_sin_f32 v2, v1\nv_cos_f32 v3, v1"));
    const uint32_t first = machine.v(1, 0), middle = machine.v(1, 32);
    machine.set_v(1, 0, kDefaultNanF32);
    machine.set_v(1, 32, kDefaultNanF32);
    ASSERT_TRUE(machine.run("v_sin_f32 v4, v1\nv_cos_f32 v5, v1"));
    machine.set_v(1, 0, first);
    machine.set_v(1, 32, middle);
    for (int lane = 0; lane < 64; ++lane) {
      if (lane % 32 == 0) continue;
      ASSERT_EQ(machine.v(2, lane), machine.v(4, lane)) << f32_of(machine.v(1, lane));
      ASSERT_EQ(machine.v(3, lane), machine.v(5, lane)) << f32_of(machine.v(1, lane));
    }
  }
  // Just outside of the range, where everything is 0 and 1, also when no other lane is.
  for (const float turns :
       {std::nextafter(256.0f, 257.0f), -std::nextafter(256.0f, 257.0f), 1e30f}) {
    for (int lane = 0; lane < 64; ++lane)
      machine.set_v(1, lane, bits(lane % 32 == 5 ? turns : 0.125f));
    ASSERT_TRUE(machine.run("v_sin_f32 v2, v1\nv_cos_f32 v3, v1"));
    for (const int lane : {5, 37}) {
      EXPECT_EQ(f32_of(machine.v(2, lane)), 0.0f) << turns;
      EXPECT_EQ(f32_of(machine.v(3, lane)), 1.0f) << turns;
    }
  }
  // Where sine and cosine are exact.
  machine.set_v<float>(1, {0.25f, 0.5f, 0.75f, 1.0f, -0.25f, -0.5f, 100.25f, -0.0f});
  ASSERT_TRUE(machine.run("v_sin_f32 v2, v1\nv_cos_f32 v3, v1"));
  const float kSines[] = {1, 0.0f, -1, 0.0f, -1, -0.0f, 1, -0.0f};
  const float kCosines[] = {0, -1, 0, 1, 0, -1, 0, 1};
  for (int lane = 0; lane < 8; ++lane) {
    EXPECT_EQ(machine.v(2, lane), bits(kSines[lane])) << lane;
    EXPECT_EQ(machine.v(3, lane), bits(kCosines[lane])) << lane;
  }
}

// --- Bit fields: every offset with every width, also past the register's end and past five bits.

TEST(OrdinaryOperands, EveryBitField) {
  TestMachine machine({.target = kGfx90a});
  const LoweredCode* code = machine.load("v_bfe_u32 v4, v1, v2, v3\nv_bfe_i32 v5, v1, v2, v3");
  const uint32_t kValues[] = {0,          0xffffffff, 0x80000000, 0x7fffffff,
                              0x12345678, 0xdeadbeef, 0x55555555, 0xaaaaaaaa};
  for (const uint32_t value : kValues) {
    for (uint32_t offset = 0; offset < 64; ++offset) {
      machine.fill_v(1, value);
      machine.fill_v(2, offset);
      for (int lane = 0; lane < 64; ++lane) machine.set_v(3, lane, static_cast<uint32_t>(lane));
      ASSERT_TRUE(machine.run_loaded(code));
      for (uint32_t width = 0; width < 64; ++width) {
        // Bit by bit: a field's bit that is past the register is zero, or the sign when extended.
        const uint32_t bits_in_field = width % 32;
        const auto bit = [&](uint32_t i, bool extended) {
          const uint32_t at = offset % 32 + i;
          return at < 32 ? value >> at & 1 : extended ? value >> 31 : 0;
        };
        uint32_t zeros = 0, signs = 0;
        for (uint32_t i = 0; i < 32; ++i) {
          if (i < bits_in_field) zeros |= bit(i, false) << i;
          if (bits_in_field != 0) signs |= bit(std::min(i, bits_in_field - 1), true) << i;
        }
        ASSERT_EQ(machine.v(4, static_cast<int>(width)), zeros)
            << std::hex << value << " " << offset << " " << width;
        ASSERT_EQ(machine.v(5, static_cast<int>(width)), signs)
            << std::hex << value << " " << offset << " " << width;
      }
    }
  }
}

}  // namespace
}  // namespace wavetap::emu
