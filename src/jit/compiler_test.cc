// The compiler behind an engine: hot places of real dispatches, on its own thread.
#include "jit/compiler.h"

#include <gtest/gtest.h>

#include <vector>

#include "emu/engine.h"
#include "emu/interpreter.h"
#include "emu/testing/kernel.h"
#include "jit/testing.h"
#include "jit/verify.h"

namespace wavetap::jit::compiler_test {
namespace {

using emu::TestKernel;

// Each work-item iterates for a while and stores what it has come to.
constexpr const char* kLoop = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshl_or_b32 v3, s2, 6, v0
  v_cvt_f32_u32 v4, v3
  v_mov_b32 v5, 0.5
  s_movk_i32 s6, 0
  s_waitcnt lgkmcnt(0)
loop:
  v_fma_f32 v5, v5, v5, v4
  v_mul_f32 v5, 0x3d800000, v5
  v_xor_b32 v6, v5, v3
  v_add_u32 v3, v3, v6
  s_add_u32 s6, s6, 1
  s_cmpk_lt_u32 s6, 3000
  s_cbranch_scc1 loop
  v_lshl_or_b32 v7, s2, 6, v0
  v_lshlrev_b32 v7, 2, v7
  global_store_dword v7, v3, s[4:5]
  s_endpgm)";

class CompilerTest : public testing::Test {
 protected:
  CompilerTest() {
    kernel_.set_argument64(0, TestKernel::kData);
    kernel_.set_size(256, 64);
  }

  std::vector<uint32_t> run(emu::Engine& engine) {
    for (uint32_t i = 0; i < 256; ++i) kernel_.memory.write<uint32_t>(TestKernel::kData + i * 4, 0);
    const emu::DispatchResult result = engine.run(kernel_.dispatch);
    EXPECT_FALSE(result.fault.has_value());
    counters_ = result.counters;
    std::vector<uint32_t> data;
    for (uint32_t i = 0; i < 256; ++i) data.push_back(kernel_.data(i));
    return data;
  }

  TestKernel kernel_{{}, kLoop};
  emu::Counters counters_;
};

TEST_F(CompilerTest, HotLoopsAreCompiledAndGiveTheSame) {
  emu::Engine interpreter({.threads = 1});
  const std::vector<uint32_t> expected = run(interpreter);
  EXPECT_NE(expected[5], 0u);
  Compiler compiler({WT_JIT_LIBRARY});
  for (const int threads : {1, 3}) {
    emu::Engine engine({.threads = threads, .compiler = &compiler});
    EXPECT_EQ(run(engine), expected);  // becomes hot while it runs
    compiler.drain();
    EXPECT_EQ(run(engine), expected);
  }
  EXPECT_FALSE(compiler.figures().is_broken);
  EXPECT_GE(compiler.figures().compiled, 2u);  // each engine has its own decoded code
}

TEST_F(CompilerTest, CountedDispatchesCountTheSame) {
  kernel_.dispatch.count = true;
  emu::Engine interpreter({.threads = 1});
  const std::vector<uint32_t> expected = run(interpreter);
  const emu::Counters counted = counters_;
  Compiler compiler({WT_JIT_LIBRARY});
  emu::Engine engine({.threads = 1, .compiler = &compiler});
  kernel_.dispatch.count = false;
  run(engine);
  compiler.drain();
  EXPECT_EQ(compiler.figures().compiled, 1u);
  kernel_.dispatch.count = true;
  EXPECT_EQ(run(engine), expected);
  EXPECT_EQ(counters_.instructions, counted.instructions);
  EXPECT_EQ(counters_.flops_f32, counted.flops_f32);
}

TEST_F(CompilerTest, VerifiedBlocksGiveTheSameAndNoFault) {
  emu::Engine interpreter({.threads = 1});
  const std::vector<uint32_t> expected = run(interpreter);
  Compiler compiler({WT_JIT_LIBRARY, /*verifies=*/true});
  emu::Engine engine({.threads = 1, .compiler = &compiler});
  EXPECT_EQ(run(engine), expected);
  compiler.drain();
  EXPECT_EQ(compiler.figures().compiled, 1u);
  EXPECT_EQ(run(engine), expected);
}

// Waves add to what their neighbours had, in place and with a barrier only after each round: right
// where all read before one writes.
TEST(CompilerTurns, WavesStaySideBySide) {
  TestKernel kernel({}, R"(
      s_mov_b32 m0, -1
      s_mov_b32 s8, 0x400000
      s_mov_b32 s9, 0
      v_and_b32 v0, 0x3ff, v0
      v_lshlrev_b32 v1, 2, v0
      v_add_u32 v2, 64, v0
      v_and_b32 v2, 0xff, v2
      v_lshlrev_b32 v2, 2, v2
      ds_write_b32 v1, v0
      s_movk_i32 s10, 0
    again:
      s_waitcnt lgkmcnt(0)
      s_barrier
      ds_read_b32 v3, v2
      ds_read_b32 v4, v1
      s_waitcnt lgkmcnt(0)
      v_add_u32 v3, v3, v4
      v_mul_lo_u32 v3, v3, 3
      ds_write_b32 v1, v3
      s_add_u32 s10, s10, 1
      s_cmpk_lt_u32 s10, 1500
      s_cbranch_scc1 again
      global_store_dword v1, v3, s[8:9]
      s_endpgm)");
  kernel.set_size(256, 256);
  kernel.dispatch.group_segment_bytes = 1024;
  const auto run = [&](emu::Engine& engine) {
    EXPECT_FALSE(engine.run(kernel.dispatch).fault.has_value());
    std::vector<uint32_t> data;
    for (uint32_t i = 0; i < 256; ++i) data.push_back(kernel.data(i));
    return data;
  };
  emu::Engine interpreter({.threads = 1});
  const std::vector<uint32_t> expected = run(interpreter);
  std::vector<uint32_t> value(256);
  for (uint32_t i = 0; i < 256; ++i) value[i] = i;
  for (int round = 0; round < 1500; ++round) {
    const std::vector<uint32_t> old = value;
    for (uint32_t i = 0; i < 256; ++i) value[i] = 3 * (old[i] + old[(i + 64) % 256]);
  }
  EXPECT_EQ(expected, value);
  for (const bool verifies : {false, true}) {
    Compiler compiler({WT_JIT_LIBRARY, verifies});
    emu::Engine engine({.threads = 1, .compiler = &compiler});
    EXPECT_EQ(run(engine), expected);
    compiler.drain();
    EXPECT_EQ(run(engine), expected);
    EXPECT_GE(compiler.figures().compiled, verifies ? 1u : 2u);
  }
}

// Compiled code that is wrong in one register: what verifying is for.
void wrong_code(emu::Wave& wave, const isa::Inst&) {
  wave.vrow(7)[3] ^= 1;
  wave.pc += 1;
  wave.extra += 1;
  wave.budget -= 1;
}

TEST(Verify, ADifferenceStopsTheWaveAndIsNamed) {
  emu::TestMachine machine;
  const emu::LoweredCode* code = machine.load("v_mov_b32 v1, 1\nv_mov_b32 v2, 2\ns_endpgm");
  ASSERT_NE(code, nullptr);
  machine.set_v(7, {5u, 5u, 5u, 5u});
  const isa::Inst& inst = code->program().insts()[0];
  code->publish(0, verified(inst, wrong_code), nullptr);
  emu::enter(machine.wave, *code, 0);
  machine.wave.budget = 100;
  emu::run_slice(machine.wave);
  EXPECT_EQ(machine.wave.state, emu::WaveState::kFaulted);
  EXPECT_STREQ(machine.wave.fault.detail,
               "compiled code differs: v1 of lane 0 is 0x0, 0x1 interpreted");
  EXPECT_EQ(machine.wave.fault.pc.value, emu::TestMachine::kCode);
  forget_verified(inst);
}

// Compiled code that has read something from memory which the program then changed, as often as this says.
int times_changed = 0;
void code_that_reads(emu::Wave& wave, const isa::Inst&) {
  const uint32_t read = times_changed-- > 0 ? 0 : 1;
  for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
    wave.vrow(1)[lane] = read;
    wave.vrow(2)[lane] = 2;
  }
  wave.pc += 1;
  wave.extra += 1;
  wave.budget -= 1;
}

