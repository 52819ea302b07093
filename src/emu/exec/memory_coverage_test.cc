// Which memory and matrix instructions have no semantics: exactly the ones listed here, on every
// target.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "emu/testing/sweep.h"

namespace wavetap::emu::memory_coverage_test {
namespace {

// Without semantics on purpose, with the reason.
const std::map<std::string, const char*>& unsupported() {
  static const std::map<std::string, const char*> list = {
      {"ds_bvh_stack_rtn_b32", "traversal stack of ray tracing hardware"},
  };
  return list;
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> prefixes) {
  for (const char* prefix : prefixes)
    if (name.rfind(prefix, 0) == 0) return true;
  return false;
}

// Everything the sweeps find on one target; global data share apart.
std::vector<Swept> all_of(const Shape& shape, bool gds) {
  std::vector<Swept> all;
  const auto add = [&](std::vector<Swept> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  if (gds) {
    add(sweep_ds(shape, {}, true));
    return all;
  }
  add(sweep_ds(shape, {}));
  for (const bool returns : {false, true}) {
    for (const FlatSegment segment :
         {FlatSegment::kFlat, FlatSegment::kGlobal, FlatSegment::kScratch}) {
      add(sweep_flat(shape, segment, {.returns = returns}));
      add(sweep_flat(shape, segment, {.returns = returns, .saddr = true}));
    }
    add(sweep_buffer(shape, {.returns = returns, .offen = true}));
  }
  add(sweep_buffer(shape, {.lds = true}));
  add(sweep_buffer(shape, {.bare = true}));
  add(sweep_flat(shape, FlatSegment::kGlobal, {.lds = true}));
  add(sweep_buffer(shape, {.offen = true, .format = 1}, true));
  if (!shape.target.is_gfx90a_family()) {
    add(sweep_buffer(shape, {.offen = true, .tfe = true}));
    add(sweep_buffer(shape, {.offen = true, .tfe = true, .format = 1}, true));
  }
  for (Swept& swept : sweep_vop3p(shape))
    if (swept.inst.family == isa::Family::kMatrix || starts_with_any(swept.name, {"v_accvgpr"}))
      all.push_back(std::move(swept));
  return all;
}

TEST(MemoryCoverage, OnlyTheListedInstructionsLackSemantics) {
  std::set<std::string> lacking;
  int with_status = 0;
  for (const Shape& shape : test_shapes()) {
    const std::vector<Swept> all = all_of(shape, false);
    EXPECT_GE(all.size(), 500u) << shape_name(shape);
    for (const Swept& swept : all) {
      if (swept.inst.tfe) {
        EXPECT_EQ(find_handler(swept.inst, shape) != nullptr,
                  swept.name.find("_load_") != std::string::npos)
            << shape_name(shape) << ": " << swept.name << " with tfe";
        with_status += 1;
        continue;
      }
      if (find_handler(swept.inst, shape) != nullptr) continue;
      lacking.insert(swept.name);
      EXPECT_TRUE(unsupported().contains(swept.name))
          << shape_name(shape) << ": " << swept.name << " has no handler";
    }
  }
  EXPECT_GT(with_status, 100);
  for (const auto& [name, reason] : unsupported())
    EXPECT_TRUE(lacking.contains(name))
        << name << " is listed as unsupported (" << reason << ") but has a handler";
}

TEST(MemoryCoverage, OfGlobalDataShareOnlyWaveSyncHasSemantics) {
  for (const Shape& shape : test_shapes()) {
    for (const Swept& swept : all_of(shape, true)) {
      // gfx90a and gfx940 have no global data share; there the bit says nothing.
      if (!swept.inst.gds &&
          !starts_with_any(swept.name, {"ds_gws", "ds_ordered_count", "ds_add_gs", "ds_sub_gs"}))
        continue;
      EXPECT_EQ(find_handler(swept.inst, shape) != nullptr, starts_with_any(swept.name, {"ds_gws"}))
          << shape_name(shape) << ": " << swept.name;
    }
  }
}

// The sweeps themselves miss nothing: every operation of these families turns up on some target.
TEST(MemoryCoverage, EveryOperationIsFoundBySomeSweep) {
  std::set<std::string> found;
  for (const Shape& shape : test_shapes())
    for (const bool gds : {false, true})
      for (const Swept& swept : all_of(shape, gds)) found.insert(swept.name);
  for (uint16_t op = 1; op < static_cast<uint16_t>(isa::Op::kCount); ++op) {
    const std::string name = isa::op_name(static_cast<isa::Op>(op));
    if (!starts_with_any(name, {"ds_", "flat_", "global_", "scratch_", "buffer_", "tbuffer_",
                                "v_mfma", "v_smfmac", "v_wmma", "v_accvgpr_r", "v_accvgpr_w"}))
      continue;
    EXPECT_TRUE(found.contains(name)) << name;
  }
}

}  // namespace
}  // namespace wavetap::emu::memory_coverage_test
