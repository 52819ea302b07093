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
      if (mnemonic.starts_with("image_")) continue;  // image_sweep_test.cc
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
