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

namespace wavetap::jit {
namespace {

using emu::Configuration;
using emu::VopEncoding;
using emu::VopFields;
using emu::VopSwept;

constexpr size_t kBatch = 11;
constexpr uint32_t kSeeds = 20;

// Modifiers: the bits to add to an encoding. How often an operation meets them is up to chance, but
// for the first, which are none.
struct Variant {
  const char* name;
  VopFields fields;
};
constexpr uint32_t dpp16(uint32_t control, uint32_t more = 0xff000000) {
  return emu::kSweepSource | control << 8 | more;
}
constexpr uint32_t kZeroBound = 0xff080000;
constexpr uint32_t kSomeRows = 0x5b000000;

constexpr Variant kShort[] = {
    {"", {}},
    {"quad_perm", {0, dpp16(0x1b), 0xfa}},
    {"quad_perm, some", {0, dpp16(0x4e, kSomeRows), 0xfa}},
    {"row_shl", {0, dpp16(0x103), 0xfa}},
    {"row_shr", {0, dpp16(0x111), 0xfa}},
    {"row_shr, bound", {0, dpp16(0x112, kZeroBound), 0xfa}},
    {"row_shr, -|a|", {0, dpp16(0x118, 0xff300000), 0xfa}},
    {"row_ror", {0, dpp16(0x125), 0xfa}},
    {"wave_shr", {0, dpp16(0x138), 0xfa}},
    {"wave_rol", {0, dpp16(0x134, kZeroBound), 0xfa}},
    {"row_mirror", {0, dpp16(0x140), 0xfa}},
    {"row_half_mirror", {0, dpp16(0x141, kSomeRows), 0xfa}},
    {"row_bcast:15", {0, dpp16(0x142, 0xaf000000), 0xfa}},
    {"row_bcast:31", {0, dpp16(0x143, 0xcf000000), 0xfa}},
    {"row_share", {0, dpp16(0x154), 0xfa}},
    {"row_xmask", {0, dpp16(0x161), 0xfa}},
    {"row_xmask, fi", {0, dpp16(0x168, 0xff040000), 0xfa}},
    {"dpp8", {0, emu::kSweepSource | 0xa54e1200, 0xe9}},
    {"dpp8, fi", {0, emu::kSweepSource | 0x39777700, 0xea}},
    {"sdwa words", {0, 0x05040000 | 4u << 8 | emu::kSweepSource, 0xf9}},
    {"sdwa high word, kept", {0, 0x04050000 | 5u << 8 | 2u << 11 | emu::kSweepSource, 0xf9}},
    {"sdwa bytes", {0, 0x0a090000 | 6u << 8 | emu::kSweepSource, 0xf9}},
    {"sdwa byte, sign", {0, 0x03020000 | 1u << 8 | 1u << 11 | emu::kSweepSource, 0xf9}},
    {"sdwa byte, kept", {0, 0x06060000 | 2u << 8 | 2u << 11 | emu::kSweepSource, 0xf9}},
    {"sdwa -a, |b|", {0, 0x26160000 | 6u << 8 | emu::kSweepSource, 0xf9}},
    {"sdwa clamp", {0, 0x06060000 | 6u << 8 | 1u << 13 | emu::kSweepSource, 0xf9}},
};
constexpr Variant kLong[] = {
    {"", {}},
    {"-a", {0, 1u << 29, 0}},
    {"|b|", {1u << 9, 0, 0}},
    {"-|a|, -c", {1u << 8, 5u << 29, 0}},
    {"clamp", {1u << 15, 0, 0}},
    {"mul:2", {0, 1u << 27, 0}},
    {"high a", {1u << 11, 0, 0}},
    {"high b and result", {9u << 11, 0, 0}},
};
constexpr uint32_t kBothHalves = 3u << 27;
constexpr Variant kPacked[] = {
    {"", {0x4000, kBothHalves, 0}},
    {"low halves", {}},
    {"swapped a", {0x4000 | 1u << 11, 2u << 27, 0}},
    {"high b, c", {0x4000 | 6u << 11, kBothHalves, 0}},
    {"-a, -b high", {0x4000 | 1u << 9, kBothHalves | 1u << 29, 0}},
    {"-c, a high", {1u << 10 | 1u << 8, 1u << 31 | 1u << 27, 0}},
    {"clamp", {0x4000 | 1u << 15, kBothHalves, 0}},
};

std::span<const Variant> variants_of(VopEncoding encoding) {
  if (encoding == VopEncoding::kVop3) return kLong;
  if (encoding == VopEncoding::kVop3p) return kPacked;
  return kShort;
}

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
      for (VopSwept& swept : emu::sweep_vop(shape(), encoding, variant.fields)) {
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
  constexpr Bits kKinds[] = {Bits::kAny, Bits::kNans, Bits::kNumbers, Bits::kHalves, Bits::kTame};
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
}  // namespace wavetap::jit
