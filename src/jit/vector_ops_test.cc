// Every compiled operation, in every encoding and with every modifier a target has for it, against
// its handler.
//
// Some operations share a block, each a segment of its own: what it has written is copied to
// registers of its number, and EXEC is put back.
#include "jit/native/vector_ops.h"

#include <set>
#include <tuple>
#include <utility>

#include "emu/testing/vop_sweep.h"
#include "jit/testing.h"
#include "jit/vop_variants.h"

namespace wavetap::jit::vector_ops_test {
namespace {

using emu::Configuration;
using emu::VopEncoding;
using emu::VopSwept;

constexpr size_t kBatch = 11;
constexpr uint32_t kSeeds = 18;

struct Case {
  std::vector<std::byte> code;
  std::string name;
};

class VectorOps : public testing::TestWithParam<Configuration> {
 protected:
  emu::Shape shape() const { return {GetParam().target, GetParam().wave64}; }
  std::vector<std::byte> assemble(const std::string& text) const {
    return emu::assemble(text, GetParam().target, GetParam().wave64);
  }

  // One in `every` of those that others have not met, with the modifiers; all without.
  std::vector<Case> cases(uint32_t every) const;
  void expect_same(std::span<const Case> batch);

  TwinMachines machines_{{.target = GetParam().target, .wave64 = GetParam().wave64, .vgprs = 64}};
};

INSTANTIATE_TEST_SUITE_P(Targets, VectorOps, testing::ValuesIn(emu::kConfigurations),
                         emu::configuration_name);

std::vector<Case> VectorOps::cases(uint32_t every) const {
  std::vector<Case> found;
  std::mt19937 random(GetParam().target.major * 100u + GetParam().target.minor);
  // Targets share most operations, which then are the same to us.
  static std::set<std::tuple<isa::Op, std::string, bool>> done;
  for (const VopEncoding encoding : emu::kVopEncodings)
    for (const Variant& variant : variants_of(encoding)) {
      const bool is_plain = variant.name[0] == 0;
      for (const VopSwept& swept : emu::sweep_vop(shape(), encoding, variant.fields)) {
        if (compiled_vector_op(swept.swept.inst) == nullptr) continue;
        if (!is_plain && random() % every != 0) continue;
        if (!done.insert({swept.swept.inst.op, variant.name, GetParam().wave64}).second) continue;
        found.push_back({swept.swept.code, swept.swept.name + " " + variant.name});
      }
    }
  return found;
}

void VectorOps::expect_same(std::span<const Case> batch) {
  std::vector<std::byte> code;
  std::string names;
  const auto add = [&](const std::vector<std::byte>& bytes) {
    code.insert(code.end(), bytes.begin(), bytes.end());
  };
  add(assemble("s_mov_b64 s[28:29], exec"));
  for (size_t k = 0; k < batch.size(); ++k) {
    names += "\n  v" + std::to_string(32 + 2 * k) + ": " + batch[k].name;
    add(batch[k].code);
    const auto pair = [&](size_t first) {
      return "s[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]";
    };
    add(assemble("v_mov_b32 v" + std::to_string(32 + 2 * k) + ", v16\nv_mov_b32 v" +
                 std::to_string(33 + 2 * k) + ", v17\ns_mov_b64 " + pair(34 + 6 * k) +
                 ", vcc\ns_xor_b64 " + pair(36 + 6 * k) + ", s[0:1], s[16:17]\ns_mov_b64 " +
                 pair(38 + 6 * k) + ", exec\ns_mov_b64 exec, s[28:29]"));
  }
  add(assemble("s_endpgm"));
  const emu::LoweredCode* plain = machines_.plain.load_code(code);
  const emu::LoweredCode* native = machines_.native.load_code(code);
  ASSERT_TRUE(machines_.publish(*native, 0)) << names;
  constexpr Bits kKinds[] = {Bits::kAny,    Bits::kNans, Bits::kNumbers,
                             Bits::kHalves, Bits::kTame, Bits::kSmall};
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    machines_.fill(seed, kKinds[seed % std::size(kKinds)]);
    machines_.run_loaded(*plain, *native);
    ASSERT_EQ(machines_.difference(), "") << "seed " << seed << names;
  }
}

TEST_P(VectorOps, AreTheHandlers) {
  const std::vector<Case> all = cases(24);
  for (size_t i = 0; i < all.size() && !HasFatalFailure(); i += kBatch)
    expect_same(std::span(all).subspan(i, std::min(kBatch, all.size() - i)));
}

}  // namespace
}  // namespace wavetap::jit::vector_ops_test
