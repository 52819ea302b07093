// Loads into half a register: the other half keeps its value, or becomes zero where the register
// file has ECC.
#include <gtest/gtest.h>

#include <string>

#include "emu/testing/machine.h"
#include "emu/testing/targets.h"

namespace wavetap::emu {
namespace {

constexpr uint32_t kOld = 0xaaaabbbb;
constexpr uint16_t kLoaded = 0x1234;

struct D16Load {
  const char* text;
  bool high;
  uint16_t value = kLoaded;
};

// v2: LDS address, s[4:5]: global address, s[8:11]: a raw buffer there.
constexpr D16Load kLoads[] = {
    {"ds_read_u8_d16 v0, v2", false, 0x34},
    {"ds_read_u8_d16_hi v0, v2", true, 0x34},
    {"ds_read_i8_d16 v0, v2", false, 0x34},
    {"ds_read_i8_d16_hi v0, v2", true, 0x34},
    {"ds_read_u16_d16 v0, v2", false},
    {"ds_read_u16_d16_hi v0, v2", true},
    {"global_load_ubyte_d16 v0, v2, s[4:5]", false, 0x34},
    {"global_load_sbyte_d16_hi v0, v2, s[4:5]", true, 0x34},
    {"global_load_short_d16 v0, v2, s[4:5]", false},
    {"global_load_short_d16_hi v0, v2, s[4:5]", true},
    {"flat_load_short_d16 v0, v[4:5]", false},
    {"flat_load_short_d16_hi v0, v[4:5]", true},
    {"scratch_load_short_d16 v0, off, s2", false},
    {"scratch_load_short_d16_hi v0, off, s2", true},
    {"buffer_load_ubyte_d16 v0, off, s[8:11], 0", false, 0x34},
    {"buffer_load_short_d16 v0, off, s[8:11], 0", false},
    {"buffer_load_short_d16_hi v0, off, s[8:11], 0", true},
    {"buffer_load_format_d16_x v0, off, s[8:11], 0", false},
    {"buffer_load_format_d16_hi_x v0, off, s[8:11], 0", true},
};

uint32_t loaded(const D16Load& load, amd::GfxTarget target, bool sram_ecc) {
  const bool wave64 = !target.has_wave32();
  TestMachine machine({.target = target, .wave64 = wave64, .sram_ecc = sram_ecc});
  machine.memory.write<uint16_t>(TestMachine::kData, kLoaded);
  std::memcpy(machine.wave.lds, &kLoaded, sizeof kLoaded);
  for (int lane = 0; lane < machine.wave.lanes; ++lane)
    std::memcpy(machine.wave.scratch + machine.wave.scratch_offset(0, lane), &kLoaded,
                sizeof kLoaded);
  machine.fill_v(0, kOld);
  machine.fill_v(2, 0);
  machine.fill_v(4, TestMachine::kData);
  machine.fill_v(5, 0);
  machine.set_s(2, 0);
  machine.set_s64(4, TestMachine::kData);
  // 64 KiB of 16-bit unsigned integers, x.
  machine.set_s64(8, TestMachine::kData);
  machine.set_s(10, TestMachine::kDataBytes);
  const uint32_t format = target.major == 9 ? 2u << 15 | 4u << 12 : 11u << 12;
  machine.set_s(11, 4 | format | (target.major >= 10 ? 3u << 28 : 0));
  EXPECT_TRUE(machine.run(load.text)) << load.text;
  EXPECT_FALSE(machine.faulted()) << load.text;
  return machine.v(0);
}

void expect_loads(amd::GfxTarget target, bool sram_ecc) {
  for (const D16Load& load : kLoads) {
    const uint32_t value = load.high ? uint32_t{load.value} << 16 : load.value;
    const uint32_t kept = sram_ecc ? 0 : kOld & (load.high ? 0xffffu : 0xffff0000u);
    EXPECT_EQ(loaded(load, target, sram_ecc), value | kept)
        << load.text << " on " << amd::to_string(target) << (sram_ecc ? " with" : " without")
        << " ECC";
  }
}

TEST(D16Loads, ClearTheOtherHalfOnTargetsThatAlwaysHaveEcc) {
  for (const amd::GfxTarget target : {kGfx90a, kGfx942}) {
    EXPECT_TRUE(target.always_has_sram_ecc());
    expect_loads(target, true);
  }
}

TEST(D16Loads, FollowTheDeviceOnTargetsThatMayHaveEcc) {
  for (const amd::GfxTarget target : {kGfx906, kGfx908})
    for (const bool sram_ecc : {false, true}) expect_loads(target, sram_ecc);
}

TEST(D16Loads, KeepTheOtherHalfOnTargetsWithoutEcc) {
  for (const amd::GfxTarget target : {kGfx1030, kGfx1100}) {
    EXPECT_FALSE(target.always_has_sram_ecc());
    expect_loads(target, false);
  }
}

// Three components are one register and a half.
TEST(D16Loads, ClearTheRestOfAnOddVector) {
  for (const bool sram_ecc : {false, true}) {
    TestMachine machine({.target = kGfx908, .sram_ecc = sram_ecc});
    for (uint32_t i = 0; i < 4; ++i)
      machine.memory.write<uint16_t>(TestMachine::kData + 2 * i, static_cast<uint16_t>(0x101 + i));
    machine.fill_v(0, kOld);
    machine.fill_v(1, kOld);
    machine.set_s64(8, TestMachine::kData);
    machine.set_s(10, TestMachine::kDataBytes);
    machine.set_s(11, 4 | 5 << 3 | 6 << 6 | 7 << 9 | 12u << 15 | 4u << 12);  // 16_16_16_16 uint
    ASSERT_TRUE(machine.run("buffer_load_format_d16_xyz v[0:1], off, s[8:11], 0"));
    EXPECT_EQ(machine.v(0), 0x01020101u);
    EXPECT_EQ(machine.v(1), 0x103 | (sram_ecc ? 0 : kOld & 0xffff0000u));
  }
}

TEST(TargetId, SaysWhetherCodeExpectsEcc) {
  EXPECT_TRUE(amd::expects_sram_ecc("gfx908:sramecc+:xnack-"));
  EXPECT_FALSE(amd::expects_sram_ecc("gfx908:sramecc-:xnack-"));
  EXPECT_FALSE(amd::expects_sram_ecc("gfx908"));
  EXPECT_TRUE(amd::expects_sram_ecc("gfx90a"));
  EXPECT_TRUE(amd::expects_sram_ecc("gfx942:xnack+"));
  EXPECT_FALSE(amd::expects_sram_ecc("gfx90a:sramecc-"));
  EXPECT_FALSE(amd::expects_sram_ecc("gfx1030"));
}

}  // namespace
}  // namespace wavetap::emu
