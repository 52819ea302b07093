// Whole dispatches: geometry, initial state, calls, faults, counters.
#include "emu/engine.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emu/compiler.h"
#include "emu/lower.h"
#include "emu/testing/kernel.h"
#include "emu/testing/targets.h"

namespace wavetap::emu {
namespace {

TestKernel::Options options_for(const Configuration& c) {
  return {.target = c.target, .wave64 = c.wave64};
}

// v0, v1, v2 = work-item id, on targets that pack the three into v0.
std::string unpack_ids(amd::GfxTarget target) {
  if (!target.has_packed_work_item_ids()) return "";
  return "v_bfe_u32 v2, v0, 20, 10\nv_bfe_u32 v1, v0, 10, 10\nv_and_b32 v0, 0x3ff, v0\n";
}

class EngineOnTarget : public testing::TestWithParam<Configuration> {};

// Adds one to the element of its global position.
TEST_P(EngineOnTarget, RunsEveryWorkItemOnce) {
  const Configuration c = GetParam();
  struct Geometry {
    uint32_t grid[3];
    uint16_t group[3];
  };
  for (const Geometry& g : std::initializer_list<Geometry>{{{1, 1, 1}, {1, 1, 1}},
                                                           {{64, 1, 1}, {64, 1, 1}},
                                                           {{1000, 1, 1}, {256, 1, 1}},
                                                           {{1024, 1, 1}, {1024, 1, 1}},
                                                           {{37, 23, 1}, {16, 4, 1}},
                                                           {{13, 11, 7}, {4, 3, 2}},
                                                           {{5, 5, 5}, {8, 8, 8}}}) {
    TestKernel kernel(options_for(c), unpack_ids(c.target) + R"(
      s_load_dwordx4 s[8:11], s[0:1], 0x0
      s_load_dwordx4 s[12:15], s[0:1], 0x10
      s_waitcnt lgkmcnt(0)
      s_mul_i32 s2, s2, s12
      s_mul_i32 s3, s3, s13
      s_mul_i32 s4, s4, s14
      v_add3_u32 v0, v0, s2, 0
      v_add3_u32 v1, v1, s3, 0
      v_add3_u32 v2, v2, s4, 0
      v_mul_lo_u32 v2, v2, s11
      v_add3_u32 v1, v1, v2, 0
      v_mul_lo_u32 v1, v1, s10
      v_add3_u32 v0, v0, v1, 0
      v_lshlrev_b32 v3, 2, v0
      v_mov_b32 v4, 1
      global_atomic_add v3, v4, s[8:9]
      s_endpgm)");
    kernel.set_argument64(0, TestKernel::kData);
    kernel.set_argument(8, g.grid[0]);
    kernel.set_argument(12, g.grid[1]);
    for (int axis = 0; axis < 3; ++axis) {
      kernel.set_argument(16 + 4 * axis, g.group[axis]);
      kernel.dispatch.grid_size[axis] = g.grid[axis];
      kernel.dispatch.workgroup_size[axis] = g.group[axis];
    }
    Engine engine({.threads = 2});
    const DispatchResult result = engine.run(kernel.dispatch);
    ASSERT_FALSE(result.fault) << fault_name(result.fault->kind) << " " << result.fault->detail;
    const uint32_t items = g.grid[0] * g.grid[1] * g.grid[2];
    for (uint32_t i = 0; i < items; ++i) ASSERT_EQ(kernel.data(i), 1u) << i << " of " << items;
    ASSERT_EQ(kernel.data(items), 0u);
  }
}

// Each work-item writes to LDS and reads what the work-item opposite wrote, waves apart.
TEST_P(EngineOnTarget, MakesWavesMeetAtABarrier) {
  const Configuration c = GetParam();
  const std::string subtract = c.target.major >= 10 ? "v_sub_nc_u32" : "v_sub_u32";
  TestKernel kernel(options_for(c), R"(
      s_load_dwordx2 s[8:9], s[0:1], 0x0
      s_mov_b32 m0, -1
      v_lshlrev_b32 v3, 2, v0
      v_mul_u32_u24 v4, v0, v0
      ds_write_b32 v3, v4
      s_waitcnt lgkmcnt(0)
      s_barrier
      )" + subtract + R"( v5, 0xffc, v3
      ds_read_b32 v6, v5
      s_waitcnt lgkmcnt(0)
      global_store_dword v3, v6, s[8:9]
      s_endpgm)");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(1024, 1024);
  kernel.dispatch.group_segment_bytes = 4096;
  Engine engine({.threads = 1});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_FALSE(result.fault) << fault_name(result.fault->kind) << " " << result.fault->detail;
  for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(kernel.data(i), (1023 - i) * (1023 - i));
}

INSTANTIATE_TEST_SUITE_P(Targets, EngineOnTarget, testing::ValuesIn(kConfigurations),
                         configuration_name);

// --- Initial state. The kernel stores the SGPRs it starts with.

std::string store_sgprs(uint32_t count) {
  std::string text = "s_mov_b32 s40, 0x400000\ns_mov_b32 s41, 0\nv_mov_b32 v10, 0\n";
  for (uint32_t i = 0; i < count; ++i)
    text += "v_mov_b32 v11, s" + std::to_string(i) +
            "\nglobal_store_dword v10, v11, s[40:41] offset:" + std::to_string(i * 4) + "\n";
  return text + "s_endpgm\n";
}

TEST(InitialState, OrdersUserAndSystemSgprs) {
  for (const Configuration& c :
       {Configuration{kGfx1030, false}, {kGfx1030, true}, {kGfx906, true}}) {
    constexpr uint16_t kAll = amd::kPrivateSegmentBuffer | amd::kDispatchPtr | amd::kQueuePtr |
                              amd::kKernargSegmentPtr | amd::kDispatchId | amd::kFlatScratchInit |
                              amd::kPrivateSegmentSize;
    TestKernel::Options options = options_for(c);
    options.properties = kAll;
    options.user_sgprs = 16;
    options.private_segment = true;
    TestKernel kernel(options, store_sgprs(20));
    amd::KernelDescriptor descriptor = kernel.descriptor();
    descriptor.rsrc2 |= 1u << 10;  // workgroup info
    kernel.set_descriptor(descriptor);
    kernel.dispatch.packet = {0x1111222233334444};
    kernel.dispatch.queue = {0x5555666677778888};
    kernel.dispatch.dispatch_id = 0x99;
    kernel.dispatch.private_segment_bytes = 20;
    kernel.dispatch.grid_size[1] = 2;
    kernel.dispatch.grid_size[2] = 3;
    Engine engine({.threads = 1});
    const DispatchResult result = engine.run(kernel.dispatch);
    ASSERT_FALSE(result.fault) << result.fault->detail;
    const uint32_t lanes = c.wave64 ? 64 : 32;
    const uint32_t bytes_per_lane = (20 * lanes + 1023) / 1024 * 1024 / lanes;
    EXPECT_EQ(kernel.data(0), static_cast<uint32_t>(kScratchVa));
    EXPECT_EQ(kernel.data(1), static_cast<uint32_t>(kScratchVa >> 32) | 1u << 31);
    EXPECT_EQ(kernel.data(2), bytes_per_lane * lanes);
    EXPECT_EQ(kernel.data(3) >> 21 & 7, c.wave64 ? 7u : 6u);  // index stride, add tid
    EXPECT_EQ(kernel.data(4), 0x33334444u);
    EXPECT_EQ(kernel.data(5), 0x11112222u);
    EXPECT_EQ(kernel.data(6), 0x77778888u);
    EXPECT_EQ(kernel.data(8), static_cast<uint32_t>(TestKernel::kArguments));
    EXPECT_EQ(kernel.data(10), 0x99u);
    EXPECT_EQ(kernel.data(12), static_cast<uint32_t>(kScratchVa));
    EXPECT_EQ(kernel.data(13), static_cast<uint32_t>(kScratchVa >> 32));
    EXPECT_EQ(kernel.data(14), 20u);
    EXPECT_EQ(kernel.data(15), 0u);  // padding
    // The last workgroup to run wrote last: one thread runs them in order.
    EXPECT_EQ(kernel.data(16), 0u);
    EXPECT_EQ(kernel.data(17), 1u);
    EXPECT_EQ(kernel.data(18), 2u);
    EXPECT_EQ(kernel.data(19), 0x80000001u);  // first wave of one
  }
}

TEST(InitialState, ArchitectedScratchTakesNoSgprs) {
  for (const Configuration& c : {Configuration{kGfx942, true}, {kGfx1100, false}}) {
    TestKernel::Options options = options_for(c);
    options.properties =
        amd::kPrivateSegmentBuffer | amd::kKernargSegmentPtr | amd::kFlatScratchInit;
    options.private_segment = true;
    TestKernel kernel(options, store_sgprs(6));
    kernel.dispatch.grid_size[2] = 2;
    Engine engine({.threads = 1});
    ASSERT_FALSE(engine.run(kernel.dispatch).fault);
    EXPECT_EQ(kernel.data(0), static_cast<uint32_t>(TestKernel::kArguments));
    EXPECT_EQ(kernel.data(4), 1u);  // workgroup id z
    EXPECT_EQ(kernel.data(5), 0u);  // no wave offset
  }
}

TEST(InitialState, PreloadsKernelArguments) {
  TestKernel::Options options{.target = kGfx942};
  options.user_sgprs = 5;
  TestKernel kernel(options, "s_trap 2");  // code for firmware that does not preload
  ASSERT_TRUE(
      kernel.set_code(store_sgprs(6), TestKernel::kObject + TestKernel::kEntryOffset + 256));
  amd::KernelDescriptor descriptor = kernel.descriptor();
  descriptor.kernarg_preload = 3 | 1 << 7;  // three dwords from the second on
  kernel.set_descriptor(descriptor);
  for (uint32_t i = 0; i < 8; ++i) kernel.set_argument(i * 4, 100 + i);
  kernel.dispatch.grid_size[0] = 2;
  Engine engine({.threads = 1});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(kernel.data(0), static_cast<uint32_t>(TestKernel::kArguments));
  EXPECT_EQ(kernel.data(2), 101u);
  EXPECT_EQ(kernel.data(4), 103u);
  EXPECT_EQ(kernel.data(5), 1u);  // workgroup id x
}

TEST(InitialState, HardwareRegistersAndApertures) {
  TestKernel kernel({.target = kGfx90a}, R"(
      s_getreg_b32 s8, hwreg(HW_REG_SH_MEM_BASES)
      s_getreg_b32 s9, hwreg(HW_REG_MODE, 0, 10)
      s_getreg_b32 s10, hwreg(HW_REG_LDS_ALLOC, 12, 9)
      s_mov_b64 s[12:13], src_shared_base
      s_mov_b64 s[14:15], src_private_base
      s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 5
      s_getreg_b32 s11, hwreg(HW_REG_MODE, 0, 10)
      )" + store_sgprs(16));
  kernel.dispatch.group_segment_bytes = 1000;
  Engine engine({.threads = 1});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(kernel.data(8), 0x00010002u);
  EXPECT_EQ(kernel.data(9), 0x3f0u);
  EXPECT_EQ(kernel.data(10), 2u);  // of 512 bytes
  EXPECT_EQ(kernel.data(12), 0u);
  EXPECT_EQ(kernel.data(13), 0x10000u);
  EXPECT_EQ(kernel.data(15), 0x20000u);
  EXPECT_EQ(kernel.data(11), 0x350u);
}

// --- Calls and code that changes.

constexpr char kCaller[] = R"(
    s_mov_b32 s40, 0x400000
    s_mov_b32 s41, 0
    v_mov_b32 v10, 0
    s_mov_b32 s20, 0x204000
    s_mov_b32 s21, 0
    s_mov_b32 s8, 0
    s_mov_b32 s9, 100
  loop:
    s_swappc_b64 s[30:31], s[20:21]
    s_sub_u32 s9, s9, 1
    s_cmp_lg_u32 s9, 0
    s_cbranch_scc1 loop
    v_mov_b32 v11, s8
    global_store_dword v10, v11, s[40:41]
    s_endpgm)";
constexpr uint64_t kCallee = 0x204000;

// Says of every hot kernel that its waves read v5 alone before they write.
class SaysWhatIsRead final : public Compiler {
 public:
  void compile(std::shared_ptr<const LoweredCode> code, int32_t, Heat) noexcept override {
    code->say_rows_read_at_start({{5, 6}});
  }
};

TEST(InitialState, RegistersThatNobodyReadsAreNotCleared) {
  // v5 + 1 and v6 + 1 of every work-item, which leaves 7 in both.
  TestKernel kernel({.target = kGfx1030, .wave64 = false}, R"(
      v_lshlrev_b32 v3, 3, v0
      s_lshl_b32 s2, s2, 9
      v_add_nc_u32 v3, s2, v3
      s_mov_b32 s40, 0x400000
      s_mov_b32 s41, 0
      v_add_nc_u32 v7, 1, v5
      v_add_nc_u32 v8, 1, v6
      v_mov_b32 v5, 7
      v_mov_b32 v6, 7
      global_store_dwordx2 v3, v[7:8], s[40:41]
      s_endpgm
    )");
  constexpr uint32_t kItems = 1010 * 64 + 48;  // the last workgroup has half a wave
  kernel.set_size(kItems, 64);
  SaysWhatIsRead compiler;
  Engine engine({.threads = 1, .compiler = &compiler});
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  EXPECT_EQ(kernel.data(1), 1u);  // nobody had said anything then
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  for (uint32_t i = 0; i < kItems; ++i) {
    ASSERT_EQ(kernel.data(2 * i), 1u) << i;
    if (i < 64) continue;
    ASSERT_EQ(kernel.data(2 * i + 1), i < kItems - 16 ? 8u : 1u) << i;
  }
}

TEST(Code, CallsAFunctionFarAwayAndReturns) {
  TestKernel kernel({}, kCaller);
  ASSERT_TRUE(kernel.set_code("s_add_u32 s8, s8, 3\ns_setpc_b64 s[30:31]", kCallee));
  Engine engine({.threads = 1});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(kernel.data(0), 300u);
}

TEST(Code, IsDecodedAgainAfterItWasRewritten) {
  TestKernel kernel({}, kCaller);
  Engine engine({.threads = 1});
  for (const uint32_t step : {1u, 2u, 7u}) {
    ASSERT_TRUE(kernel.set_code(
        "s_add_u32 s8, s8, " + std::to_string(step) + "\ns_setpc_b64 s[30:31]", kCallee));
    ASSERT_FALSE(engine.run(kernel.dispatch).fault);
    EXPECT_EQ(kernel.data(0), 100 * step);
  }
  ASSERT_TRUE(kernel.set_code(std::string("s_nop 0\n") + kCaller));  // the entry itself moves
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  EXPECT_EQ(kernel.data(0), 700u);
  engine.invalidate_code({TestKernel::kObject}, TestKernel::kCodeBytes);
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
}

TEST(Code, LongerThanAnyDecodedBlockStillRuns) {
  std::string text =
      "s_mov_b32 s8, 0\ns_mov_b32 s40, 0x400000\ns_mov_b32 s41, 0\nv_mov_b32 v10, 0\n";
  for (int i = 0; i < 7000; ++i) text += "s_add_u32 s8, s8, 0x10001\n";  // eight bytes each
  text += "v_mov_b32 v11, s8\nglobal_store_dword v10, v11, s[40:41]\ns_endpgm";
  TestKernel kernel({}, text);
  Engine engine({.threads = 1});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(kernel.data(0), 7000u * 0x10001);
}

// --- Faults.

Fault fault_of(TestKernel& kernel, const EngineOptions& options = {.threads = 1}) {
  Engine engine(options);
  const DispatchResult result = engine.run(kernel.dispatch);
  EXPECT_TRUE(result.fault.has_value());
  return result.fault.value_or(Fault{});
}

TEST(Faults, NameTheInstructionTheWaveAndTheAddress) {
  TestKernel kernel({}, R"(
      s_cmp_eq_u32 s2, 5
      s_cbranch_scc0 end
      s_mov_b32 s8, 0x66660000
      s_mov_b32 s9, 0x7
      v_mov_b32 v1, 0x40
      v_mov_b32 v3, 66
      v_cmp_gt_u32 vcc, 0x46, v0
      v_cmp_lt_u32 s[10:11], v3, v0
      s_and_b64 exec, vcc, s[10:11]
      s_cbranch_execz end
      global_load_dword v2, v1, s[8:9]
    end:
      s_endpgm)");
  kernel.set_size(1024, 128);
  const Fault fault = fault_of(kernel);
  EXPECT_EQ(fault.kind, FaultKind::kPageFault);
  EXPECT_EQ(fault.address.value, 0x766660040u);
  EXPECT_FALSE(fault.is_write);
  EXPECT_EQ(fault.workgroup[0], 5u);
  EXPECT_EQ(fault.wave, 1u);
  EXPECT_EQ(fault.lane, 67 - 64);
  EXPECT_TRUE(fault.wave64);
  EXPECT_EQ(fault.kernel_object.value, TestKernel::kObject);
  EXPECT_EQ(kernel.memory.read<uint64_t>(fault.pc.value), fault.encoding);
  const std::vector<std::byte> load = assemble("global_load_dword v2, v1, s[8:9]", kGfx90a, true);
  EXPECT_EQ(std::memcmp(&fault.encoding, load.data(), 8), 0);
}

TEST(Faults, ByKind) {
  struct Expectation {
    const char* code;
    FaultKind kind;
  };
  for (const Expectation& e : std::initializer_list<Expectation>{
           {".long 0xffffffff", FaultKind::kIllegalInstruction},
           {"s_trap 2", FaultKind::kTrap},
           {"s_sethalt 1", FaultKind::kTrap},
           {"v_mov_b32 v200, 0\ns_endpgm", FaultKind::kBadDescriptor},
           {"s_mov_b32 s4, 0x40\ns_mov_b32 s5, 0\ns_load_dword s6, s[4:5], 0x0\ns_endpgm",
            FaultKind::kPageFault},
           {"s_mov_b32 s4, 0x40\ns_mov_b32 s5, 0\ns_setpc_b64 s[4:5]", FaultKind::kPageFault},
           {"s_setpc_b64 s[0:1]", FaultKind::kExecuteForbidden},
           {"s_mov_b32 s4, 0x40\ns_mov_b32 s5, 0x30000\ns_load_dword s6, s[4:5], 0x0\ns_endpgm",
            FaultKind::kApertureViolation},
           {"s_nop 0\n.fill 64, 4, 0xbf9f0000", FaultKind::kIllegalInstruction}}) {
    TestKernel kernel({}, e.code);
    EXPECT_EQ(fault_of(kernel).kind, e.kind) << e.code;
  }
}

// One file on gfx90a, of 64 here: a0 is v32.
TEST(Registers, VgprsMayReachIntoTheAgprs) {
  TestKernel kernel({}, R"(
      s_load_dwordx2 s[2:3], s[0:1], 0x0
      v_mov_b32 v6, 5
      v_mov_b32 v40, 7
      v_add_u32 v41, v40, v6
      v_accvgpr_read_b32 v2, a8
      v_accvgpr_read_b32 v3, a9
      v_lshlrev_b32 v0, 3, v0
      s_waitcnt lgkmcnt(0)
      global_store_dwordx2 v0, v[2:3], s[2:3]
      s_endpgm)");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(64, 64);
  Engine engine({.threads = 1});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_FALSE(result.fault) << fault_name(result.fault->kind) << " " << result.fault->detail;
  for (uint32_t lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(kernel.data(2 * lane), 7u);
    EXPECT_EQ(kernel.data(2 * lane + 1), 12u);
  }
}

TEST(Faults, RegistersBeyondTheDescriptor) {
  TestKernel kernel({}, "v_mov_b32 v63, 0\nv_accvgpr_write_b32 a31, 1\ns_endpgm");
  Engine engine({.threads = 1});
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  for (const auto& [code, granted] : std::map<std::string, std::string>{
           {"v_mov_b32 v64, 0", "grants 64"},
           {"v_accvgpr_write_b32 a32, 1", "grants 32"},
           {"global_load_dwordx4 v[62:65], v0, s[0:1]", "grants 64"},
           {"v_add_f64 v[30:31], v[28:29], v[64:65]", "grants 64"}}) {
    TestKernel other({}, code.c_str());
    const Fault fault = fault_of(other);
    EXPECT_EQ(fault.kind, FaultKind::kBadDescriptor) << code;
    EXPECT_NE(std::string(fault.detail).find(granted), std::string::npos) << fault.detail;
  }
}

TEST(Faults, InvalidDispatches) {
  const auto expect_bad = [](auto change) {
    TestKernel kernel({}, "s_endpgm");
    change(kernel);
    const Fault fault = fault_of(kernel);
    EXPECT_EQ(fault.kind, FaultKind::kBadDescriptor);
    EXPECT_STRNE(fault.detail, "");
  };
  expect_bad([](TestKernel& k) { k.dispatch.kernel_object = {0x99999000}; });
  expect_bad([](TestKernel& k) { k.dispatch.grid_size[1] = 0; });
  expect_bad([](TestKernel& k) { k.dispatch.workgroup_size[2] = 0; });
  expect_bad([](TestKernel& k) { k.dispatch.workgroup_size[0] = 1025; });
  expect_bad(
      [](TestKernel& k) { k.dispatch.workgroup_size[0] = k.dispatch.workgroup_size[1] = 33; });
  expect_bad([](TestKernel& k) { k.dispatch.group_segment_bytes = 65537; });
  expect_bad([](TestKernel& k) { k.dispatch.private_segment_bytes = 1 << 20; });
  expect_bad([](TestKernel& k) {
    amd::KernelDescriptor d = k.descriptor();
    d.properties |= amd::kWavefrontSize32;
    k.set_descriptor(d);
  });
  expect_bad([](TestKernel& k) {
    amd::KernelDescriptor d = k.descriptor();
    d.entry_offset = 0x102;
    k.set_descriptor(d);
  });
  expect_bad([](TestKernel& k) {
    for (int axis = 0; axis < 3; ++axis) k.dispatch.grid_size[axis] = ~0u;
  });
}

TEST(Faults, AWriteToReadOnlyMemory) {
  TestKernel kernel({}, R"(
      s_mov_b32 s8, 0x500000
      s_mov_b32 s9, 0
      v_mov_b32 v1, 0
      global_store_dword v1, v1, s[8:9] offset:16
      s_endpgm)");
  kernel.memory.map(0x500000, 0x1000, /*writable=*/false);
  const Fault fault = fault_of(kernel);
  EXPECT_EQ(fault.kind, FaultKind::kWriteToReadOnly);
  EXPECT_TRUE(fault.is_write);
  EXPECT_EQ(fault.address.value, 0x500010u);
}

// A guard as an adapter would write it.
thread_local sigjmp_buf* t_landing = nullptr;
thread_local uint64_t t_fault_address = 0;
void on_fault(int, siginfo_t* info, void*) {
  t_fault_address = reinterpret_cast<uint64_t>(info->si_addr);
  if (t_landing != nullptr) siglongjmp(*t_landing, 1);
}
bool guard(void (*body)(void*), void* arg, uint64_t* fault_address) {
  sigjmp_buf landing;
  t_landing = &landing;
  if (sigsetjmp(landing, 1) != 0) {
    t_landing = nullptr;
    *fault_address = t_fault_address;
    return false;
  }
  body(arg);
  t_landing = nullptr;
  return true;
}

class VanishedMemory : public testing::Test {
 protected:
  static constexpr uint64_t kAddress = 0x500000;
  static constexpr size_t kBytes = 0x1000;

