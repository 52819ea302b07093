#include "emu/lds_reuse.h"

#include <gtest/gtest.h>

#include <string>

#include "emu/testing/machine.h"

namespace wavetap::emu {
namespace {

bool overwrites(const char* text) {
  constexpr amd::GfxTarget kTarget{9, 0, 10};
  const std::string code = std::string(text) + "\ns_endpgm";
  return overwrites_read_lds(
      isa::decode(assemble(code, kTarget, true), GpuAddr{TestMachine::kCode}, kTarget, true));
}

TEST(LdsReuse, ABarrierBetweenReadAndWriteIsEnough) {
  EXPECT_FALSE(overwrites("v_mov_b32 v0, 1"));
  EXPECT_FALSE(overwrites("ds_write_b32 v0, v1\ns_barrier\nds_read_b32 v2, v0"));
  EXPECT_FALSE(overwrites("ds_read_b32 v2, v0\ns_barrier\nds_write_b32 v0, v2"));
  EXPECT_TRUE(overwrites("ds_read_b32 v2, v0\nds_write_b32 v0, v2"));
  EXPECT_TRUE(overwrites("ds_read_b32 v2, v0\nflat_store_dword v[0:1], v2"));
  EXPECT_FALSE(overwrites("ds_read_b32 v2, v0\nglobal_store_dword v[0:1], v2, off"));
  EXPECT_FALSE(
      overwrites("ds_swizzle_b32 v2, v0\nds_bpermute_b32 v1, v0, v2\nds_write_b32 v0, v2"));
}

TEST(LdsReuse, AtomicsReadAndWrite) {
  EXPECT_FALSE(overwrites("ds_add_u32 v0, v1"));
  EXPECT_FALSE(overwrites("ds_add_u32 v0, v1\nds_add_u32 v0, v1"));
  EXPECT_TRUE(overwrites("ds_read_b32 v2, v0\nds_add_u32 v0, v1"));
  EXPECT_TRUE(overwrites("ds_add_rtn_u32 v2, v0, v1\nds_write_b32 v0, v2"));
}

TEST(LdsReuse, EveryWayIsLookedAt) {
  // A tiled product: read behind one barrier, written behind the next.
  EXPECT_FALSE(
      overwrites("again:\nds_write_b32 v0, v1\ns_barrier\nds_read_b32 v2, v0\n"
                 "s_barrier\ns_cbranch_scc1 again"));
  // The same without the second barrier, round the loop.
  EXPECT_TRUE(
      overwrites("again:\nds_write_b32 v0, v1\ns_barrier\nds_read_b32 v2, v0\n"
                 "s_cbranch_scc1 again"));
  // A barrier that can be passed by.
  EXPECT_TRUE(
      overwrites("ds_read_b32 v2, v0\ns_cbranch_scc1 over\ns_barrier\nover:\n"
                 "ds_write_b32 v0, v2"));
  // Nobody comes to the write.
  EXPECT_FALSE(overwrites("ds_read_b32 v2, v0\ns_endpgm\nds_write_b32 v0, v2"));
  // A function may do anything.
  EXPECT_TRUE(overwrites("s_swappc_b64 s[30:31], s[4:5]"));
}

}  // namespace
}  // namespace wavetap::emu
