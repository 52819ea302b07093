// Golden lines: testdata/TARGET.WAVE.golden holds `bytes | text | dump`, one instruction a line.
// Run with WT_UPDATE_GOLDENS=1 to rewrite text and dump from the bytes, then read the difference.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "isa/constants.h"
#include "isa/dump.h"
#include "isa/half_result.h"
#include "isa/mc.h"
#include "isa/program.h"

namespace wavetap::isa {
namespace {

constexpr GpuAddr kBase{0x1000};
constexpr amd::GfxTarget kGfx906{9, 0, 6}, kGfx908{9, 0, 8}, kGfx90a{9, 0, 10}, kGfx942{9, 4, 2},
    kGfx1030{10, 3, 0}, kGfx1100{11, 0, 0};

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

Program decode_hex(std::string_view hex, amd::GfxTarget target, bool wave64) {
  return decode(from_hex(hex), kBase, target, wave64);
}

std::string golden_line(const std::string& hex, amd::GfxTarget target, bool wave64) {
  const std::vector<std::byte> bytes = from_hex(hex);
  const Program program = decode(bytes, kBase, target, wave64);
  std::string line = hex + " | " + disassemble(bytes, target, wave64, kBase) + " | ";
  for (int32_t i = 0; i < program.size(); ++i) {
    if (i > 0) line += ' ';
    line += dump(program.insts()[i]);
  }
  return line;
}

struct GoldenFile {
  const char* name;
  amd::GfxTarget target;
  bool wave64;
};

class Golden : public testing::TestWithParam<GoldenFile> {};

TEST_P(Golden, BytesGiveTheTextAndTheInstruction) {
  const std::filesystem::path path =
      std::string(WT_SOURCE_DIR "/src/isa/testdata/") + GetParam().name + ".golden";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const bool update = std::getenv("WT_UPDATE_GOLDENS") != nullptr;
  std::ostringstream rewritten;
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const std::string hex = line.substr(0, line.find(' '));
    const std::string actual = golden_line(hex, GetParam().target, GetParam().wave64);
    rewritten << actual << '\n';
    if (!update) {
      EXPECT_EQ(actual, line);
    }
  }
  EXPECT_GT(count, 0);
  file.close();
  if (update) std::ofstream(path) << rewritten.str();
}

INSTANTIATE_TEST_SUITE_P(Targets, Golden,
                         testing::Values(GoldenFile{"gfx906.wave64", kGfx906, true},
                                         GoldenFile{"gfx908.wave64", kGfx908, true},
                                         GoldenFile{"gfx90a.wave64", kGfx90a, true},
                                         GoldenFile{"gfx942.wave64", kGfx942, true},
                                         GoldenFile{"gfx1030.wave32", kGfx1030, false},
                                         GoldenFile{"gfx1030.wave64", kGfx1030, true},
                                         GoldenFile{"gfx1100.wave32", kGfx1100, false},
                                         GoldenFile{"gfx1100.wave64", kGfx1100, true}),
                         [](const auto& file) {
                           std::string name = file.param.name;
                           name[name.find('.')] = '_';
                           return name;
                         });

TEST(Decoder, ResolvesBranchTargetsToIndices) {
  // 0: s_nop 0; 1: s_cbranch_scc0 -> 3; 2: s_branch -> 0; 3: s_endpgm; 4: s_branch far away
  const Program program = decode_hex("000080bf010084bffdff82bf000081bf000182bf", kGfx90a, true);
  ASSERT_EQ(program.size(), 5);
  EXPECT_EQ(program.insts()[1].target, 3);
  EXPECT_EQ(program.insts()[2].target, 0);
  EXPECT_EQ(program.insts()[4].target, -1);
}

TEST(Decoder, ABranchIntoTheMiddleOfAnInstructionHasNoTarget) {
  // s_branch +1 jumps to the literal of s_mov_b32 s0, 0x12345678.
  const Program program = decode_hex("010082bfff0080be78563412", kGfx90a, true);
  ASSERT_EQ(program.size(), 2);
  EXPECT_EQ(program.insts()[0].target, -1);
}

TEST(Decoder, IndicesAndAddressesAgree) {
  const Program program = decode_hex("000080bfff0080be78563412000081bf", kGfx90a, true);
  ASSERT_EQ(program.size(), 3);
  EXPECT_EQ(program.pc_of(0), kBase);
  EXPECT_EQ(program.pc_of(1), kBase + 4);
  EXPECT_EQ(program.pc_of(2), kBase + 12);
  EXPECT_EQ(program.pc_of(3), program.end());
  EXPECT_EQ(program.index_of(kBase + 12), 2);
  EXPECT_EQ(program.index_of(kBase + 8), -1);
  EXPECT_EQ(program.index_of(kBase + 16), -1);
  EXPECT_EQ(program.index_of(GpuAddr{0}), -1);
}

TEST(Decoder, APairIsTwoInstructionsAtOneAddress) {
  // v_dual_add_f32 v0, v1, v2 :: v_dual_mov_b32 v3, 1.0, then s_endpgm.
  const Program program = decode_hex("010510c9f20002000000b0bf", kGfx1100, false);
  ASSERT_EQ(program.size(), 3) << dump(program.insts()[0]);
  EXPECT_TRUE(program.insts()[0].vopd_first);
  EXPECT_EQ(program.insts()[0].size_bytes, 8);
  EXPECT_EQ(program.insts()[1].size_bytes, 0);
  EXPECT_EQ(program.pc_of(1), kBase);
  EXPECT_EQ(program.index_of(kBase), 0);
  EXPECT_EQ(program.index_of(kBase + 8), 2);
}

TEST(Decoder, BytesThatAreNoInstructionBecomeInvalid) {
  for (const amd::GfxTarget target : {kGfx906, kGfx90a, kGfx942, kGfx1030, kGfx1100}) {
    const Program program = decode_hex("ffffffff000080bfff", target, true);
    ASSERT_EQ(program.size(), 3);
    EXPECT_EQ(program.insts()[0].op, Op::kInvalid);
    EXPECT_EQ(program.insts()[0].size_bytes, 4);
    EXPECT_EQ(program.insts()[1].op, Op::s_nop);
    EXPECT_EQ(program.insts()[2].op, Op::kInvalid);
    EXPECT_EQ(program.insts()[2].size_bytes, 1);
  }
  EXPECT_EQ(disassemble(from_hex("ffffffff"), kGfx90a, true, kBase), "<undecodable 0xffffffff>");
  EXPECT_EQ(decode({}, kBase, kGfx90a, true).size(), 0);
}

TEST(Decoder, AnInstructionCutByTheEndIsInvalid) {
  // v_add_f32_e64 without its second dword, s_mov_b32 without its literal.
  EXPECT_EQ(decode_hex("000001d1", kGfx90a, true).insts()[0].op, Op::kInvalid);
  EXPECT_EQ(decode_hex("ff0080be", kGfx90a, true).insts()[0].op, Op::kInvalid);
}

TEST(Decoder, ReservedSdwaSelectsAreInvalid) {
  EXPECT_EQ(decode_hex("f904003e01151305", kGfx906, true).insts()[0].op, Op::v_add_f16);
  // dst_sel 7, dst_unused 3, src0_sel 7, src1_sel 7.
  for (const char* reserved :
       {"f904003e01171305", "f904003e011d1305", "f904003e01151705", "f904003e01151307"}) {
    EXPECT_EQ(decode_hex(reserved, kGfx906, true).insts()[0].op, Op::kInvalid) << reserved;
    EXPECT_EQ(disassemble(from_hex(reserved), kGfx906, true, kBase).substr(0, 12), "<undecodable")
        << reserved;
  }
}

TEST(Decoder, RegistersOfTheWrongKindAreInvalid) {
  // v_writelane_b32 v16, v4, s8: the value comes from a scalar.
  constexpr uint32_t kWords[] = {0xd7610010, 0x00001104};
  const Program program = decode(std::as_bytes(std::span(kWords)), {0x1000}, {10, 3, 0}, false);
  EXPECT_EQ(program.insts()[0].op, Op::kInvalid);
}

TEST(Decoder, AnUnknownTargetDecodesToInvalid) {
  const Program program = decode_hex("000080bf", {7, 0, 0}, true);
  ASSERT_EQ(program.size(), 1);
  EXPECT_EQ(program.insts()[0].op, Op::kInvalid);
  EXPECT_EQ(disassemble(from_hex("000080bf"), {99, 0, 0}, true, kBase), "<undecodable 0xbf800000>");
}

// gfx8's encodings are gfx9's: the carry-writing add of gfx8's v_add_u32 is gfx9's v_add_co_u32.
TEST(Decoder, CodeOfGfx8DecodesAsGfx9) {
  const Program program = decode_hex("01050032", kGfx90a, true);
  EXPECT_EQ(dump(program.insts()[0]), "v_add_co_u32 v0, vcc = v1, v2");
}

TEST(Decoder, ThreadsMayDecodeTheSameTargetAtOnce) {
  const std::vector<std::byte> code = from_hex("01050032000080bf010084bf");
  std::vector<std::thread> threads;
  std::vector<int> sizes(4);
  for (int& size : sizes)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        size += decode(code, kBase, i % 2 == 0 ? kGfx90a : kGfx906, true).size();
    });
  for (std::thread& thread : threads) thread.join();
  for (const int size : sizes) EXPECT_EQ(size, 150);
}