  VanishedMemory() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_);
    host_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~VanishedMemory() override {
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(host_, kBytes);
  }

  // With the memory, and then without.
  std::optional<Fault> fault_of(TestKernel& kernel) {
    kernel.memory.map_host(kAddress, {static_cast<std::byte*>(host_), kBytes}, true, false);
    EngineOptions options{.threads = 1};
    options.run_guarded = guard;
    Engine engine(options);
    EXPECT_FALSE(engine.run(kernel.dispatch).fault);
    mprotect(host_, kBytes, PROT_NONE);
    return engine.run(kernel.dispatch).fault;
  }

 private:
  struct sigaction before_ {};
  void* host_ = nullptr;
};

TEST_F(VanishedMemory, IsAPageFault) {
  TestKernel kernel({}, R"(
      s_mov_b32 s8, 0x500000
      s_mov_b32 s9, 0
      v_mov_b32 v1, 0
      global_store_dword v1, v1, s[8:9] offset:64
      s_endpgm)");
  const std::optional<Fault> fault = fault_of(kernel);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kPageFault);
  EXPECT_EQ(fault->address.value, kAddress + 64);
}

// Waves that only come to a barrier share a guard.
TEST_F(VanishedMemory, IsAFaultOfTheWaveThatUsesIt) {
  TestKernel kernel({}, R"(
      s_mov_b32 s8, 0x500000
      s_mov_b32 s9, 0
      v_mov_b32 v1, 0
      v_readfirstlane_b32 s10, v0
      s_barrier
      s_cmp_eq_u32 s10, 128
      s_cbranch_scc0 others
      global_store_dword v1, v1, s[8:9] offset:64
    others:
      s_barrier
      s_endpgm)");
  kernel.set_size(256, 256);
  const std::optional<Fault> fault = fault_of(kernel);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kPageFault);
  EXPECT_EQ(fault->address.value, kAddress + 64);
  EXPECT_EQ(fault->wave, 2u);
}

