// EXEC, jumps, indexed registers, hardware registers, branches, messages, scalar memory.
#include <gtest/gtest.h>

#include <string>

#include "emu/testing/machine.h"
#include "emu/testing/targets.h"

namespace wavetap::emu {
namespace {

namespace slot = isa::slot;

// --- EXEC.

struct ExecCase {
  const char* name;
  const char* gfx11;
  uint64_t (*result)(uint64_t source, uint64_t exec);
};
const ExecCase kSaveExec[] = {
    {"and", "and", [](uint64_t s, uint64_t e) { return s & e; }},
    {"or", "or", [](uint64_t s, uint64_t e) { return s | e; }},
    {"xor", "xor", [](uint64_t s, uint64_t e) { return s ^ e; }},
    {"nand", "nand", [](uint64_t s, uint64_t e) { return ~(s & e); }},
    {"nor", "nor", [](uint64_t s, uint64_t e) { return ~(s | e); }},
    {"xnor", "xnor", [](uint64_t s, uint64_t e) { return ~(s ^ e); }},
    {"andn1", "and_not0", [](uint64_t s, uint64_t e) { return ~s & e; }},
    {"andn2", "and_not1", [](uint64_t s, uint64_t e) { return s & ~e; }},
    {"orn1", "or_not0", [](uint64_t s, uint64_t e) { return ~s | e; }},
    {"orn2", "or_not1", [](uint64_t s, uint64_t e) { return s | ~e; }},
};

TEST(Exec, SaveExecForms) {
  constexpr uint64_t kExec = 0xf0f0aaaa12345678;
  constexpr uint64_t kSource = 0xff00ff0011112222;
  for (const auto& [target, wave64] :
       {std::pair{kGfx90a, true}, {kGfx1030, true}, {kGfx1030, false}, {kGfx1100, false}}) {
    TestMachine machine({.target = target, .wave64 = wave64});
    const std::string bits_suffix = wave64 ? "_b64 s[4:5], s[6:7]" : "_b32 s4, s6";
    const uint64_t mask = wave64 ? ~uint64_t{0} : 0xffffffff;
    for (const ExecCase& c : kSaveExec)
      for (const uint64_t source : {kSource, kExec, ~kExec}) {
        machine.set_exec(kExec);
        machine.set_s64(4, 0);
        machine.set_s64(6, source);
        const std::string text =
            std::string("s_") + (target.major >= 11 ? c.gfx11 : c.name) + "_saveexec" + bits_suffix;
        ASSERT_TRUE(machine.run(text));
        EXPECT_EQ(machine.s64(4), kExec & mask) << text;
        EXPECT_EQ(machine.wave.exec(), c.result(source, kExec) & mask) << text;
        EXPECT_EQ(machine.wave.scc, (c.result(source, kExec) & mask) != 0) << text;
      }
  }
}

TEST(Exec, WriteExecForms) {
  for (const auto& [target, wave64] : {std::pair{kGfx90a, true}, {kGfx1030, false}}) {
    TestMachine machine({.target = target, .wave64 = wave64});
    const std::string operands = wave64 ? "_wrexec_b64 s[4:5], s[6:7]" : "_wrexec_b32 s4, s6";
    const uint64_t mask = wave64 ? ~uint64_t{0} : 0xffffffff;
    machine.set_exec(0x00ff00ff0f0f0f0f);
    machine.set_s64(6, 0x3333333355555555);
    ASSERT_TRUE(machine.run("s_andn1" + operands));
    EXPECT_EQ(machine.wave.exec(), 0x00cc00cc0a0a0a0a & mask);
    EXPECT_EQ(machine.s64(4), 0x00cc00cc0a0a0a0a & mask);
    machine.set_exec(0x00ff00ff0f0f0f0f);
    ASSERT_TRUE(machine.run("s_andn2" + operands));
    EXPECT_EQ(machine.wave.exec(), 0x3300330050505050 & mask);
    EXPECT_TRUE(machine.wave.scc);
  }
}

// --- Flow.

TEST(Flow, ConditionalBranches) {
  struct Branch {
    const char* op;
    void (*prepare)(TestMachine&, bool taken);
  };
  const Branch branches[] = {
      {"s_cbranch_scc0", [](TestMachine& m, bool taken) { m.wave.scc = !taken; }},
      {"s_cbranch_scc1", [](TestMachine& m, bool taken) { m.wave.scc = taken; }},
      {"s_cbranch_vccz", [](TestMachine& m, bool taken) { m.set_vcc(taken ? 0 : 0x80000000); }},
      {"s_cbranch_vccnz", [](TestMachine& m, bool taken) { m.set_vcc(taken ? 0x80000000 : 0); }},
      {"s_cbranch_execz", [](TestMachine& m, bool taken) { m.set_exec(taken ? 0 : 0x80000000); }},
      {"s_cbranch_execnz", [](TestMachine& m, bool taken) { m.set_exec(taken ? 0x80000000 : 0); }},
  };
  for (const auto& [target, wave64] :
       {std::pair{kGfx90a, true}, {kGfx1030, true}, {kGfx1030, false}, {kGfx1100, false}})
    for (const Branch& branch : branches)
      for (const bool taken : {false, true}) {
        TestMachine machine({.target = target, .wave64 = wave64});
        branch.prepare(machine, taken);
        ASSERT_TRUE(machine.run(std::string("s_movk_i32 s0, 1\n") + branch.op +
                                " skip\ns_movk_i32 s0, 2\nskip:\ns_movk_i32 s1, 3"));
        EXPECT_EQ(machine.s(0), taken ? 1u : 2u) << branch.op;
        EXPECT_EQ(machine.s(1), 3u);
      }
}

// In wave32 the high halves of VCC and EXEC do not exist.
TEST(Flow, Wave32IgnoresHighHalves) {
  TestMachine machine({.target = kGfx1030, .wave64 = false});
  machine.wave.s[slot::kVccHi] = 1;
  machine.wave.s[slot::kVccLo] = 0;
  ASSERT_TRUE(machine.run("s_movk_i32 s0, 1\ns_cbranch_vccz skip\ns_movk_i32 s0, 2\nskip:"));
  EXPECT_EQ(machine.s(0), 1u);
}

TEST(Flow, LoopsBackwards) {
  TestMachine machine({.target = kGfx1030, .wave64 = false});
  ASSERT_TRUE(machine.run(
      "s_movk_i32 s0, 10\ns_movk_i32 s1, 0\nagain:\ns_add_u32 s1, s1, s0\ns_sub_u32 s0, s0, 1\n"
      "s_cmp_lg_u32 s0, 0\ns_cbranch_scc1 again"));
  EXPECT_EQ(machine.s(1), 55u);
}

// The body runs for the low half of the wave, then for the high half; s9 counts, s16 keeps the mask
// that waits.
TEST(Flow, SubvectorLoops) {
  for (const auto& [exec, rounds] : std::initializer_list<std::pair<uint64_t, uint32_t>>{
           {0x0000ffff0000000f, 2}, {0x000000000000000f, 1}, {0xff00000000000000, 1}, {0, 0}}) {
    TestMachine machine({.target = {10, 3, 0}, .wave64 = true});
    machine.set_exec(exec);
    machine.set_s(0, 77);
    machine.set_s(9, 0);
    ASSERT_TRUE(machine.run(R"(
        s_subvector_loop_begin s16, end
      body:
        s_add_u32 s9, s9, 1
        s_subvector_loop_end s16, body
      end:
        s_nop 0)"));
    EXPECT_EQ(machine.s(9), rounds) << std::hex << exec;
    EXPECT_EQ(machine.wave.exec(), exec) << std::hex << exec;
    EXPECT_EQ(machine.s(0), 77u);
  }
}

TEST(Flow, GetsSetsSwapsAndCalls) {
  TestMachine machine;
  ASSERT_TRUE(machine.run("s_nop 0\ns_getpc_b64 s[0:1]\ns_nop 0"));
  EXPECT_EQ(machine.s64(0), TestMachine::kCode + 8);
  // Skips the instruction behind the swap and comes back to it.
  ASSERT_TRUE(machine.run(R"(
      s_movk_i32 s10, 0
      s_getpc_b64 s[0:1]
      s_add_u32 s0, s0, 16
      s_swappc_b64 s[2:3], s[0:1]
      s_add_u32 s10, s10, 1
      s_branch end
      s_add_u32 s10, s10, 16
      s_setpc_b64 s[2:3]
    end:)"));
  EXPECT_EQ(machine.s(10), 17u);
  ASSERT_TRUE(machine.run(R"(
      s_movk_i32 s10, 0
      s_call_b64 s[2:3], function
      s_add_u32 s10, s10, 1
      s_branch end
    function:
      s_add_u32 s10, s10, 16
      s_setpc_b64 s[2:3]
    end:)"));
  EXPECT_EQ(machine.s(10), 17u);
  EXPECT_EQ(machine.s64(2), TestMachine::kCode + 8);
}

TEST(Flow, EndsAndStops) {
  TestMachine machine;
  ASSERT_TRUE(machine.run("s_movk_i32 s0, 1\ns_endpgm\ns_movk_i32 s0, 2"));
  EXPECT_EQ(machine.s(0), 1u);
  EXPECT_EQ(machine.wave.state, WaveState::kFinished);
  ASSERT_TRUE(machine.run("s_trap 3\ns_movk_i32 s0, 4"));
  EXPECT_EQ(machine.s(0), 4u);
  ASSERT_TRUE(machine.run("s_nop 0\ns_trap 2\ns_movk_i32 s0, 5"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kTrap);
  EXPECT_EQ(machine.wave.fault.trap_id, 2);
  EXPECT_EQ(machine.wave.fault.pc.value, TestMachine::kCode + 4);
  EXPECT_EQ(machine.s(0), 4u);
}

TEST(Flow, WaitsAndHintsDoNothing) {
  TestMachine machine({.target = kGfx1030, .wave64 = false});
  ASSERT_TRUE(
      machine.run("s_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0\ns_waitcnt_depctr "
                  "0xfffe\ns_clause 0x1\n"
                  "s_inst_prefetch 0x3\ns_setprio "
                  "3\ns_icache_inv\ns_dcache_inv\ns_gl1_inv\ns_ttracedata\ns_wakeup"));
  EXPECT_FALSE(machine.faulted()) << machine.wave.fault.detail;
}

// Both sides of a divergent fork run, each with its own lanes, and join.
TEST(Flow, ForksAndJoins) {
  TestMachine machine({.target = kGfx906});
  machine.set_exec(0xff);
  machine.set_s64(20, 0x0f);  // condition: half of the lanes
  ASSERT_TRUE(machine.run(R"(
      s_getreg_b32 s30, hwreg(HW_REG_MODE, 29, 3)
      s_mov_b64 s[24:25], 0
      s_cbranch_i_fork s[20:21], side
      s_xor_b64 s[24:25], s[24:25], exec
      s_branch join
    side:
      s_lshl_b64 s[26:27], exec, 8
      s_xor_b64 s[24:25], s[24:25], s[26:27]
    join:
      s_cbranch_join s30
      s_mov_b64 s[28:29], s[24:25])",
                          200));
  EXPECT_FALSE(machine.faulted());
  EXPECT_EQ(machine.s64(28), 0x0ff0u);  // the failing lanes as they are, the passing ones shifted
}

// --- Registers by index.

TEST(Indexed, ScalarMoves) {
  TestMachine machine({.target = kGfx1030, .wave64 = false});
  for (uint32_t i = 0; i < 16; ++i) machine.set_s(i, 100 + i);
  machine.set_s(slot::kM0, 3);
  ASSERT_TRUE(machine.run("s_movrels_b32 s20, s4\ns_movreld_b32 s24, s1"));
  EXPECT_EQ(machine.s(20), 107u);
  EXPECT_EQ(machine.s(27), 101u);
  machine.set_s(slot::kM0, 4);
  ASSERT_TRUE(machine.run("s_movrels_b64 s[22:23], s[4:5]\ns_movreld_b64 s[40:41], s[2:3]"));
  EXPECT_EQ(machine.s64(44), 102u | uint64_t{103} << 32);
  EXPECT_EQ(machine.s64(22), 108u | uint64_t{109} << 32);
  machine.set_s(slot::kM0, 2 | 5 << 16);
  ASSERT_TRUE(machine.run("s_movrelsd_2_b32 s30, s8"));
  EXPECT_EQ(machine.s(35), 110u);
  machine.set_s(slot::kM0, 0xfffffff0);
  ASSERT_TRUE(machine.run("s_movrels_b32 s20, s4"));
  EXPECT_TRUE(machine.faulted());
}

TEST(Indexed, VectorOperandsOnGfx9) {
  TestMachine machine({.target = kGfx906});
  machine.fill_v(7, 77);
  machine.fill_v(1, 11);
  machine.set_s(4, 6);
  ASSERT_TRUE(machine.run(
      "s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v0, v1\ns_set_gpr_idx_off\nv_mov_b32 v2, v1"));
  EXPECT_EQ(machine.v(0), 77u);
  EXPECT_EQ(machine.v(2), 11u);
  machine.fill_v(9, 0);
  ASSERT_TRUE(machine.run(
      "s_set_gpr_idx_on s4, gpr_idx(DST)\ns_movk_i32 s5, 8\ns_set_gpr_idx_idx s5\n"
      "v_mov_b32 v1, v7\ns_set_gpr_idx_mode gpr_idx(SRC0)\ns_set_gpr_idx_idx 6\nv_mov_b32 v3, "
      "v1\ns_set_gpr_idx_off"));
  EXPECT_EQ(machine.v(9), 77u);
  EXPECT_EQ(machine.v(3), 77u);
}

// --- Hardware registers.

TEST(HardwareRegisters, ModeReachesTheFloatingPointFields) {
  TestMachine machine({.target = kGfx1030, .wave64 = false});
  ASSERT_TRUE(machine.run("s_round_mode 0x9\ns_denorm_mode 0x6"));
  EXPECT_EQ(machine.wave.mode.round_f32, 1);
  EXPECT_EQ(machine.wave.mode.round_f16_f64, 2);
  EXPECT_EQ(machine.wave.mode.denorm_f32, 2);
  EXPECT_EQ(machine.wave.mode.denorm_f16_f64, 1);
  machine.set_s(0, 0xffffffff);
  ASSERT_TRUE(machine.run(
      "s_setreg_b32 hwreg(HW_REG_MODE, 2, 2), s0\ns_getreg_b32 s1, hwreg(HW_REG_MODE, 0, 8)"));
  EXPECT_EQ(machine.s(1), 0x6du);
  ASSERT_TRUE(machine.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 2), 0"));
  EXPECT_FALSE(machine.wave.mode.ieee);
  EXPECT_FALSE(machine.wave.mode.dx10_clamp);
}

TEST(HardwareRegisters, FlatScratchOnGfx10) {
  TestMachine machine({.target = kGfx1030, .wave64 = false});
  machine.set_s64(0, 0x123456789abcdef0);
  ASSERT_TRUE(machine.run(
      "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s0\ns_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s1\n"
      "s_getreg_b32 s2, hwreg(HW_REG_FLAT_SCR_HI)"));
  EXPECT_EQ(machine.wave.s64(slot::kFlatScratchLo), 0x123456789abcdef0u);
  EXPECT_EQ(machine.s(2), 0x12345678u);
}

// --- Scalar memory.

TEST(ScalarMemory, LoadsOfEverySize) {
  TestMachine machine;
  for (uint32_t i = 0; i < 64; ++i) machine.memory.write(TestMachine::kData + 4 * i, 1000 + i);
  machine.set_s64(0, TestMachine::kData + 16);
  machine.set_s(2, 8);
  struct Load {
    const char* text;
    uint32_t first, count;
  };
  for (const Load& load :
       std::initializer_list<Load>{{"s_load_dword s32, s[0:1], 0x0", 4, 1},
                                   {"s_load_dwordx2 s[32:33], s[0:1], 0x8", 6, 2},
                                   {"s_load_dwordx4 s[32:35], s[0:1], s2", 6, 4},
                                   {"s_load_dwordx8 s[32:39], s[0:1], -16", 0, 8},
                                   {"s_load_dwordx16 s[32:47], s[0:1], 0x10", 8, 16}}) {
    for (uint32_t i = 32; i < 49; ++i) machine.set_s(i, 7);
    ASSERT_TRUE(machine.run(load.text));
    ASSERT_FALSE(machine.faulted()) << load.text;
    for (uint32_t i = 0; i < load.count; ++i)
      EXPECT_EQ(machine.s(32 + i), 1000 + load.first + i) << load.text;
    EXPECT_EQ(machine.s(32 + load.count), 7u) << load.text;
  }
  // The result may overwrite the base.
  ASSERT_TRUE(machine.run("s_load_dwordx2 s[0:1], s[0:1], 0x0"));
  EXPECT_EQ(machine.s(0), 1004u);
}

// Neighbours for the GPU, strangers on the host.
TEST(ScalarMemory, CrossesFromOneMappingToTheNext) {
  TestMachine machine({.target = kGfx90a, .wave64 = true});
  constexpr uint64_t kEdge = 0x7000'1000;
  machine.memory.map(kEdge, 4096);
  machine.memory.map(kEdge - 4096, 4096);
  for (uint32_t i = 0; i < 16; ++i) machine.memory.write(kEdge - 32 + 4 * i, 500 + i);
  machine.set_s64(0, kEdge - 32);
  ASSERT_TRUE(machine.run("s_load_dwordx16 s[32:47], s[0:1], 0x0"));
  ASSERT_FALSE(machine.faulted()) << machine.wave.fault.detail;
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(machine.s(32 + i), 500 + i);

  machine.set_s64(4, kEdge - 8);
  machine.set_s(6, 12);
  machine.set_s(7, 0);
  ASSERT_TRUE(machine.run("s_buffer_load_dwordx4 s[12:15], s[4:7], 0x0"));
  ASSERT_FALSE(machine.faulted());
  EXPECT_EQ(machine.s(14), 508u);
  EXPECT_EQ(machine.s(15), 0u);

  machine.set_s64(0, kEdge - 8);
  ASSERT_TRUE(machine.run("s_store_dwordx4 s[32:35], s[0:1], 0x0"));
  ASSERT_FALSE(machine.faulted());
  EXPECT_EQ(machine.memory.read<uint32_t>(kEdge - 4), 501u);
  EXPECT_EQ(machine.memory.read<uint32_t>(kEdge + 4), 503u);

  // Where there is no neighbour, the fault is at its address and nothing is written.
  machine.set_s64(0, kEdge + 4096 - 8);
  ASSERT_TRUE(machine.run("s_store_dwordx4 s[32:35], s[0:1], 0x0"));
  EXPECT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.address.value, kEdge + 4096);
  EXPECT_EQ(machine.memory.read<uint32_t>(kEdge + 4096 - 8), 0u);
}

TEST(ScalarMemory, BufferLoadsStopAtTheEnd) {
  for (const auto& [target, wave64] :
       {std::pair{kGfx90a, true}, {kGfx1030, false}, {kGfx1100, false}}) {
    TestMachine machine({.target = target, .wave64 = wave64});
    for (uint32_t i = 0; i < 8; ++i) machine.memory.write(TestMachine::kData + 4 * i, 1 + i);
    machine.set_s64(4, TestMachine::kData);  // stride 0
    machine.set_s(6, 12);                    // bytes
    machine.set_s(7, 0);
    ASSERT_TRUE(machine.run("s_buffer_load_dwordx4 s[12:15], s[4:7], 0x4"));
    EXPECT_EQ(machine.s(12), 2u);
    EXPECT_EQ(machine.s(13), 3u);
    EXPECT_EQ(machine.s(14), 0u);
    EXPECT_EQ(machine.s(15), 0u);
    machine.set_s(5, 8u << 16);  // stride 8, two records
    machine.set_s(6, 2);
    ASSERT_TRUE(machine.run("s_buffer_load_dwordx4 s[12:15], s[4:7], 0x8"));
    EXPECT_EQ(machine.s(13), 4u);
    EXPECT_EQ(machine.s(14), 0u);
  }
}

TEST(ScalarMemory, StoresAndAtomics) {
  TestMachine machine({.target = kGfx906});
  machine.set_s64(0, TestMachine::kData);
  machine.set_s64(4, 0x1111222233334444);
  ASSERT_TRUE(machine.run("s_store_dwordx2 s[4:5], s[0:1], 0x8"));
  EXPECT_EQ(machine.memory.read<uint64_t>(TestMachine::kData + 8), 0x1111222233334444u);

  TestMachine gfx10({.target = kGfx1010, .wave64 = false});
  gfx10.set_s64(0, TestMachine::kData);
  gfx10.memory.write(TestMachine::kData, uint32_t{40});
  gfx10.set_s(4, 2);
  ASSERT_TRUE(gfx10.run("s_atomic_add s4, s[0:1], 0x0 glc"));
  EXPECT_EQ(gfx10.s(4), 40u);
  EXPECT_EQ(gfx10.memory.read<uint32_t>(TestMachine::kData), 42u);
  gfx10.set_s(4, 99);
  gfx10.set_s(5, 42);
  ASSERT_TRUE(gfx10.run("s_atomic_cmpswap s[4:5], s[0:1], 0x0"));
  EXPECT_EQ(gfx10.s(4), 99u);  // nothing is returned without GLC
  EXPECT_EQ(gfx10.memory.read<uint32_t>(TestMachine::kData), 99u);
}

TEST(ScalarMemory, FaultsAtUnmappedAddresses) {
  TestMachine machine;
  machine.set_s64(0, TestMachine::kData + TestMachine::kDataBytes - 4);
  machine.set_s64(4, 5);
  ASSERT_TRUE(machine.run("s_load_dword s2, s[0:1], 0x0"));
  EXPECT_FALSE(machine.faulted());
  ASSERT_TRUE(machine.run("s_load_dwordx2 s[4:5], s[0:1], 0x0"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kPageFault);
  EXPECT_EQ(machine.wave.fault.address.value, TestMachine::kData + TestMachine::kDataBytes);
  EXPECT_EQ(machine.s64(4), 5u);
}

// --- Translation.

TEST(Translation, FollowsUnmapping) {
  TestMachine machine;
  machine.memory.map(0x900000, 0x1000);
  machine.set_s64(0, 0x900000);
  ASSERT_TRUE(machine.run("s_load_dword s2, s[0:1], 0x0"));
  ASSERT_FALSE(machine.faulted());
  machine.memory.unmap(0x900000);
  ASSERT_TRUE(machine.run("s_load_dword s2, s[0:1], 0x0"));
  EXPECT_TRUE(machine.faulted());
}

TEST(Translation, ScratchIsAWindowOfItsOwn) {
  TestMachine machine({.scratch_bytes_per_lane = 16});
  machine.wave.scratch[8] = std::byte{0xab};
  machine.set_s64(0, kScratchVa);
  ASSERT_TRUE(machine.run("s_load_dword s2, s[0:1], 0x8"));
  EXPECT_EQ(machine.s(2), 0xabu);
  ASSERT_TRUE(machine.run("s_load_dword s2, s[0:1], 0x3fc"));
  EXPECT_FALSE(machine.faulted());
  ASSERT_TRUE(machine.run("s_load_dword s2, s[0:1], 0x400"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kApertureViolation);
}

}  // namespace
}  // namespace wavetap::emu
