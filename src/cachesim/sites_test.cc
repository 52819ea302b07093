#include "cachesim/sites.h"

#include <gtest/gtest.h>

#include <optional>

#include "emu/testing/assembler.h"

namespace wavetap::cachesim {
namespace {

constexpr amd::GfxTarget kGfx90a{9, 0, 10};

isa::Program program_of(const char* text) {
  const std::vector<std::byte> code = emu::assemble(text, kGfx90a, /*wave64=*/true);
  EXPECT_FALSE(code.empty()) << text;
  return isa::decode(code, {0x200000}, kGfx90a, /*wave64=*/true);
}

InstructionCounters kinds_of(Sites& sites, const isa::Program& program) {
  const uint32_t first = sites.number(program, 0);
  for (int32_t i = 1; i < program.size(); ++i) sites.number(program, i);
  return sites.at(first).kinds;
}

// A module that is unloaded and another one that is loaded share addresses, of the GPU and often of the host.
TEST(Sites, OtherCodeAtTheSameAddressesIsSurveyedAnew) {
  Sites sites;
  std::optional<isa::Program> program(program_of("v_add_f32 v1, v2, v3\ns_endpgm"));
  const isa::Inst* const was_at = program->insts();
  EXPECT_EQ(kinds_of(sites, *program).SQ_INSTS_VALU_ADD_F32, 1u);
  program.reset();
  program.emplace(program_of("v_mul_f32 v1, v2, v3\ns_endpgm"));
  if (program->insts() != was_at) GTEST_SKIP() << "the host's memory was not used again";
  const InstructionCounters now = kinds_of(sites, *program);
  EXPECT_EQ(now.SQ_INSTS_VALU_ADD_F32, 0u);
  EXPECT_EQ(now.SQ_INSTS_VALU_MUL_F32, 1u);
}

TEST(Sites, TheSameCodeKeepsItsNumbers) {
  Sites sites;
  const isa::Program program = program_of("s_nop 0\nglobal_load_dword v1, v[2:3], off\ns_endpgm");
  const uint32_t first = sites.number(program, 0);
  const uint32_t load = sites.number(program, 1);
  EXPECT_NE(load, first);
  EXPECT_EQ(sites.number(program, 0), first);
  EXPECT_EQ(sites.number(program, 1), load);
  EXPECT_EQ(sites.at(first).instructions, 3u);
}

}  // namespace
}  // namespace wavetap::cachesim
