// Every instruction that a target has, of every family, compiled against interpreted: whether it is
// compiled itself, called or left, what comes before and after it is, and where it faults everything
// is as it was.
//
// Instructions share functions, as compiling costs more than running: the number in s90 says which of
// them is performed.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "emu/testing/image_sweep.h"
#include "emu/testing/vop_sweep.h"
#include "jit/block_key.h"
#include "jit/native/vector_ops.h"
#include "jit/testing.h"

namespace wavetap::jit::family_test {
namespace {

using emu::Configuration;
using emu::FlatSegment;
using emu::SweepFields;
using emu::Swept;
using emu::TestMachine;

constexpr size_t kTogether = 12;
constexpr uint32_t kSweptLdsBytes = 4096;
constexpr uint32_t kSweptScratchBytes = 256;

enum class Addresses : uint8_t { kRow, kScattered, kOdd, kOutside, kAny, kCount };
enum class Lanes : uint8_t { kAll, kNone, kOne, kSome, kCount };

class Families : public testing::TestWithParam<Configuration> {
 protected:
  emu::Shape shape() const { return {GetParam().target, GetParam().wave64, has_ecc()}; }
  bool has_ecc() const { return GetParam().target.is_gfx90a_family(); }
  std::vector<std::byte> assemble(const std::string& text) const {
    return emu::assemble(text, GetParam().target, GetParam().wave64);
  }

  std::vector<std::byte> write_code(std::span<const Swept> batch) const;
  void set_addresses(const Swept& swept, Addresses addresses, uint32_t seed);
  void set_state(const Swept& swept, uint32_t seed);
  // How many of them were performed to the end.
  int expect_same(std::span<const Swept> batch, uint32_t states);
  void expect_all(std::vector<Swept> all, uint32_t states, size_t at_least);