TEST(Decoder, RandomBytesNeverBreakIt) {
  std::mt19937 random(1);
  for (const amd::GfxTarget target : {kGfx906, kGfx908, kGfx90a, kGfx942, kGfx1030, kGfx1100}) {
    std::vector<std::byte> code(20'000);
    for (std::byte& byte : code) byte = static_cast<std::byte>(random());
    const Program program = decode(code, kBase, target, false);
    uint64_t total = 0;
    for (int32_t i = 0; i < program.size(); ++i) {
      total += program.insts()[i].size_bytes;
      dump(program.insts()[i]);
    }
    EXPECT_EQ(total, code.size());
  }
}

// --- LLVM as it is expected: these fail when another LLVM numbers things differently.

TEST(LlvmTables, EveryOperandNameIsFound) {
  ASSERT_TRUE(Mc::names_resolved());
  std::vector<int> numbers;
  for (size_t i = 0; i < kNameCount; ++i) numbers.push_back(Mc::name_number(static_cast<Name>(i)));
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end())
      << "two names share a number";
}

TEST(LlvmTables, OperandTypesHaveTheirNumbers) {
  struct Known {
    const char* opcode;
    unsigned position;
    SourceType type;
  };
  constexpr Known kKnown[] = {
      {"V_ADD_F32_e32_vi", 1, SourceType::kFp32},
      {"V_MOV_B32_e32_vi", 1, SourceType::kInt32},
      {"V_ADD_F16_e32_vi", 1, SourceType::kFp16},
      {"V_ADD_U16_e32_vi", 1, SourceType::kInt16},
      {"S_MOV_B64_vi", 1, SourceType::kInt64},
      {"V_CMP_LT_F64_e32_vi", 0, SourceType::kFp64},
      {"V_PK_FMA_F16_vi", 2, SourceType::kPackedFp16},
      {"V_PK_ADD_U16_vi", 2, SourceType::kPackedInt16},
      {"V_PK_FMA_F32_vi", 2, SourceType::kPackedFp32},
      {"V_FMAMK_F32_gfx10", 2, SourceType::kLiteral32},
      {"V_MADAK_F16_vi", 3, SourceType::kLiteral16},
      {"V_MFMA_F32_4X4X1F32_vi", 3, SourceType::kFp32},
      {"V_READLANE_B32_vi", 2, SourceType::kInt32},
      {"V_MFMA_I32_4X4X4I8_gfx90a_acd", 3, SourceType::kInt32},
      {"V_MFMA_F64_4X4X4F64_gfx90a_acd", 3, SourceType::kFp64},
  };
  for (const Known& known : kKnown) {
    const int opcode = Mc::opcode_number(known.opcode);
    ASSERT_GE(opcode, 0) << known.opcode;
    EXPECT_EQ(source_type(static_cast<unsigned>(
                  Mc::operand_type(static_cast<unsigned>(opcode), known.position))),
              known.type)
        << known.opcode;
  }
}

TEST(HalfResults, AreKnownByTheMnemonic) {
  for (const Op op :
       {Op::v_add_f16, Op::v_cvt_f16_f32, Op::v_cvt_u16_f16, Op::v_mad_u16, Op::v_lshlrev_b16,
        Op::v_frexp_exp_i16_f16, Op::v_med3_i16, Op::v_sat_pk_u8_i16, Op::v_dot2_bf16_bf16})
    EXPECT_TRUE(writes_half(op)) << op_name(op);
  for (const Op op :
       {Op::v_cvt_f32_f16, Op::v_mad_u32_u16, Op::v_pk_add_f16, Op::v_cmp_lt_f16,
        Op::v_pack_b32_f16, Op::v_add_f32, Op::v_cvt_pkrtz_f16_f32, Op::v_wmma_f16_16x16x16_f16,
        Op::v_cvt_pk_u8_f32, Op::v_dot2_f32_f16, Op::v_cvt_i32_i16, Op::v_cvt_pknorm_i16_f16})
    EXPECT_FALSE(writes_half(op)) << op_name(op);
}

}  // namespace
}  // namespace wavetap::isa
