#include "amd/gfx_target.h"

#include <gtest/gtest.h>

namespace wavetap::amd {
namespace {

TEST(GfxTarget, NamesRoundTrip) {
  for (const char* name : {"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"}) {
    const std::optional<GfxTarget> target = parse_gfx_target(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(to_string(*target), name);
  }
}

TEST(GfxTarget, AcceptsTargetIdsAndRejectsNoise) {
  EXPECT_EQ(parse_gfx_target("gfx90a:sramecc+:xnack-"), (GfxTarget{9, 0, 10}));
  for (const char* text : {"", "gfx", "gfx9", "gfx90", "gfxabcd", "sm_80", "gfx10300"})
    EXPECT_FALSE(parse_gfx_target(text)) << text;
}

TEST(GfxTarget, GenericCodeIsTakenForTheFirstOfItsTargets) {
  EXPECT_EQ(parse_gfx_target("gfx10-3-generic"), (GfxTarget{10, 3, 0}));
  EXPECT_EQ(parse_gfx_target("gfx9-4-generic:sramecc+:xnack-"), (GfxTarget{9, 4, 2}));
  EXPECT_EQ(target_from_elf_mach(0x01000053), (GfxTarget{10, 3, 0}));
  EXPECT_EQ(target_from_elf_mach(0x01000054), (GfxTarget{11, 0, 0}));
}

TEST(GfxTarget, KfdNumberAndElfMachine) {
  EXPECT_EQ(kfd_version({10, 3, 0}), 100300u);
  EXPECT_EQ(kfd_version({9, 0, 10}), 90010u);
  EXPECT_EQ(target_from_elf_mach(0x53f), (GfxTarget{9, 0, 10}));
  EXPECT_EQ(target_from_elf_mach(0x0), std::nullopt);
}

}  // namespace
}  // namespace wavetap::amd