int guards_of(const char* code, uint32_t items) {
  TestKernel kernel({}, code);
  kernel.set_size(items, items);
  static int guards;
  guards = 0;
  EngineOptions options{.threads = 1};
  options.run_guarded = [](void (*body)(void*), void* arg, uint64_t*) {
    ++guards;
    body(arg);
    return true;
  };
  Engine engine(options);
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  return guards;
}

TEST(Guard, IsOneForAllWavesUntilTheyEnd) {
  const int once = guards_of("s_barrier\ns_endpgm", 128);
  EXPECT_EQ(guards_of("s_barrier\ns_endpgm", 1024), once);
  EXPECT_EQ(guards_of("s_barrier\ns_nop 0\ns_barrier\ns_barrier\ns_endpgm", 1024), once);
}

// --- Counters and messages.

TEST(Counters, AreExact) {
  TestKernel kernel({}, R"(
      s_load_dwordx2 s[8:9], s[0:1], 0x0
      s_waitcnt lgkmcnt(0)
      s_mov_b32 s10, 10
    loop:
      v_fma_f32 v2, v1, v1, v2
      v_add_f64 v[4:5], v[4:5], v[4:5]
      s_sub_u32 s10, s10, 1
      s_cmp_lg_u32 s10, 0
      s_cbranch_scc1 loop
      v_lshlrev_b32 v3, 2, v0
      ds_write_b32 v3, v2
      s_barrier
      global_store_dword v3, v2, s[8:9]
      s_endpgm)");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(100, 100);  // one wave of 64 and one of 36
  kernel.dispatch.group_segment_bytes = 512;
  kernel.dispatch.count = true;
  Engine engine({.threads = 2});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_FALSE(result.fault) << result.fault->detail;
  const Counters& c = result.counters;
  EXPECT_EQ(c.waves, 2u);
  EXPECT_EQ(c.workgroups, 1u);
  EXPECT_EQ(c.instructions, 2u * (3 + 5 * 10 + 5));
  EXPECT_EQ(c.valu, 2u * 21);
  EXPECT_EQ(c.salu, 2u * 21);
  EXPECT_EQ(c.smem, 2u);
  EXPECT_EQ(c.waitcnt, 2u);
  EXPECT_EQ(c.branch, 20u);
  EXPECT_EQ(c.branch_taken, 18u);
  EXPECT_EQ(c.lds, 2u);
  EXPECT_EQ(c.barrier, 2u);
  EXPECT_EQ(c.vmem_store, 2u);
  EXPECT_EQ(c.valu_lanes, 100u * 21);
  EXPECT_EQ(c.valu_lane_slots, 128u * 21);
  EXPECT_EQ(c.flops_f32, 100u * 20);
  EXPECT_EQ(c.flops_f64, 100u * 10);
  EXPECT_EQ(c.bytes_global_store, 400u);
  EXPECT_EQ(c.bytes_lds, 400u);
  EXPECT_EQ(c.bytes_scalar, 16u);
}

struct CountingHost final : Host {
  std::atomic<int> interrupts{0};
  std::atomic<uint64_t> ticks{1000};
  void interrupt() noexcept override { ++interrupts; }
  uint64_t clock_ticks() noexcept override { return ++ticks; }
};

TEST(Messages, ReachTheHost) {
  TestKernel kernel(
      {}, "s_sendmsg sendmsg(MSG_INTERRUPT)\ns_nop 0\ns_sendmsg sendmsg(MSG_INTERRUPT)\ns_endpgm");
  CountingHost host;
  kernel.dispatch.host = &host;
  kernel.set_size(128, 64);
  Engine engine({.threads = 1});
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  EXPECT_EQ(host.interrupts, 4);
}

TEST(Messages, TheClockNeverGoesBack) {
  TestKernel kernel({}, R"(
      s_memtime s[8:9]
      s_memrealtime s[10:11]
      s_memtime s[12:13]
      )" + store_sgprs(14));
  CountingHost host;
  kernel.dispatch.host = &host;
  Engine engine({.threads = 1});
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  EXPECT_LT(kernel.data(8), kernel.data(12));
  EXPECT_GT(kernel.data(10), 1000u);
}

}  // namespace
}  // namespace wavetap::emu
