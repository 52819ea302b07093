// Random blocks of vector and scalar instructions, compiled against interpreted, on every target.
#include <cstring>

#include "emu/testing/vop_sweep.h"
#include "jit/testing.h"

namespace wavetap::jit {
namespace {

using emu::VopEncoding;

constexpr int kBlocks = 5;
constexpr int kInstructions = 40;
constexpr int kStates = 6;

// A register that instructions before may have written: few, so that they depend on each other.
uint32_t some_register(std::mt19937& random) { return 4 + random() % 7 * 2; }

// The swept instruction on other registers; as it is, where that does not decode.
std::vector<std::byte> vary(const emu::VopSwept& swept, const emu::Shape& shape,
                            std::mt19937& random) {
  uint32_t low = 0;
  uint32_t high = 0;
  const std::vector<std::byte>& code = swept.swept.code;
  std::memcpy(&low, code.data(), 4);
  if (code.size() > 4) std::memcpy(&high, code.data() + 4, 4);
  const auto replace = [&](uint32_t& word, uint32_t shift, uint32_t bits, uint32_t value) {
    const uint32_t mask = ((1u << bits) - 1) << shift;
    word = (word & ~mask) | (value << shift & mask);
  };
  const bool writes_row = swept.swept.inst.dst.is(isa::OperandKind::kVgpr);
  if (swept.encoding == VopEncoding::kVop3 || swept.encoding == VopEncoding::kVop3p) {
    if (writes_row) replace(low, 0, 8, some_register(random));
    for (const uint32_t shift : {0u, 9u, 18u})
      if ((high >> shift & 0x100) != 0) replace(high, shift, 9, 256 + some_register(random));
  } else {
    if (swept.encoding != VopEncoding::kVopc && writes_row)
      replace(low, 17, 8, some_register(random));
    if (swept.encoding != VopEncoding::kVop1) replace(low, 9, 8, some_register(random));
    if ((low & 0x100) != 0) replace(low, 0, 9, 256 + some_register(random));
  }
  std::vector<std::byte> varied(code.size());
  std::memcpy(varied.data(), &low, 4);
  if (code.size() > 4) std::memcpy(varied.data() + 4, &high, 4);
  const isa::Program program = isa::decode(varied, GpuAddr{0x1000}, shape.target, shape.wave64);
  return program.size() == 1 && program.insts()[0].op == swept.swept.inst.op ? varied : code;
}

constexpr const char* kScalars[] = {
    "s_add_u32 s24, s24, s25",
    "s_addc_u32 s26, s25, s24",
    "s_mul_i32 s25, s25, s26",
    "s_lshl_b64 s[24:25], s[24:25], 3",
    "s_cselect_b32 s27, s24, s25",
    "s_cmp_lt_i32 s24, s27",
    "s_and_b64 s[26:27], s[24:25], s[0:1]",
    "s_bfe_u32 s24, s25, 0x70003",
    "s_sub_i32 s0, s24, s1",
    "s_ashr_i32 s1, s1, 5",
    "s_not_b64 s[24:25], s[26:27]",
    "s_max_u32 s25, s26, s24",
};

class RandomBlocks : public testing::TestWithParam<emu::Configuration> {};
INSTANTIATE_TEST_SUITE_P(Targets, RandomBlocks, testing::ValuesIn(emu::kConfigurations),
                         emu::configuration_name);

TEST_P(RandomBlocks, AreTheSameCompiledAndInterpreted) {
  const emu::Shape shape{GetParam().target, GetParam().wave64};
  std::vector<emu::VopSwept> all;
  for (const VopEncoding encoding : emu::kVopEncodings)
    for (emu::VopSwept& swept : emu::sweep_vop(shape, encoding))
      // Swapping and indexing by M0 fault or reach far; handlers do both in any case.
      if (swept.swept.name.find("movrel") == std::string::npos) all.push_back(std::move(swept));
  std::mt19937 random(GetParam().target.major * 100u + GetParam().target.minor);
  TwinMachines machines({.target = shape.target, .wave64 = shape.wave64});
  for (int block = 0; block < kBlocks; ++block) {
    std::vector<std::byte> code;
    const auto add = [&](const std::vector<std::byte>& bytes) {
      code.insert(code.end(), bytes.begin(), bytes.end());
    };
    for (int i = 0; i < kInstructions; ++i) {
      if (random() % 4 == 0)
        add(emu::assemble(kScalars[random() % std::size(kScalars)], shape.target, shape.wave64));
      else add(vary(all[random() % all.size()], shape, random));
    }
    add(emu::assemble("s_endpgm", shape.target, shape.wave64));
    const emu::LoweredCode* plain = machines.plain.load_code(code);
    const emu::LoweredCode* native = machines.native.load_code(code);
    ASSERT_TRUE(machines.publish(*native, 0));
    for (uint32_t seed = 1; seed <= kStates; ++seed) {
      machines.fill(seed, seed % 2 == 0);
      machines.run_loaded(*plain, *native);
      ASSERT_EQ(machines.difference(), "") << "block " << block << ", state " << seed;
    }
  }
}

}  // namespace
}  // namespace wavetap::jit
