// Matrix instructions: every variant of every target against a plain matrix product, with the
// register layouts written out as AMD's Matrix Instruction Calculator prints them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "emu/testing/machine.h"
#include "emu/testing/sweep.h"

namespace wavetap::emu::matrix_test {
namespace {

// --- What a name says: v_mfma_f32_32x32x4bf16_1k, v_mfma_f32_16x16x32_fp8_bf8, v_smfmac_…,
// --- v_wmma_….

struct MatrixName {
  int m = 0, k = 0, blocks = 1;
  std::string out, a, b;  // "f32", "bf16", "fp8", "i8", …
};

MatrixName read_matrix_name(const std::string& name) {
  MatrixName result;
  size_t at = name.find('_', 2) + 1;  // behind v_mfma_
  const size_t out_end = name.find('_', at);
  result.out = name.substr(at, out_end - at);
  int n = 0, used = 0;
  std::sscanf(name.c_str() + out_end + 1, "%dx%dx%d%n", &result.m, &n, &result.k, &used);
  EXPECT_EQ(result.m, n);
  std::string types = name.substr(out_end + 1 + static_cast<size_t>(used));
  if (const size_t suffix = types.find("_1k"); suffix != std::string::npos) types.resize(suffix);
  if (types[0] == '_') types.erase(0, 1);
  const size_t comma = types.find('_');
  result.a = types.substr(0, comma);
  result.b = comma == std::string::npos ? result.a : types.substr(comma + 1);
  return result;
}

int bits_of(const std::string& type) {
  if (type == "fp8" || type == "bf8" || type == "i8" || type == "iu8") return 8;
  if (type == "iu4") return 4;
  if (type == "f16" || type == "bf16") return 16;
  return type == "f64" ? 64 : 32;
}

// Small integers are exact in every format and in every sum, so results are compared for equality.
uint64_t encode(const std::string& type, int value) {
  if (type == "f64") return std::bit_cast<uint64_t>(static_cast<double>(value));
  const uint32_t single = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == "f32" || type == "xf32") return single;
  if (type == "bf16") return single >> 16;
  if (type[0] == 'i') return static_cast<uint64_t>(value);
  // f16, fp8, bf8: sign, exponent, mantissa by hand.
  if (value == 0) return 0;
  const int mantissa_bits = type == "f16" ? 10 : type == "fp8" ? 3 : 2;
  const int bias = type == "f16" ? 15 : type == "fp8" ? 8 : 16;
  const int width = type == "f16" ? 16 : 8;
  const int magnitude = std::abs(value);
  int exponent = 0;
  while (magnitude >> (exponent + 1) != 0) ++exponent;
  const int mantissa = mantissa_bits >= exponent ? (magnitude << (mantissa_bits - exponent))
                                                 : magnitude >> (exponent - mantissa_bits);
  return static_cast<uint64_t>((value < 0 ? 1 << (width - 1) : 0) |
                               (exponent + bias) << mantissa_bits |
                               (mantissa & ((1 << mantissa_bits) - 1)));
}

struct Place {
  int reg;  // of 32 bits
  int bit;
  int lane;
};

// MFMA and SMFMAC: A[i][k].block (and by symmetry B[k][j].block), before compression.
Place input_place(const MatrixName& name, int block, int i, int k) {
  const int bits = bits_of(name.a);
  if (name.a == "f64" && name.m == 4) return {0, 0, 16 * k + 4 * block + i};
  const int per_lane = name.m * name.k * name.blocks / 64;
  const int element = name.blocks > 1 ? k : k % per_lane;
  const int lane = name.blocks > 1 ? name.m * block + i : name.m * (k / per_lane) + i;
  return {element * bits / 32, element * bits % 32, lane};
}

// C and D[i][j].block, as the calculator prints them.
Place output_place(const MatrixName& name, int block, int i, int j) {
  if (name.out == "f64" && name.m == 4) return {0, 0, 16 * (i % 4) + 4 * block + j};
  if (name.out == "f64") return {2 * (i / 4), 0, 16 * (i % 4) + j};
  if (name.m == 4) return {i, 0, 4 * block + j};
  if (name.m == 16) return {4 * block + i % 4, 0, 16 * (i / 4) + j};
  return {16 * block + 4 * (i / 8) + i % 4, 0, (32 * (i / 4)) % 64 + j};
}

struct Registers {
  TestMachine& machine;
  uint32_t& at(const isa::Operand& operand, int reg, int lane) {
    auto& wave = machine.wave;
    const uint32_t index = operand.index + static_cast<uint32_t>(reg);
    return (operand.kind == isa::OperandKind::kAgpr ? wave.arow(index) : wave.vrow(index))[lane];
  }
  void put(const isa::Operand& operand, const Place& place, int bits, uint64_t value) {
    if (bits == 64) {
      at(operand, place.reg, place.lane) = static_cast<uint32_t>(value);
      at(operand, place.reg + 1, place.lane) = static_cast<uint32_t>(value >> 32);
      return;
    }
    const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    uint32_t& word = at(operand, place.reg, place.lane);
    word = (word & ~(mask << place.bit)) | (static_cast<uint32_t>(value) & mask) << place.bit;
  }
  double get(const isa::Operand& operand, const Place& place, const std::string& type) {
    const uint32_t low = at(operand, place.reg, place.lane);
    if (type == "f64")
      return std::bit_cast<double>(low | uint64_t{at(operand, place.reg + 1, place.lane)} << 32);
    if (type == "i32") return static_cast<int32_t>(low);
    return std::bit_cast<float>(low);
  }
};

using Matrix = std::vector<std::vector<int>>;  // [row][column]

Matrix random_matrix(int rows, int columns, std::mt19937& random) {
  Matrix matrix(static_cast<size_t>(rows), std::vector<int>(static_cast<size_t>(columns)));
  for (auto& row : matrix)
    for (int& value : row) value = static_cast<int>(random() % 7) - 3;
  return matrix;
}

int product(const Matrix& a, const Matrix& b, int i, int j) {
  int sum = 0;
  for (size_t k = 0; k < b.size(); ++k)
    sum += a[static_cast<size_t>(i)][k] * b[k][static_cast<size_t>(j)];
  return sum;
}

TestMachine::Options options_for(const Shape& shape) {
  return {.target = shape.target, .wave64 = shape.wave64};
}

bool is_group(const std::string& name, const char* group) {
  return name.rfind(std::string("v_") + group + "_", 0) == 0;
}

// Blocks of an MFMA: the input registers are always full, so their size tells.
int blocks_of(const isa::Inst& inst, const MatrixName& name) {
  return inst.src[0].dwords * 64 * 32 / bits_of(name.a) / (name.m * name.k);
}

struct Modifiers {
  uint8_t cbsz = 0, abid = 0, blgp = 0;
  bool constant = false;  // C is the inline constant 1 or 1.0
};

void check_mfma(const Shape& shape, const Swept& swept, const Modifiers& modifiers, uint64_t exec,
                std::mt19937& random) {
  MatrixName name = read_matrix_name(swept.name);
  name.blocks = blocks_of(swept.inst, name);
  ASSERT_GE(name.blocks, 1) << swept.name;
  TestMachine machine(options_for(shape));
  machine.set_exec(exec);
  Registers registers{machine};
  std::vector<Matrix> a, b, c;
  for (int block = 0; block < name.blocks; ++block) {
    a.push_back(random_matrix(name.m, name.k, random));
    b.push_back(random_matrix(name.k, name.m, random));
    c.push_back(random_matrix(name.m, name.m, random));
  }
  isa::Inst inst = swept.inst;
  inst.cbsz = modifiers.cbsz;
  inst.abid = modifiers.abid;
  inst.blgp = modifiers.blgp;
  if (modifiers.constant)
    inst.src[2] = {.kind = isa::OperandKind::kImm, .imm = encode(name.out, 1)};
  // C is D here and there, as compilers do.
  for (int block = 0; block < name.blocks; ++block) {
    for (int i = 0; i < name.m; ++i) {
      for (int k = 0; k < name.k; ++k) {
        registers.put(
            inst.src[0], input_place(name, block, i, k), bits_of(name.a),
            encode(name.a,
                   a[static_cast<size_t>(block)][static_cast<size_t>(i)][static_cast<size_t>(k)]));
        registers.put(
            inst.src[1], input_place(name, block, i, k), bits_of(name.b),
            encode(name.b,
                   b[static_cast<size_t>(block)][static_cast<size_t>(k)][static_cast<size_t>(i)]));
      }
      for (int j = 0; j < name.m && !modifiers.constant; ++j)
        registers.put(
            inst.src[2], output_place(name, block, i, j), bits_of(name.out),
            encode(name.out,
                   c[static_cast<size_t>(block)][static_cast<size_t>(i)][static_cast<size_t>(j)]));
    }
  }
  // BLGP moves lanes of B, that is columns of blocks, before the product.
  std::vector<Matrix> moved = b;
  if (modifiers.blgp != 0 && name.a != "f64") {
    const auto source = [&](int lane) {
      switch (modifiers.blgp) {
        case 1: return lane < 32 ? lane : lane - 32;
        case 2: return lane < 32 ? lane + 32 : lane;
        case 3: return lane < 48 ? lane + 16 : lane - 48;
        default: return lane % 16 + 16 * (modifiers.blgp - 4);
      }
    };
    const auto each_element = [&](auto&& visit) {
      for (int block = 0; block < name.blocks; ++block)
        for (int k = 0; k < name.k; ++k)
          for (int j = 0; j < name.m; ++j) visit(block, k, j, input_place(name, block, j, k));
    };
    // Which element of B a place of a lane holds, then which one it holds after the move.
    std::map<std::tuple<int, int, int>, int> held;
    each_element([&](int block, int k, int j, const Place& at) {
      held[{at.lane, at.reg, at.bit}] =
          b[static_cast<size_t>(block)][static_cast<size_t>(k)][static_cast<size_t>(j)];
    });
    each_element([&](int block, int k, int j, const Place& to) {
      const auto from = held.find({source(to.lane), to.reg, to.bit});
      if (from != held.end())
        moved[static_cast<size_t>(block)][static_cast<size_t>(k)][static_cast<size_t>(j)] =
            from->second;
    });
  }
  const Handler handler = find_handler(inst, shape);
  ASSERT_NE(handler, nullptr) << swept.name;
  handler(machine.wave, inst);
  for (int block = 0; block < name.blocks; ++block) {
    const int group = 1 << modifiers.cbsz;
    const Matrix& left = a[static_cast<size_t>(block / group * group + modifiers.abid)];
    for (int i = 0; i < name.m; ++i) {
      for (int j = 0; j < name.m; ++j) {
        int ab = product(left, moved[static_cast<size_t>(block)], i, j);
        int start =
            modifiers.constant
                ? 1
                : c[static_cast<size_t>(block)][static_cast<size_t>(i)][static_cast<size_t>(j)];
        if (name.a == "f64") {
          if ((modifiers.blgp & 1) != 0) ab = -ab;
          if ((modifiers.blgp & 2) != 0) ab = -ab;
          if ((modifiers.blgp & 4) != 0) start = -start;
        }
        ASSERT_EQ(registers.get(inst.dst, output_place(name, block, i, j), name.out), ab + start)
            << shape_name(shape) << " " << swept.name << " block " << block << " D[" << i << "]["
            << j << "] cbsz " << +modifiers.cbsz << " abid " << +modifiers.abid << " blgp "
            << +modifiers.blgp;
      }
    }
  }
}

TEST(Mfma, EveryVariantIsAMatrixProduct) {
  std::mt19937 random(21);
  for (const Shape& shape : test_shapes()) {
    if (!shape.target.has_mfma()) continue;
    int checked = 0;
    for (const Swept& swept : sweep_vop3p(shape)) {
      if (!is_group(swept.name, "mfma")) continue;
      check_mfma(shape, swept, {}, ~uint64_t{0}, random);
      check_mfma(shape, swept, {}, 0x5, random);  // EXEC is ignored
      check_mfma(shape, swept, {.constant = true}, ~uint64_t{0}, random);
      if (HasFatalFailure()) return;
      ++checked;
    }
    EXPECT_GE(checked, shape.target.is_gfx90a_family() ? 22 : 20) << shape_name(shape);
  }
}

TEST(Mfma, CbszAndAbidBroadcastABlockOfA) {
  std::mt19937 random(22);
  const Shape shape{{9, 0, 10}, true};
  for (const Swept& swept : sweep_vop3p(shape)) {
    if (!is_group(swept.name, "mfma")) continue;
    MatrixName name = read_matrix_name(swept.name);
    const int blocks = blocks_of(swept.inst, name);
    if (name.a == "f64") continue;
    for (uint8_t cbsz = 1; 1 << cbsz <= blocks; ++cbsz)
      for (uint8_t abid = 0; abid < 1 << cbsz; ++abid)
        check_mfma(shape, swept, {.cbsz = cbsz, .abid = abid}, ~uint64_t{0}, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Mfma, BlgpRearrangesTheLanesOfB) {
  std::mt19937 random(23);
  for (const Shape& shape : {Shape{{9, 0, 8}, true}, Shape{{9, 4, 2}, true}}) {
    for (const Swept& swept : sweep_vop3p(shape)) {
      if (!is_group(swept.name, "mfma")) continue;
      for (uint8_t blgp = 1; blgp < 8; ++blgp)
        check_mfma(shape, swept, {.blgp = blgp}, ~uint64_t{0}, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Mfma, SourcesMayOverlapTheResult) {
  TestMachine machine({.target = {9, 4, 2}});
  for (int lane = 0; lane < 64; ++lane)
    for (uint32_t reg = 0; reg < 4; ++reg) machine.set_v(reg, lane, bits(1.0f));
  // 16x16x4 f32: all ones times all ones plus one.
  ASSERT_TRUE(machine.run("v_mfma_f32_16x16x4_f32 v[0:3], v1, v2, v[0:3]"));
  for (int lane = 0; lane < 64; ++lane)
    for (uint32_t reg = 0; reg < 4; ++reg) EXPECT_EQ(machine.v(reg, lane), bits(5.0f));
}

TEST(Mfma, OnlyMi200FlushesDenormals) {
  const auto run = [](amd::GfxTarget target, const char* text, uint32_t a, uint32_t b, uint32_t c) {
    TestMachine machine({.target = target});
    machine.fill_v(0, a);
    machine.fill_v(1, 0);
    machine.fill_v(2, b);
    machine.fill_v(3, 0);
    for (uint32_t reg = 0; reg < 4; ++reg)
      for (int lane = 0; lane < 64; ++lane) machine.set_a(reg, lane, c);
    EXPECT_TRUE(machine.run(text));
    return machine.a(0, 0);
  };
  const char* f16 = "v_mfma_f32_4x4x4f16 a[0:3], v[0:1], v[2:3], a[0:3]";
  const char* bf16 = "v_mfma_f32_4x4x2bf16 a[0:3], v0, v2, a[0:3]";
  const char* f32 = "v_mfma_f32_4x4x1f32 a[0:3], v0, v2, a[0:3]";
  // 2^-24 (a denormal half) times 1024.
  EXPECT_EQ(run({9, 0, 8}, f16, 1, 0x6400, 0), bits(0x1p-14f));
  EXPECT_EQ(run({9, 0, 10}, f16, 1, 0x6400, 0), 0u);
  // A denormal accumulator.
  EXPECT_EQ(run({9, 0, 8}, bf16, 0, 0, 1), 1u);
  EXPECT_EQ(run({9, 0, 10}, bf16, 0, 0, 1), 0u);
  EXPECT_EQ(run({9, 0, 10}, f32, 0, 0, 1), 1u);
}

TEST(Mfma, F32ProductsAreFused) {
  TestMachine machine({.target = {9, 0, 10}});
  const float x = 1 + 0x1p-12f;
  for (int lane = 0; lane < 64; ++lane) {
    machine.set_v(0, lane, bits(x));
    machine.set_v(1, lane, bits(x));
    for (uint32_t reg = 0; reg < 4; ++reg) machine.set_a(reg, lane, bits(-(1 + 0x1p-11f)));
  }
  ASSERT_TRUE(machine.run("v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]"));
  EXPECT_EQ(machine.a(0), bits(0x1p-24f)) << "the last bits of the product survive";
}

TEST(Mfma, Xf32DropsThirteenBitsOfItsInputs) {
  TestMachine machine({.target = {9, 4, 2}});
  for (uint32_t reg = 0; reg < 8; ++reg) machine.fill_v(reg, 0);
  machine.set_v(0, 0, bits(1 + 0x1p-10f + 0x1p-12f));
  machine.set_v(2, 0, bits(1.0f));
  for (uint32_t reg = 4; reg < 8; ++reg) machine.fill_v(reg, 0);
  ASSERT_TRUE(machine.run("v_mfma_f32_16x16x8_xf32 v[4:7], v[0:1], v[2:3], v[4:7]"));
  EXPECT_EQ(machine.v(4, 0), bits(1 + 0x1p-10f));
}

// --- SMFMAC.

TEST(Smfmac, EveryVariantIsAProductWithTheExpandedMatrix) {
  std::mt19937 random(24);
  const Shape shape{{9, 4, 2}, true};
  int checked = 0;
  for (const Swept& swept : sweep_vop3p(shape)) {
    if (!is_group(swept.name, "smfmac")) continue;
    const MatrixName name = read_matrix_name(swept.name);
    const int index_bits = bits_of(name.a) == 16 ? 8 : 16;
    for (uint8_t cbsz = 0; cbsz < 2; ++cbsz) {
      for (uint8_t abid = 0; abid < 32 / index_bits; ++abid) {
        TestMachine machine(options_for(shape));
        machine.set_exec(3);
        Registers registers{machine};
        const Matrix b = random_matrix(name.k, name.m, random);
        const Matrix c = random_matrix(name.m, name.m, random);
        Matrix a(static_cast<size_t>(name.m), std::vector<int>(static_cast<size_t>(name.k), 0));
        isa::Inst inst = swept.inst;
        inst.cbsz = cbsz;
        inst.abid = abid;
        for (int lane = 0; lane < 64; ++lane)
          registers.at(inst.src[2], 0, lane) = static_cast<uint32_t>(random());
        const int set = cbsz == 0 ? abid : 0;
        const int per_lane = name.m * name.k / 64;  // of B
        for (int i = 0; i < name.m; ++i) {
          for (int group = 0; group < name.k / 4; ++group) {
            // Two positions of four, ascending.
            const int first = static_cast<int>(random() % 3);
            const int second =
                first + 1 + static_cast<int>(random() % static_cast<uint32_t>(3 - first));
            const int lane = name.m * (4 * group / per_lane) + i;
            const int group_in_lane = group % (per_lane / 4);
            registers.put(inst.src[2], {0, set * index_bits + 4 * group_in_lane, lane}, 4,
                          static_cast<uint64_t>(first | second << 2));
            const int positions[] = {first, second};
            for (int e = 0; e < 2; ++e) {
              const int value = static_cast<int>(random() % 7) - 3;
              a[static_cast<size_t>(i)][static_cast<size_t>(4 * group + positions[e])] = value;
              const int bit = (2 * group_in_lane + e) * bits_of(name.a);
              registers.put(inst.src[0], {bit / 32, bit % 32, lane}, bits_of(name.a),
                            encode(name.a, value));
            }
          }
          for (int k = 0; k < name.k; ++k)
            registers.put(inst.src[1], input_place(name, 0, i, k), bits_of(name.b),
                          encode(name.b, b[static_cast<size_t>(k)][static_cast<size_t>(i)]));
          for (int j = 0; j < name.m; ++j)
            registers.put(inst.dst, output_place(name, 0, i, j), 32,
                          encode(name.out, c[static_cast<size_t>(i)][static_cast<size_t>(j)]));
        }
        const Handler handler = find_handler(inst, shape);
        ASSERT_NE(handler, nullptr) << swept.name;
        handler(machine.wave, inst);
        for (int i = 0; i < name.m; ++i)
          for (int j = 0; j < name.m; ++j)
            ASSERT_EQ(registers.get(inst.dst, output_place(name, 0, i, j), name.out),
                      product(a, b, i, j) + c[static_cast<size_t>(i)][static_cast<size_t>(j)])
                << swept.name << " D[" << i << "][" << j << "] cbsz " << +cbsz << " abid " << +abid;
      }
    }
    ++checked;
  }
  EXPECT_EQ(checked, 14);
}

// --- WMMA.

// Where gfx11 keeps C and D[i][j].
Place wmma_place(int lanes, int i, int j) { return {i / (lanes / 16), 0, 16 * i % lanes + j}; }

TEST(Wmma, EveryVariantIsAMatrixProduct) {
  std::mt19937 random(25);
  for (const Shape& shape : test_shapes()) {
    if (shape.target.major != 11) continue;
    int checked = 0;
    for (const Swept& swept : sweep_vop3p(shape)) {
      if (!is_group(swept.name, "wmma")) continue;
      const MatrixName name = read_matrix_name(swept.name);
      const bool is_integer = name.out == "i32";
      const bool is_half = bits_of(name.out) == 16;
      const int lanes = shape.wave64 ? 64 : 32;
      for (int variant = 0; variant < 4; ++variant) {
        TestMachine machine(options_for(shape));
        machine.set_exec(9);
        Registers registers{machine};
        Matrix a = random_matrix(16, 16, random), b = random_matrix(16, 16, random),
               c = random_matrix(16, 16, random);
        isa::Inst inst = swept.inst;
        inst.dst.index = 16;  // clear of the sources, for their half-written registers
        inst.src[2].op_sel = is_half && variant == 1;
        inst.src[0].neg = is_integer ? variant != 3 : variant == 2;
        inst.src[0].abs = !is_integer && variant == 3;
        inst.src[1].neg = is_integer;
        inst.src[2].neg = !is_integer && variant == 2;
        const bool unsigned_a = is_integer && variant == 3;
        for (auto& row : a)
          for (int& value : row) value = unsigned_a ? std::abs(value) + 4 : value;
        const int shift = inst.src[2].op_sel ? 16 : 0;
        for (int i = 0; i < 16; ++i) {
          for (int copy = 0; copy < lanes; copy += 16) {
            for (int k = 0; k < 16; ++k) {
              const int bit = k * bits_of(name.a);
              registers.put(inst.src[0], {bit / 32, bit % 32, copy + i}, bits_of(name.a),
                            encode(name.a, a[static_cast<size_t>(i)][static_cast<size_t>(k)]));
              registers.put(inst.src[1], {bit / 32, bit % 32, copy + i}, bits_of(name.b),
                            encode(name.b, b[static_cast<size_t>(k)][static_cast<size_t>(i)]));
            }
          }
          for (int j = 0; j < 16; ++j) {
            Place place = wmma_place(lanes, i, j);
            registers.at(inst.dst, place.reg, place.lane) = 0x12345678;
            place.bit = shift;
            registers.put(inst.src[2], place, bits_of(name.out),
                          encode(name.out, c[static_cast<size_t>(i)][static_cast<size_t>(j)]));
          }
        }
        const Handler handler = find_handler(inst, shape);
        ASSERT_NE(handler, nullptr) << swept.name;
        handler(machine.wave, inst);
        for (int i = 0; i < 16; ++i) {
          for (int j = 0; j < 16; ++j) {
            int expected = 0;
            for (int k = 0; k < 16; ++k) {
              int term = a[static_cast<size_t>(i)][static_cast<size_t>(k)] *
                         b[static_cast<size_t>(k)][static_cast<size_t>(j)];
              if (!is_integer && ((variant == 2 && k % 2 == 0) || (variant == 3 && k % 2 == 1)))
                term = -term;
              expected += term;
            }
            expected += !is_integer && variant == 2
                            ? -c[static_cast<size_t>(i)][static_cast<size_t>(j)]
                            : c[static_cast<size_t>(i)][static_cast<size_t>(j)];
            const Place place = wmma_place(lanes, i, j);
            const uint32_t word = registers.at(inst.dst, place.reg, place.lane);
            const std::string what =
                shape_name(shape) + " " + swept.name + " variant " + std::to_string(variant);
            if (is_half) {
              ASSERT_EQ(word >> shift & 0xffff, encode(name.out, expected)) << what;
              ASSERT_EQ(word >> (16 - shift) & 0xffff, shift == 0 ? 0x1234u : 0x5678u)
                  << what << ": the other half changed";
            } else {
              ASSERT_EQ(registers.get(inst.dst, place, name.out), expected)
                  << what << " D[" << i << "][" << j << "]";
            }
          }
        }
      }
      ++checked;
    }
    EXPECT_EQ(checked, 6) << shape_name(shape);
  }
}

TEST(Wmma, ClampSaturatesIntegers) {
  TestMachine machine({.target = {11, 0, 0}, .wave64 = false});
  for (uint32_t reg = 0; reg < 8; ++reg) machine.fill_v(reg, 0x7f7f7f7f);
  for (uint32_t reg = 8; reg < 16; ++reg) machine.fill_v(reg, 0x7fffff00);
  ASSERT_TRUE(machine.run("v_wmma_i32_16x16x16_iu8 v[16:23], v[0:3], v[4:7], v[8:15] clamp"));
  EXPECT_EQ(machine.v(16, 3), 0x7fffffffu);
  ASSERT_TRUE(machine.run("v_wmma_i32_16x16x16_iu8 v[16:23], v[0:3], v[4:7], v[8:15]"));
  EXPECT_EQ(machine.v(16, 3), 0x7fffff00u + 16 * 127 * 127);
}

// --- Accumulation registers.

TEST(Accumulators, MoveToAndFroUnderExec) {
  for (const amd::GfxTarget target :
       {amd::GfxTarget{9, 0, 8}, amd::GfxTarget{9, 0, 10}, amd::GfxTarget{9, 4, 2}}) {
    TestMachine machine({.target = target});
    machine.set_exec(0xf0);
    for (int lane = 0; lane < 64; ++lane) machine.set_v(1, lane, 10 + static_cast<uint32_t>(lane));
    for (int lane = 0; lane < 64; ++lane) machine.set_a(2, lane, 7);
    machine.fill_v(3, 8);
    ASSERT_TRUE(machine.run("v_accvgpr_write_b32 a2, v1\nv_accvgpr_read_b32 v3, a2"));
    for (int lane = 0; lane < 64; ++lane) {
      const bool active = lane >= 4 && lane < 8;
      EXPECT_EQ(machine.a(2, lane), active ? 10u + static_cast<uint32_t>(lane) : 7u);
      EXPECT_EQ(machine.v(3, lane), active ? 10u + static_cast<uint32_t>(lane) : 8u);
    }
    machine.set_exec(~uint64_t{0});
    ASSERT_TRUE(machine.run("v_accvgpr_write_b32 a4, 1.0"));
    EXPECT_EQ(machine.a(4, 63), bits(1.0f));
    if (!target.is_gfx90a_family()) continue;
    ASSERT_TRUE(machine.run("v_accvgpr_mov_b32 a5, a2"));
    EXPECT_EQ(machine.a(5, 6), 16u);
  }
}

}  // namespace
}  // namespace wavetap::emu::matrix_test