  std::unique_ptr<TwinMachines> machines_ = make(32);
  std::unique_ptr<TwinMachines> make(uint32_t rows) const {
    return std::make_unique<TwinMachines>(
        TestMachine::Options{.target = GetParam().target,
                             .wave64 = GetParam().wave64,
                             .vgprs = rows,
                             .agprs = GetParam().target.has_mfma() ? rows : 0,
                             .lds_bytes = kSweptLdsBytes,
                             .scratch_bytes_per_lane = kSweptScratchBytes,
                             .sram_ecc = has_ecc()});
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, Families, testing::ValuesIn(emu::kConfigurations),
                         emu::configuration_name);

// SCC is bit 0 of s91 where an instruction begins.
std::vector<std::byte> Families::write_code(std::span<const Swept> batch) const {
  std::vector<std::byte> code;
  const auto add = [&](const std::vector<std::byte>& bytes) {
    code.insert(code.end(), bytes.begin(), bytes.end());
  };
  const std::vector<std::byte> before = assemble("s_bitcmp1_b32 s91, 0\nv_xor_b32 v20, v21, v20");
  const std::vector<std::byte> after = assemble("v_xor_b32 v23, v12, v20\ns_xor_b32 s92, s92, s16");
  for (size_t k = 0; k < batch.size(); ++k) {
    const size_t dwords = (before.size() + batch[k].code.size() + after.size()) / 4;
    add(assemble("s_cmp_lg_u32 s90, " + std::to_string(k) + "\ns_cbranch_scc1 " +
                 std::to_string(dwords)));
    add(before);
    add(batch[k].code);
    add(after);
  }
  add(assemble("s_endpgm"));
  return code;
}

// As SweepFields names the registers.
void Families::set_addresses(const Swept& swept, Addresses addresses, uint32_t seed) {
  std::mt19937 random(seed);
  emu::Wave& wave = machines_->plain.wave;
  const bool is_scratch = swept.name.starts_with("scratch_");
  const bool is_ds = swept.inst.family == isa::Family::kDs;
  const bool is_whole = swept.inst.family == isa::Family::kFlat && !is_scratch &&
                        swept.inst.saddr.is(isa::OperandKind::kNone);
  const uint32_t bytes = is_scratch ? kSweptScratchBytes
                         : is_ds    ? kSweptLdsBytes
                                    : uint32_t{TestMachine::kDataBytes};
  const uint32_t step = is_scratch ? 0 : swept.inst.idxen ? 1 : 8;
  for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
    uint32_t at = 16 + lane * step;
    uint32_t high = 0;
    if (addresses == Addresses::kScattered) at = random() % (bytes - 128) & ~7u;
    if (addresses == Addresses::kOdd) at = random() % (bytes - 128);
    if (addresses == Addresses::kOutside && lane % 8 == 5) at = bytes - 3 * (random() % 8);
    if (addresses == Addresses::kOutside && random() % 32 == 0) {
      constexpr uint32_t kApertures[] = {emu::kSharedAperture >> 32, emu::kPrivateAperture >> 32,
                                         0x7fff};
      high = kApertures[random() % 3];
    }
    wave.vrow(2)[lane] =
        is_whole && high == 0 ? static_cast<uint32_t>(TestMachine::kData) + at : at;
    wave.vrow(3)[lane] = high;
  }
}

void Families::set_state(const Swept& swept, uint32_t seed) {
  constexpr Bits kKinds[] = {Bits::kAny, Bits::kNans, Bits::kSmall};
  const auto addresses = static_cast<Addresses>(seed % static_cast<uint32_t>(Addresses::kCount));
  machines_->fill(seed, kKinds[seed % std::size(kKinds)]);
  TestMachine& machine = machines_->plain;
  emu::Wave& wave = machine.wave;
  std::mt19937 random(seed);
  const int major = GetParam().target.major;
  if (addresses != Addresses::kAny) {
    if (swept.inst.family == isa::Family::kImage) {
      set_sound_image(machine, shape());
    } else {
      set_addresses(swept, addresses, seed);
      machine.set_s64(8, swept.name.starts_with("scratch_") ? 0 : TestMachine::kData);
      // Of the buffer: whole, or not all of what lanes reach; 8_8_8_8 unsigned integers.
      machine.set_s(10, addresses == Addresses::kOutside ? 300 : TestMachine::kDataBytes);
      machine.set_s(11, (4 | 5 << 3 | 6 << 6 | 7 << 9) |
                            (major == 9 ? 10u << 15 | 4u << 12 : (major == 10 ? 60u : 46u) << 12) |
                            (major >= 10 ? 3u << 28 : 0));
    }
  }
  machine.set_s(isa::slot::kM0, addresses == Addresses::kAny ? random() : random() % 64 * 4);
  switch (static_cast<Lanes>(seed % static_cast<uint32_t>(Lanes::kCount))) {
    case Lanes::kAll: machine.set_exec(~uint64_t{0}); break;
    case Lanes::kNone: machine.set_exec(0); break;
    case Lanes::kOne: machine.set_exec(uint64_t{1} << random() % wave.lanes); break;
    default: machine.set_exec(random() | uint64_t{random()} << 32);
  }
  for (TestMachine* each : {&machines_->plain, &machines_->native}) {
    each->wave.mode = {};
    each->wave.vgpr_index = 0;
    each->wave.gpr_index_mode = false;
    each->wave.mode_rest = each->wave.trap_status = 0;
    each->wave.waits_for_sync = false;
  }
}

int Families::expect_same(std::span<const Swept> batch, uint32_t states) {
  const std::vector<std::byte> code = write_code(batch);
  const emu::LoweredCode* plain = machines_->plain.load_code(code);
  const emu::LoweredCode* native = machines_->native.load_code(code);
  EXPECT_TRUE(machines_->publish(*native, 0));
  int finished = 0;
  for (uint32_t k = 0; k < batch.size(); ++k) {
    for (uint32_t seed = 0; seed < states; ++seed) {
      set_state(batch[k], seed);
      machines_->plain.set_s(90, k);
      machines_->copy_state();
      machines_->run_loaded(*plain, *native, 300);
      const std::string difference = machines_->difference();
      EXPECT_EQ(difference, "") << batch[k].name << ", state " << seed;
      if (!difference.empty()) return finished;
      finished += machines_->plain.wave.state == emu::WaveState::kFinished ? 1 : 0;
    }
  }
  return finished;
}

// As many as `at_least` come from the sweep, and most of the states that are meant well are no fault.
// Targets share most instructions, which then are the same to the compiler: a decoded one that
// another target has met with the same handler is left out.
void Families::expect_all(std::vector<Swept> all, uint32_t states, size_t at_least) {
  EXPECT_GE(all.size(), at_least);
  static std::set<std::tuple<emu::Handler, uint64_t, uint64_t>> met;
  std::erase_if(all, [&](const Swept& swept) {
    if (swept.inst.op == isa::Op::kInvalid) return false;
    const emu::Handler handler = emu::find_handler(swept.inst, shape());
    const uint8_t is_ordinary = handler != nullptr ? 1 : 0;
    const uint8_t ends_turn = 0;
    BlockRequest request{};
    request.insts = &swept.inst;
    request.is_ordinary = &is_ordinary;
    request.ends_turn = &ends_turn;
    request.size = request.known = 1;
    request.wave64 = GetParam().wave64;
    const BlockKey key = key_of(request, std::to_string(states));
    return !met.insert({handler, key.part[0], key.part[1]}).second;
  });
  int finished = 0;
  machines_->fill_memory(5);
  for (size_t i = 0; i < all.size() && !HasFailure(); i += kTogether)
    finished += expect_same(std::span(all).subspan(i, std::min(kTogether, all.size() - i)), states);
  const auto has_handler = [&](const Swept& swept) {
    return emu::find_handler(swept.inst, shape()) != nullptr;
  };
  const auto ordinary = static_cast<size_t>(std::count_if(all.begin(), all.end(), has_handler));
  EXPECT_TRUE(at_least == 0 || static_cast<size_t>(finished) >= ordinary * states / 8);
}

constexpr uint32_t kMemoryStates = 10;  // every kind of address with two sets of lanes
constexpr uint32_t kOtherStates = 4;    // every set of lanes

TEST_P(Families, Scalar) {
  // The sweep has each with many sets of operands.
  std::vector<Swept> all;
  std::map<std::string, int> found;
  for (Swept& swept : emu::sweep_scalar(shape()))
    if (!is_different_each_time(swept.name) && found[swept.name]++ < 2)
      all.push_back(std::move(swept));
  expect_all(all, kOtherStates, 200);
}

TEST_P(Families, ScalarMemory) {
  for (const bool returns : {false, true}) {
    std::vector<Swept> all;
    for (Swept& swept : emu::sweep_smem(shape(), returns))
      if (!is_different_each_time(swept.name)) all.push_back(std::move(swept));
    expect_all(all, kMemoryStates, returns ? 0 : 10);
  }
}

TEST_P(Families, Lds) {
  expect_all(emu::sweep_ds(shape(), {.offset = 32}), kMemoryStates, 80);
  expect_all(emu::sweep_ds(shape(), {.offset = 7, .offset1 = 2, .vdst = 4}), kMemoryStates, 80);
  expect_all(emu::sweep_ds(shape(), {.vaddr = 4}), kOtherStates, 80);
  // Global data share, and global wave sync.
  const std::vector<Swept> global = emu::sweep_ds(shape(), {}, /*gds=*/true);
  for (size_t i = 0; i < global.size(); i += kTogether)
    expect_same(std::span(global).subspan(i, std::min(kTogether, global.size() - i)), 4);
}

TEST_P(Families, FlatAndGlobal) {
  for (const bool returns : {false, true}) {
    expect_all(emu::sweep_flat(shape(), FlatSegment::kFlat, {.returns = returns}), kMemoryStates,
               returns ? 0 : 20);
    expect_all(emu::sweep_flat(shape(), FlatSegment::kGlobal, {.returns = returns, .offset = 24}),
               kMemoryStates, returns ? 0 : 20);
    expect_all(emu::sweep_flat(shape(), FlatSegment::kGlobal,
                               {.returns = returns, .saddr = true, .offset = -8, .vdst = 2}),
               kMemoryStates, returns ? 0 : 20);
  }
  expect_all(emu::sweep_flat(shape(), FlatSegment::kGlobal, {.saddr = true, .lds = true}),
             kOtherStates, 0);
}

TEST_P(Families, Scratch) {
  for (const bool saddr : {false, true})
    for (const bool no_vaddr : {false, true})
      expect_all(emu::sweep_flat(shape(), FlatSegment::kScratch,
                                 {.saddr = saddr, .no_vaddr = no_vaddr, .offset = 12}),
                 kMemoryStates, 0);
}

TEST_P(Families, Buffers) {
  for (const bool offen : {false, true})
    for (const bool idxen : {false, true})
      expect_all(emu::sweep_buffer(shape(), {.offen = offen, .idxen = idxen, .offset = 20}),
                 kMemoryStates, 30);
  expect_all(emu::sweep_buffer(shape(), {.returns = true, .offen = true}, false, /*soffset=*/16),
             kMemoryStates, 30);
  expect_all(emu::sweep_buffer(shape(), {.lds = true, .offen = true}), kOtherStates, 0);
  expect_all(emu::sweep_buffer(shape(), {.bare = true}), kOtherStates, 1);
  expect_all(emu::sweep_buffer(shape(), {.offen = true, .format = 10}, /*typed=*/true),
             kMemoryStates, 8);
}

TEST_P(Families, AccumulatorsInMemoryInstructions) {
  if (!GetParam().target.is_gfx90a_family()) return;
  expect_all(emu::sweep_ds(shape(), {.accumulator = true}), kOtherStates, 20);
  expect_all(emu::sweep_flat(shape(), FlatSegment::kGlobal, {.accumulator = true}), kOtherStates,
             20);
  expect_all(emu::sweep_buffer(shape(), {.offen = true, .accumulator = true}), kOtherStates, 20);
}

TEST_P(Families, Images) {
  for (const uint32_t dim : {0u, 1u, 2u, 5u}) {
    expect_all(emu::sweep_image(shape(), dim), kMemoryStates, 0);
  }
}

TEST_P(Families, PackedAndMatrix) {
  machines_ = make(256);
  expect_all(emu::sweep_vop3p(shape()), kOtherStates, 10);
}

// Those that are compiled have a sweep of their own (vector_ops_test.cc).
TEST_P(Families, VectorOperationsThatAreCalled) {
  std::vector<Swept> all;
  for (const emu::VopEncoding encoding : emu::kVopEncodings)
    for (const emu::VopSwept& vop : emu::sweep_vop(shape(), encoding))
      if (compiled_vector_op(vop.swept.inst) == nullptr) all.push_back(vop.swept);
  expect_all(all, kOtherStates, 50);
}

TEST_P(Families, ExportsAndPairs) {
  std::vector<Swept> all;
  const auto add = [&](const std::string& text) {
    Swept swept;
    swept.code = assemble(text);
    swept.name = text;
    if (!swept.code.empty()) all.push_back(std::move(swept));
  };
  add("exp mrt0 v4, v5, v6, v7 done");
  const std::string first[] = {"v_dual_fmac_f32 v4, v1, v2",
                               "v_dual_mul_f32 v4, v1, v2",
                               "v_dual_fmaak_f32 v4, v1, v2, 0x40400000",
                               "v_dual_subrev_f32 v4, v1, v2",
                               "v_dual_mov_b32 v4, v1",
                               "v_dual_cndmask_b32 v4, v1, v2",
                               "v_dual_max_f32 v4, v1, v2",
                               "v_dual_dot2acc_f32_f16 v4, v1, v2",
                               "v_dual_mul_dx9_zero_f32 v4, v1, v2"};
  const std::string second[] = {"v_dual_add_f32 v5, v4, v3",     "v_dual_add_nc_u32 v5, v4, v3",
                                "v_dual_lshlrev_b32 v5, v4, v3", "v_dual_and_b32 v5, v4, v3",
                                "v_dual_min_f32 v5, v4, v3",     "v_dual_cndmask_b32 v5, v4, v3",
                                "v_dual_fmac_f32 v5, v4, v3"};
  for (const std::string& x : first)
    for (const std::string& y : second) add(x + " :: " + y);
  for (size_t i = 0; i < all.size() && !HasFailure(); i += kTogether)
    expect_same(std::span(all).subspan(i, std::min(kTogether, all.size() - i)), kOtherStates);
}

}  // namespace
}  // namespace wavetap::jit::family_test
