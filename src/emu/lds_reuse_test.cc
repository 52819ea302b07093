#include "emu/lds_reuse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emu/testing/machine.h"

namespace wavetap::emu {
namespace {

// Before which instructions turns end.
std::vector<int> ends(const char* text) {
  constexpr amd::GfxTarget kTarget{9, 0, 10};
  const std::string code = std::string(text) + "\ns_endpgm";
  const std::vector<uint8_t> flags = find_turn_ends(
      isa::decode(assemble(code, kTarget, true), GpuAddr{TestMachine::kCode}, kTarget, true));
  std::vector<int> found;
  for (size_t i = 0; i < flags.size(); ++i)
    if (flags[i] != 0) found.push_back(static_cast<int>(i));
  return found;
}
bool overwrites(const char* text) { return !ends(text).empty(); }

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
  EXPECT_TRUE(overwrites("s_swappc_b64 s[30:31], s[4:5]\nds_write_b32 v0, v2"));
  EXPECT_TRUE(overwrites("ds_write_b32 v0, v2\ns_setpc_b64 s[30:31]"));
}

TEST(LdsReuse, TurnsEndWhereReadingBecomesWriting) {
  using Places = std::vector<int>;
  EXPECT_EQ(ends("ds_read_b32 v2, v0\nds_read_b32 v3, v0\nds_write_b32 v0, v2\n"
                 "ds_write_b32 v0, v3 offset:4"),
            Places{2});
  EXPECT_EQ(ends("ds_read_b32 v2, v0\nds_write_b32 v0, v2\nds_read_b32 v2, v0\n"
                 "ds_write_b32 v0, v2"),
            (Places{1, 2, 3}));
  // Behind a barrier others may still read, but only where kernels are known to be careless.
  EXPECT_EQ(ends("ds_write_b32 v0, v1\ns_barrier\nds_write_b32 v0, v1\nds_write_b32 v0, v1\n"
                 "s_barrier\nds_read_b32 v2, v0\nds_write_b32 v0, v2"),
            (Places{2, 6}));
  EXPECT_EQ(ends("ds_write_b32 v0, v1\ns_barrier\nds_write_b32 v0, v1"), Places{});
  // Reduced by halves: the end of a turn lies between read and write of each round.
  EXPECT_EQ(ends("again:\nds_read_b32 v2, v0\nv_add_u32 v2, v2, v2\nds_write_b32 v0, v2\n"
                 "s_barrier\ns_cbranch_scc1 again"),
            Places{2});
}

}  // namespace
}  // namespace wavetap::emu