TEST(Verify, MemoryThatChangesInBetweenIsNoDifference) {
  emu::TestMachine machine;
  const emu::LoweredCode* code = machine.load("v_mov_b32 v1, 1\nv_mov_b32 v2, 2\ns_endpgm");
  ASSERT_NE(code, nullptr);
  const isa::Inst& inst = code->program().insts()[0];
  code->publish(0, verified(inst, code_that_reads), nullptr);
  times_changed = 2;
  emu::enter(machine.wave, *code, 0);
  machine.wave.budget = 100;
  emu::run_slice(machine.wave);
  EXPECT_NE(machine.wave.state, emu::WaveState::kFaulted) << machine.wave.fault.detail;
  EXPECT_EQ(times_changed, -1);
  EXPECT_EQ(machine.wave.vrow(1)[0], 1u);
  forget_verified(inst);
}

// MODE is part of what is done twice: rounding, and the height of the stack of forks.
TEST(Verify, ABlockThatChangesModeStartsFromTheModeItFound) {
  const char* const kBlocks[] = {
      "v_add_f32 v0, v1, v2\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\nv_add_f32 v3, v1, v2",
      "v_add_f32 v0, v1, v2\ns_cbranch_i_fork s[20:21], side\ns_nop 0\nside:\ns_mov_b32 s30, s20"};
  for (const char* block : kBlocks) {
    TwinMachines machines({.target = emu::kGfx906});
    const std::string text = std::string(block) + "\ns_endpgm";
    const emu::LoweredCode* plain = machines.plain.load(text);
    const emu::LoweredCode* native = machines.native.load(text);
    ASSERT_NE(native, nullptr);
    ASSERT_TRUE(machines.publish_verified(*native, 0));
    machines.fill(1, Bits::kTame);
    machines.plain.set_exec(0xff);
    machines.plain.set_s64(20, 0x0f);
    machines.copy_state();
    machines.run_loaded(*plain, *native);
    EXPECT_EQ(machines.difference(), "") << block << ": " << machines.native.wave.fault.detail;
  }
}

TEST_F(CompilerTest, WithoutItsLibraryEverythingIsInterpreted) {
  emu::Engine interpreter({.threads = 1});
  const std::vector<uint32_t> expected = run(interpreter);
  Compiler compiler({"/nonexistent/libwavetap_jit.so"});
  emu::Engine engine({.threads = 1, .compiler = &compiler});
  EXPECT_EQ(run(engine), expected);
  compiler.drain();
  EXPECT_TRUE(compiler.figures().is_broken);
  EXPECT_EQ(compiler.figures().compiled, 0u);
}

}  // namespace
}  // namespace wavetap::jit::compiler_test
