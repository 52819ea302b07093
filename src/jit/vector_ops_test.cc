// Every compiled operation, in every encoding a target has for it, against its handler.
#include "jit/native/vector_ops.h"

#include <set>
#include <utility>

#include "emu/testing/vop_sweep.h"
#include "jit/testing.h"

namespace wavetap::jit {
namespace {

using emu::Configuration;
using emu::VopSwept;

class VectorOps : public testing::TestWithParam<Configuration> {
 protected:
  emu::Shape shape() const { return {GetParam().target, GetParam().wave64}; }

  std::vector<VopSwept> compiled() const {
    std::vector<VopSwept> found;
    for (const emu::VopEncoding encoding : emu::kVopEncodings)
      for (VopSwept& swept : emu::sweep_vop(shape(), encoding))
        if (compiled_vector_op(swept.swept.inst) != nullptr) found.push_back(std::move(swept));
    return found;
  }
  std::vector<std::byte> end() const {
    return emu::assemble("s_endpgm", GetParam().target, GetParam().wave64);
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, VectorOps, testing::ValuesIn(emu::kConfigurations),
                         emu::configuration_name);

TEST_P(VectorOps, AreTheHandlers) {
  const std::vector<VopSwept> swept = compiled();
  ASSERT_GT(swept.size(), 150u);
  // Targets share most operations, which then are the same to us.
  static std::set<std::pair<isa::Op, bool>> done;
  TwinMachines machines({.target = GetParam().target, .wave64 = GetParam().wave64});
  for (const VopSwept& one : swept) {
    if (!done.insert({one.swept.inst.op, GetParam().wave64}).second) continue;
    std::vector<std::byte> code = one.swept.code;
    const std::vector<std::byte> last = end();
    code.insert(code.end(), last.begin(), last.end());
    const emu::LoweredCode* plain = machines.plain.load_code(code);
    const emu::LoweredCode* native = machines.native.load_code(code);
    ASSERT_TRUE(machines.publish(*native, 0)) << one.swept.name;
    for (uint32_t seed = 1; seed <= 24; ++seed) {
      machines.fill(seed, seed % 3 == 0);
      machines.run_loaded(*plain, *native);
      ASSERT_EQ(machines.difference(), "") << one.swept.name << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace wavetap::jit
