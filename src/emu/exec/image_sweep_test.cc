// Every image instruction of every target: which have semantics, what they announce and which
// registers they use, and that no resource, sampler or address breaks the engine.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "emu/exec/image_resource.h"
#include "emu/register_use.h"
#include "emu/testing/image_sweep.h"

namespace wavetap::emu {
namespace {

// Without semantics on purpose, with the reason.
const std::map<std::string, const char*>& unsupported() {
  static const std::map<std::string, const char*> list = {
      {"image_bvh_intersect_ray", "ray tracing hardware"},
      {"image_bvh64_intersect_ray", "ray tracing hardware"},
      {"image_msaa_load", "several samples per texel: graphics"},
      {"image_get_lod", "derivatives between pixels: graphics"},
      {"image_gather4h", "a footprint of one row: graphics"},
      {"image_load_pck", "texels as raw bits: graphics"},
      {"image_load_pck_sgn", "texels as raw bits: graphics"},
      {"image_load_mip_pck", "texels as raw bits: graphics"},
      {"image_load_mip_pck_sgn", "texels as raw bits: graphics"},
      {"image_store_pck", "texels as raw bits: graphics"},
      {"image_store_mip_pck", "texels as raw bits: graphics"},
  };
  return list;
}

TEST(ImageSweep, OnlyTheListedInstructionsLackSemantics) {
  std::set<std::string> lacking, found;
  for (const Shape& shape : test_shapes()) {
    const std::vector<Swept> all = sweep_image(shape, 1);
    if (shape.target.is_gfx940_family()) {
      EXPECT_TRUE(all.empty()) << "gfx940 has no images";
      continue;
    }
    EXPECT_GE(all.size(), 25u) << shape_name(shape);
    for (const Swept& swept : all) {
      found.insert(swept.name);
      if (find_handler(swept.inst, shape) != nullptr) continue;
      lacking.insert(swept.name);
      EXPECT_TRUE(unsupported().contains(swept.name)) << shape_name(shape) << ": " << swept.name;
    }
  }
  for (const char* name : {"image_load", "image_store_mip", "image_sample_lz",
                           "image_gather4_c_lz_o", "image_atomic_fmax", "image_get_resinfo"})
    EXPECT_TRUE(found.contains(name) && !lacking.contains(name)) << name;
}

TEST(ImageSweep, EveryAccessIsAnnouncedAndCounted) {
  for (const Shape& shape : test_shapes())
    for (const Swept& swept : sweep_image(shape, 1)) {
      if (find_handler(swept.inst, shape) == nullptr) continue;
      const bool is_atomic = swept.name.starts_with("image_atomic");
      // Two components of an atomic are 64 bits, or a comparison of 32.
      if (is_atomic && swept.name.find("cmpswap") == std::string::npos) continue;
      TestMachine machine(
          {.target = shape.target, .wave64 = shape.wave64, .vgprs = 32, .agprs = 0, .count = true});
      set_sound_image(machine, shape);
      machine.set_exec(0x15);
      ASSERT_TRUE(machine.run_code(swept.code)) << swept.name;
      ASSERT_FALSE(machine.faulted())
          << shape_name(shape) << " " << swept.name << ": " << machine.wave.fault.detail;
      const uint64_t taps = (swept.inst.image & isa::image::kGathers) != 0 ? 4 : 1;
      const bool is_store = swept.name.starts_with("image_store");
      const bool is_question = swept.name == "image_get_resinfo";
      const Counters& counters = machine.counters;
      EXPECT_EQ(counters.bytes_global_load, is_atomic || is_store || is_question ? 0 : 3 * 4 * taps)
          << shape_name(shape) << " " << swept.name;
      EXPECT_EQ(counters.bytes_global_store, is_store ? 12u : 0u) << swept.name;
      EXPECT_EQ(counters.bytes_global_atomic, is_atomic ? 12u : 0u) << swept.name;
    }
}

// The registers of which a use says that they are read, or written.
std::set<std::string> uses(TestMachine& machine, const isa::Inst& inst, bool writes) {
  RegisterUses all;
  find_register_uses(machine.wave, inst, all);
  std::set<std::string> names;
  for (const RegisterUse& use : all)
    for (uint32_t i = 0; use.is_write == writes && i < use.count; ++i)
      if (use.file != RegisterFile::kScalar || use.first + i < 100)
        names.insert((use.file == RegisterFile::kVgpr ? "v" : "s") + std::to_string(use.first + i) +
                     (use.bytes == 0xf   ? ""
                      : use.bytes == 0x3 ? ".l"
                                         : ".?"));
  return names;
}

TEST(ImageSweep, RegistersAreThoseOfTheEncoding) {
  using Names = std::set<std::string>;
  TestMachine machine({.target = {10, 3, 0}, .wave64 = false});
  const auto decoded = [&](const char* text) {
    const std::vector<std::byte> code = assemble(text, {10, 3, 0}, false);
    return isa::decode(code, GpuAddr{0x1000}, {10, 3, 0}, false).insts()[0];
  };
  isa::Inst inst = decoded(
      "image_sample_lz v[0:1], [v9, v20], s[8:15], s[16:19] dmask:0x7 dim:SQ_RSRC_IMG_3D a16 d16");
  EXPECT_EQ(uses(machine, inst, true), (Names{"v0", "v1.l"}));
  EXPECT_EQ(uses(machine, inst, false), (Names{"v9", "v20.l", "s8", "s9", "s10", "s11", "s12",
                                               "s13", "s14", "s15", "s16", "s17", "s18", "s19"}));
  inst = decoded("image_atomic_cmpswap v[4:5], v[8:9], s[8:15] dmask:0x3 dim:SQ_RSRC_IMG_2D glc");
  EXPECT_EQ(uses(machine, inst, true), (Names{"v4"}));
  EXPECT_TRUE(uses(machine, inst, false).contains("v5"));
}

// Whatever stands in the registers, the wave goes on or faults.
TEST(ImageSweep, NothingInTheRegistersBreaksTheEngine) {
  uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
  };
  int finished = 0;
  for (const Shape& shape : test_shapes())
    for (uint32_t dim = 0; dim < 8; ++dim)
      for (const Swept& swept : sweep_image(shape, dim)) {
        TestMachine machine(
            {.target = shape.target, .wave64 = shape.wave64, .vgprs = 32, .agprs = 32});
        for (int round = 0; round < 4; ++round) {
          set_sound_image(machine, shape);
          // Mostly sound words with some bits changed: all noise hardly gets past the first check.
          for (uint32_t i = 1; i < 8; ++i)
            machine.set_s(kSweepImage + i, machine.s(kSweepImage + i) ^ (next() & next() & next() &
                                                                         next() & next() & next()));
          for (uint32_t i = 0; i < 4; ++i) machine.set_s(kSweepSampler + i, next());
          for (uint32_t reg = 4; reg < 24; ++reg)
            for (int lane = 0; lane < 8; ++lane)
              machine.set_v(reg, lane, (next() & 1) != 0 ? next() : next() % 20);
          machine.set_exec(0xff);
          machine.wave.state = WaveState::kRunning;
          ASSERT_TRUE(machine.run_code(swept.code));
          finished += machine.faulted() ? 0 : 1;
        }
      }
  EXPECT_GT(finished, 1000);
}

}  // namespace
}  // namespace wavetap::emu
