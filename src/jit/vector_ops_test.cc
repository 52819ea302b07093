// Every compiled operation, in every encoding and with every modifier a target has for it, against
// its handler.
//
// Some operations share a block, each a segment of its own: what it has written is copied to
// registers of its number, and EXEC is put back.
#include "jit/native/vector_ops.h"

#include <algorithm>
#include <iterator>
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
constexpr uint32_t kSeeds = 21;

struct Case {
  std::vector<std::byte> code;
  std::string name;
};
// Targets share most operations, which then are the same to us: with the name of the variant, and whether waves are of 64.
using Met = std::set<std::tuple<isa::Op, std::string, bool>>;

class VectorOps : public testing::TestWithParam<Configuration> {
 protected:
  emu::Shape shape() const { return {GetParam().target, GetParam().wave64}; }
  std::vector<std::byte> assemble(const std::string& text) const {
    return emu::assemble(text, GetParam().target, GetParam().wave64);
  }

  // Of those that others have not met one in `every` with modifiers, all without.
  std::vector<Case> cases(Met& met, uint32_t every, bool (*is_wanted)(const VectorOp&)) const;
  void expect_same(TwinMachines& machines, std::span<const Case> batch) const;
  void expect_all_same(TwinMachines& machines, const std::vector<Case>& all) const;

  emu::TestMachine::Options options() const {
    return {.target = GetParam().target, .wave64 = GetParam().wave64, .vgprs = 64};
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, VectorOps, testing::ValuesIn(emu::kConfigurations),
                         emu::configuration_name);

std::vector<Case> VectorOps::cases(Met& met, uint32_t every,
                                   bool (*is_wanted)(const VectorOp&)) const {
  std::vector<Case> found;
  std::mt19937 random(GetParam().target.major * 100u + GetParam().target.minor);
  for (const VopEncoding encoding : emu::kVopEncodings)
    for (const Variant& variant : variants_of(encoding)) {
      const bool is_plain = variant.name[0] == 0;
      for (const VopSwept& swept : emu::sweep_vop(shape(), encoding, variant.fields)) {
        const VectorOp* op = compiled_vector_op(swept.swept.inst);
        if (op == nullptr || !is_wanted(*op)) continue;
        if (!is_plain && random() % every != 0) continue;
        if (!met.insert({swept.swept.inst.op, variant.name, GetParam().wave64}).second) continue;
        found.push_back({swept.swept.code, swept.swept.name + " " + variant.name});
      }
    }
  return found;
}

bool is_any(const VectorOp&) { return true; }
bool is_of_halves(const VectorOp& op) {
  const auto is_half = [](Type type) {
    return type == Type::kMixed || type == Type::kF16 || type == Type::kF16x2;
  };
  return is_half(op.result) || std::any_of(std::begin(op.source), std::end(op.source), is_half);
}

void VectorOps::expect_same(TwinMachines& machines, std::span<const Case> batch) const {
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
  const emu::LoweredCode* plain = machines.plain.load_code(code);
  const emu::LoweredCode* native = machines.native.load_code(code);
  ASSERT_TRUE(machines.publish(*native, 0)) << names;
  constexpr Bits kKinds[] = {Bits::kAny,  Bits::kNans,  Bits::kNumbers, Bits::kHalves,
                             Bits::kTame, Bits::kSmall, Bits::kEdges};
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    machines.fill(seed, kKinds[seed % std::size(kKinds)]);
    machines.run_loaded(*plain, *native);
    ASSERT_EQ(machines.difference(), "") << "seed " << seed << names;
  }
}

void VectorOps::expect_all_same(TwinMachines& machines, const std::vector<Case>& all) const {
  for (size_t i = 0; i < all.size() && !HasFatalFailure(); i += kBatch)
    expect_same(machines, std::span(all).subspan(i, std::min(kBatch, all.size() - i)));
}

TEST_P(VectorOps, AreTheHandlers) {
  static Met met;
  TwinMachines machines(options());
  expect_all_same(machines, cases(met, 24, is_any));
}

// What LLVM makes of halves depends on the processor more than all else.
TEST_P(VectorOps, OfHalvesAreTheHandlersOnPlainProcessors) {
  static Met met;
  TwinMachines machines(options(), compile_for<plain_host>);
  expect_all_same(machines, cases(met, 24, is_of_halves));
}

}  // namespace
}  // namespace wavetap::jit::vector_ops_test
