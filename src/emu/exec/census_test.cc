// The instructions that real HIP programs use, by count (isa_census_*.csv): every one has
// semantics. The lists are not part of this repository; the test looks for them where WAVETAP_FACTS
// says, or beside the repository.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "emu/testing/sweep.h"
#include "emu/testing/vop_sweep.h"

namespace wavetap::emu {
namespace {

// SOP2, SOPK, SOP1, SOPC, SOPP and SMEM: opcode fields of one dword, operands small registers.
std::vector<Swept> sweep_scalar(const Shape& shape) {
  struct Format {
    uint32_t fixed;
    int opcode_bits, shift;
  };
  const uint32_t smem = shape.target.major == 9 ? 0x30u << 26 : 0x3du << 26;
  const Format kFormats[] = {
      {0x2u << 30, 7, 23},   {0xbu << 28, 5, 23},   {0x17du << 23, 8, 8},
      {0x17eu << 23, 7, 16}, {0x17fu << 23, 7, 16}, {smem, 8, 18},
  };
  std::vector<Swept> found;
  for (const Format& format : kFormats)
    for (uint32_t op = 0; op < 1u << format.opcode_bits; ++op) {
      // Which fields an instruction uses differs; those it does not use must be zero. SMEM takes
      // pairs of dwords.
      for (const uint32_t fields :
           {0x00100404u, 0x00100004u, 0x00100000u, 0x00000004u, 0u, 0x00000282u, 0x00000100u}) {
        for (const uint32_t high : {0u, 0xfa000000u}) {
          const uint32_t opcode = op << format.shift;
          const uint32_t opcode_mask = ((1u << format.opcode_bits) - 1) << format.shift;
          Swept swept;
          if (try_decode(format.fixed | opcode | (fields & ~opcode_mask), high, shape, swept))
            found.push_back(std::move(swept));
          // A one-dword instruction in front of something that decodes as well.
          swept.code.resize(4);
          const uint32_t low = format.fixed | opcode | (fields & ~opcode_mask);
          std::memcpy(swept.code.data(), &low, 4);
          const isa::Program program =
              isa::decode(swept.code, GpuAddr{0x1000}, shape.target, shape.wave64);
          if (program.size() != 1 || program.insts()[0].op == isa::Op::kInvalid) continue;
          swept.inst = program.insts()[0];
          swept.name = isa::op_name(swept.inst.op);
          found.push_back(std::move(swept));
        }
      }
    }
  return found;
}

// Canonical names of what has a handler.
std::set<std::string> implemented(const Shape& shape) {
  std::set<std::string> names;
  const auto add = [&](const Swept& swept) {
    if (find_handler(swept.inst, shape) != nullptr) names.insert(swept.name);
  };
  for (const Swept& swept : sweep_scalar(shape)) add(swept);
  for (const VopEncoding encoding : {VopEncoding::kVop1, VopEncoding::kVop2, VopEncoding::kVopc,
                                     VopEncoding::kVop3, VopEncoding::kVop3p})
    for (const VopSwept& vop : sweep_vop(shape, encoding)) add(vop.swept);
  for (const Swept& swept : sweep_vop3p(shape)) add(swept);
  for (const Swept& swept : sweep_ds(shape, {})) add(swept);
  for (const bool returns : {false, true}) {
    for (const FlatSegment segment :
         {FlatSegment::kFlat, FlatSegment::kGlobal, FlatSegment::kScratch})
      for (const bool saddr : {false, true})
        for (const Swept& swept : sweep_flat(shape, segment, {.returns = returns, .saddr = saddr}))
          add(swept);
    for (const Swept& swept : sweep_buffer(shape, {.returns = returns, .offen = true})) add(swept);
  }
  for (const Swept& swept : sweep_buffer(shape, {.bare = true})) add(swept);
  return names;
}

void check_census(const char* file, std::initializer_list<Shape> shapes) {
  const char* named = std::getenv("WAVETAP_FACTS");
  const std::string path =
      (named != nullptr ? named : std::string(WT_SOURCE_DIR) + "/../shared/facts") + "/" + file;
  std::ifstream census(path);
  if (!census) GTEST_SKIP() << path << " is not there";
  for (const Shape& shape : shapes) {
    const std::set<std::string> known = implemented(shape);
    census.clear();
    census.seekg(0);
    std::string line;
    std::getline(census, line);  // column names
    int checked = 0;
    while (std::getline(census, line)) {
      const std::string mnemonic = line.substr(0, line.find(','));
      if (mnemonic.starts_with("image_")) continue;  // textures are unsupported on purpose
      const isa::Op op = isa::find_op(mnemonic);
      EXPECT_NE(op, isa::Op::kInvalid) << mnemonic;
      EXPECT_TRUE(known.contains(isa::op_name(op)))
          << shape_name(shape) << ": " << mnemonic << " has no handler";
      ++checked;
    }
    EXPECT_GT(checked, 400);
  }
}

TEST(Census, EveryMnemonicOnGfx1030HasAHandler) {
  check_census("isa_census_gfx1030.csv", {{{10, 3, 0}, false}, {{10, 3, 0}, true}});
}

TEST(Census, EveryMnemonicOnGfx90aHasAHandler) {
  check_census("isa_census_gfx90a.csv", {{{9, 0, 10}, true}});
}

}  // namespace
}  // namespace wavetap::emu
