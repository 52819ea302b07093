// Which registers instructions use: a few known by hand, then every instruction of every target,
// held against what it does.
//
// The sweep runs each instruction three times. Once from a random state. Once with everything
// changed that it is not said to read: nothing may come out differently. Once with everything
// changed that it is said to write and not to read: the same must be there afterwards, else it was
// not written. And what is not said to be written must not change.
#include "emu/register_use.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "emu/testing/machine.h"
#include "emu/testing/sweep.h"
#include "emu/testing/targets.h"
#include "emu/testing/vop_sweep.h"

namespace wavetap::emu {
namespace {

namespace slot = isa::slot;

// --- By hand. "r v2 0f lanes" is a read of bytes 0x0f; scalars have no lanes.

std::string text_of(const RegisterUse& use) {
  std::ostringstream out;
  out << (use.is_write ? "w " : "r ")
      << (use.file == RegisterFile::kVgpr   ? "v"
          : use.file == RegisterFile::kAgpr ? "a"
                                            : "s")
      << use.first;
  if (use.count > 1) out << "+" << int{use.count};
  if (use.bytes != 0xf) out << " bytes " << std::hex << int{use.bytes};
  if (use.file != RegisterFile::kScalar) out << " lanes " << std::hex << use.lanes;
  return out.str();
}

std::set<std::string> uses_of(TestMachine& machine, const std::string& text) {
  const std::vector<std::byte> code =
      assemble(text, machine.dispatch.target, machine.wave.lanes == 64);
  const isa::Program program =
      isa::decode(code, {0x1000}, machine.dispatch.target, machine.wave.lanes == 64);
  EXPECT_GE(program.size(), 1) << text;
  RegisterUses uses;
  if (program.size() > 0) find_register_uses(machine.wave, program.insts()[0], uses);
  std::set<std::string> texts;
  for (const RegisterUse& use : uses) texts.insert(text_of(use));
  return texts;
}

struct Known {
  const char* text;
  std::set<std::string> uses;
  amd::GfxTarget target = kGfx90a;
  bool sram_ecc = false;
};

TEST(RegisterUse, KnownByHand) {
  // s106 is VCC, s124 M0, s126 EXEC, s142 SCC; EXEC is 0xff in all of them.
  const Known kKnown[] = {
      {"s_add_u32 s4, s5, 7", {"r s5", "w s4", "w s142"}},
      {"s_addc_u32 s4, s5, s6", {"r s5", "r s6", "r s142", "w s4", "w s142"}},
      {"s_cbranch_vccz 4", {"r s106+2"}},
      {"s_and_saveexec_b64 s[4:5], vcc", {"r s106+2", "r s126+2", "w s4+2", "w s126+2", "w s142"}},
      {"s_load_dwordx4 s[8:11], s[2:3], 0x10", {"r s2+2", "w s8+4"}},
      {"v_add_f32 v0, v1, s3", {"r v1 lanes ff", "r s3", "r s126+2", "w v0 lanes ff"}},
      {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
       {"r v2+2 lanes ff", "r v4+2 lanes ff", "r v6+2 lanes ff", "r s126+2", "w v0+2 lanes ff"}},
      {"v_cndmask_b32 v0, v1, v2, vcc",
       {"r v1 lanes ff", "r v2 lanes ff", "r s106+2", "r s126+2", "w v0 lanes ff"}},
      {"v_cmp_lt_i32 vcc, v1, v2", {"r v1 lanes ff", "r v2 lanes ff", "r s126+2", "w s106+2"}},
      {"v_add_co_u32 v0, vcc, v1, v2",
       {"r v1 lanes ff", "r v2 lanes ff", "r s126+2", "w v0 lanes ff", "w s106+2"}},
      {"v_fmac_f32 v0, v1, v2",
       {"r v0 lanes ff", "r v1 lanes ff", "r v2 lanes ff", "r s126+2", "w v0 lanes ff"}},
      // 16 bits: gfx9 clears the other half or keeps it, by operation; gfx10 keeps it.
      {"v_add_f16 v0, v1, v2",
       {"r v1 bytes 3 lanes ff", "r v2 bytes 3 lanes ff", "r s126+2", "w v0 lanes ff"}},
      {"v_add_f16 v0, v1, v2",
       {"r v1 bytes 3 lanes ff", "r v2 bytes 3 lanes ff", "r s126", "w v0 bytes 3 lanes ff"},
       kGfx1030},
      {"v_cvt_f32_f16 v0, v1", {"r v1 bytes 3 lanes ff", "r s126+2", "w v0 lanes ff"}},
      {"v_mad_u32_u16 v0, v1, v2, v3 op_sel:[1,0,0,0]",
       {"r v1 bytes c lanes ff", "r v2 bytes 3 lanes ff", "r v3 lanes ff", "r s126+2",
        "w v0 lanes ff"}},
      // SDWA and packed operands.
      {"v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
       "src1_sel:BYTE_0",
       {"r v1 bytes c lanes ff", "r v2 bytes 1 lanes ff", "r s126+2", "w v0 bytes 4 lanes ff"}},
      {"v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:DWORD "
       "src1_sel:DWORD",
       {"r v1 lanes ff", "r v2 lanes ff", "r s126+2", "w v0 lanes ff"}},
      {"v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[1,0]",
       {"r v1 bytes c lanes ff", "r v2 bytes 3 lanes ff", "r s126+2", "w v0 lanes ff"}},
      {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[0,1] op_sel_hi:[0,1]",
       {"r v2 lanes ff", "r v5 lanes ff", "r s126+2", "w v0+2 lanes ff"}},
      {"v_fma_mixlo_f16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
       {"r v1 bytes c lanes ff", "r v2 lanes ff", "r v3 lanes ff", "r s126+2",
        "w v0 bytes 3 lanes ff"}},
      // DPP: lanes 0..3 of each row of 16 have no lane four to the left.
      {"v_mov_b32_dpp v0, v1 row_shr:4 row_mask:0xf bank_mask:0xf",
       {"r v1 lanes f", "r s126+2", "w v0 lanes f0"}},
      {"v_mov_b32_dpp v0, v1 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:0",
       {"r v1 lanes f", "r s126+2", "w v0 lanes ff"}},
      {"v_mov_b32_dpp v0, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0x1",
       {"r v1 lanes 1", "r s126+2", "w v0 lanes f"}},
      // Between lanes.
      {"v_readlane_b32 s4, v1, 9", {"r v1 lanes 200", "w s4"}},
      {"v_readfirstlane_b32 s4, v1", {"r v1 lanes 1", "r s126+2", "w s4"}},
      {"v_writelane_b32 v0, s5, 33", {"r s5", "w v0 lanes 200000000"}},
      {"ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)",
       {"r v1 lanes ff", "r s126+2", "w v0 lanes ff"}},
      // All lanes.
      {"v_mfma_f32_16x16x4f32 a[0:3], v0, v1, a[4:7]",
       {"r v0 lanes ffffffffffffffff", "r v1 lanes ffffffffffffffff",
        "r a4+4 lanes ffffffffffffffff", "r s126+2", "w a0+4 lanes ffffffffffffffff"}},
      // Memory.
      {"global_load_dwordx2 v[0:1], v2, s[4:5]",
       {"r v2 lanes ff", "r s4+2", "r s126+2", "w v0+2 lanes ff"}},
      {"global_load_short_d16_hi v0, v2, s[4:5]",
       {"r v2 lanes ff", "r s4+2", "r s126+2", "w v0 bytes c lanes ff"}},
      {"global_load_short_d16_hi v0, v2, s[4:5]",
       {"r v2 lanes ff", "r s4+2", "r s126+2", "w v0 lanes ff"},
       kGfx90a,
       true},
      {"global_store_byte_d16_hi v2, v0, s[4:5]",
       {"r v2 lanes ff", "r v0 bytes 4 lanes ff", "r s4+2", "r s126+2"}},
      {"global_atomic_cmpswap v0, v2, v[4:5], s[4:5] glc",
       {"r v2 lanes ff", "r v4+2 lanes ff", "r s4+2", "r s126+2", "w v0 lanes ff"}},
      {"buffer_load_dword v0, v[2:3], s[8:11], s6 idxen offen",
       {"r v2+2 lanes ff", "r s8+4", "r s6", "r s126+2", "w v0 lanes ff"}},
      {"ds_write2_b32 v2, v0, v1 offset1:1",
       {"r v2 lanes ff", "r v0 lanes ff", "r v1 lanes ff", "r s126+2"}},
      {"ds_append v0", {"r s124", "r s126+2", "w v0 lanes ff"}},
      {"v_dual_fmac_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v6",
       {"r v0 lanes ff", "r v1 lanes ff", "r v2 lanes ff", "r v6 lanes ff", "r s126",
        "w v0 lanes ff", "w v3 lanes ff"},
       kGfx1100},
  };
  for (const Known& known : kKnown) {
    TestMachine machine(
        {.target = known.target, .wave64 = known.target.major == 9, .sram_ecc = known.sram_ecc});
    machine.set_exec(0xff);
    EXPECT_EQ(uses_of(machine, known.text), known.uses) << known.text;
  }
}

TEST(RegisterUse, FollowsIndices) {
  TestMachine machine({.target = kGfx908});
  machine.set_exec(0xff);
  machine.set_s(slot::kM0, 5);
  EXPECT_EQ(uses_of(machine, "s_movrels_b32 s4, s8"),
            (std::set<std::string>{"r s13", "r s124", "w s4"}));
  machine.wave.vgpr_index = 1 | 8;  // src0 and dst
  EXPECT_EQ(uses_of(machine, "v_add_f32 v0, v1, v2"),
            (std::set<std::string>{"r v6 lanes ff", "r v2 lanes ff", "r s124", "r s126+2",
                                   "w v5 lanes ff"}));
  TestMachine navi({.target = kGfx1030, .wave64 = false});
  navi.set_exec(0xff);
  navi.set_s(slot::kM0, 7);
  EXPECT_EQ(uses_of(navi, "v_movreld_b32 v0, v1"),
            (std::set<std::string>{"r v1 lanes ff", "r s124", "r s126", "w v7 lanes ff"}));
  navi.set_s(slot::kM0, 3 | 2u << 16);
  EXPECT_EQ(uses_of(navi, "v_movrelsd_2_b32 v16, v4"),
            (std::set<std::string>{"r v7 lanes ff", "r s124", "r s126", "w v18 lanes ff"}));
}

// --- The sweep.

// Everything an instruction may read or change. Bytes of registers by (register, lane).
struct State {
  std::vector<uint32_t> v, a;
  std::vector<uint32_t> s;
  bool scc = false;
  std::vector<std::byte> data, lds, scratch;
  int32_t pc = 0;
  WaveState wave_state{};
  uint64_t jump_pc = 0;
};

class Rig {
 public:
  explicit Rig(const Shape& shape, uint32_t vgprs)
      : machine({.target = shape.target,
                 .wave64 = shape.wave64,
                 .vgprs = vgprs,
                 .agprs = shape.target.has_mfma() ? vgprs : 0,
                 .lds_bytes = 2048,
                 .scratch_bytes_per_lane = 32,
                 .sram_ecc = shape.sram_ecc}) {}

  void load(const State& state) {
    Wave& wave = machine.wave;
    std::copy(state.v.begin(), state.v.end(), wave.v);
    std::copy(state.a.begin(), state.a.end(), wave.a);
    std::copy(state.s.begin(), state.s.end(), wave.s);
    wave.scc = state.scc;
    std::copy(state.data.begin(), state.data.end(), data());
    std::copy(state.lds.begin(), state.lds.end(), wave.lds);
    std::copy(state.scratch.begin(), state.scratch.end(), wave.scratch);
    wave.mode = {};
    wave.mode_rest = 0;
    wave.gpr_index_mode = false;
    wave.vgpr_index = 0;
    wave.waits_for_sync = false;
  }
  State save() {
    Wave& wave = machine.wave;
    const size_t lanes = wave.lanes;
    State state;
    state.v.assign(wave.v, wave.v + wave.vgpr_count * lanes);
    state.a.assign(wave.a, wave.a + wave.agpr_count * lanes);
    state.s.assign(wave.s, wave.s + slot::kCount);
    state.scc = wave.scc;
    state.data.assign(data(), data() + kDataUsed);
    state.lds.assign(wave.lds, wave.lds + wave.lds_bytes);
    state.scratch.assign(wave.scratch, wave.scratch + wave.scratch_bytes_per_lane * lanes);
    state.pc = wave.pc;
    state.wave_state = wave.state;
    state.jump_pc = wave.jump_pc;
    return state;
  }
  State run(const State& from, const LoweredCode* code) {
    load(from);
    EXPECT_TRUE(machine.run_loaded(code, 1));
    return save();
  }

  TestMachine machine;

 private:
  static constexpr size_t kDataUsed = 2048;
  std::byte* data() { return machine.memory.lookup({TestMachine::kData}).host; }
};

// Which bytes of which registers are read and written: a bit per byte, in the order of State.
struct Masks {
  std::vector<uint8_t> v, a, s;
  bool scc = false;

  explicit Masks(const State& state) : v(state.v.size()), a(state.a.size()), s(state.s.size()) {}
  void add(const RegisterUse& use, size_t lanes) {
    for (uint32_t i = use.first; i < uint32_t{use.first} + use.count; ++i) {
      if (use.file == RegisterFile::kScalar) {
        if (i == slot::kScc) scc = true;
        else s[i] |= use.bytes;
        continue;
      }
      auto& file = use.file == RegisterFile::kVgpr ? v : a;
      for_each_lane(use.lanes, [&](int lane) { file.at(i * lanes + size_t(lane)) |= use.bytes; });
    }
  }
};

uint32_t bits_of(uint8_t bytes) {
  return (bytes * 0x00204081u & 0x01010101u) * 0xff;  // bit i of four to byte i
}

class Check {
 public:
  Check(const Shape& shape, uint32_t vgprs) : shape_(shape), rig_(shape, vgprs) {}

  // `prepare` makes a random state one that the instruction can run in.
  template <class Prepare>
  void operator()(const Swept& swept, Prepare&& prepare) {
    const LoweredCode* code = rig_.machine.load_code(swept.code);
    ASSERT_NE(code, nullptr);
    State first = random_state();
    prepare(first);
    rig_.load(first);
    RegisterUses uses;
    find_register_uses(rig_.machine.wave, code->program().insts()[0], uses);
    Masks read(first), written(first);
    for (const RegisterUse& use : uses)
      (use.is_write ? written : read).add(use, rig_.machine.wave.lanes);
    const std::string what = shape_name(shape_) + " " + swept.name;

    const State result = rig_.run(first, code);
    if (result.wave_state == WaveState::kFaulted) return;
    expect_unwritten_kept(first, result, written, what);
    expect_independent(first, result, read, written, code, what);
    expect_written(first, result, read, written, code, what);
    ++checked;
  }

  int checked = 0;

 private:
  uint32_t random() {  // xorshift: quick, and random enough
    seed_ ^= seed_ << 13;
    seed_ ^= seed_ >> 7;
    seed_ ^= seed_ << 17;
    return static_cast<uint32_t>(seed_ >> 16);
  }
  State random_state() {
    State state = rig_.save();
    for (uint32_t& word : state.v) word = random();
    for (uint32_t& word : state.a) word = random();
    for (size_t i = 0; i < slot::kFlatScratchLo; ++i) state.s[i] = random();
    state.s[slot::kNull] = 0;
    if (!shape_.wave64) state.s[slot::kExecHi] = 0;
    state.scc = (random() & 1) != 0;
    for (auto* bytes : {&state.data, &state.lds, &state.scratch})
      for (size_t i = 0; i + 4 <= bytes->size(); i += 4) {
        const uint32_t word = random();
        std::memcpy(bytes->data() + i, &word, sizeof word);
      }
    return state;
  }

  // f(mask, value of each state) for each register of all files that differs, and some that do not.
  template <class F>
  static void for_each_difference(const Masks& masks, const State& one, const State& other, F&& f) {
    const auto compare = [&f](char file, const std::vector<uint8_t>& mask,
                              const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
      constexpr size_t kAtOnce = 64;  // most are equal: no look at each
      for (size_t begin = 0; begin < a.size(); begin += kAtOnce) {
        const size_t end = std::min(begin + kAtOnce, a.size());
        if (std::equal(&a[begin], a.data() + end, &b[begin])) continue;
        for (size_t i = begin; i < end; ++i) f(file, i, mask[i], a[i], b[i]);
      }
    };
    compare('v', masks.v, one.v, other.v);
    compare('a', masks.a, one.a, other.a);
    compare('s', masks.s, one.s, other.s);
  }
  std::string name(char file, size_t i) const {
    const size_t lanes = rig_.machine.wave.lanes;
    if (file == 's') return "s" + std::to_string(i);
    return file + std::to_string(i / lanes) + " lane " + std::to_string(i % lanes);
  }

  void expect_unwritten_kept(const State& before, const State& after, const Masks& written,
                             const std::string& what) {
    int shown = 0;
    for_each_difference(written, before, after,
                        [&](char file, size_t i, uint8_t mask, uint32_t was, uint32_t is) {
                          const uint32_t changed = (was ^ is) & ~bits_of(mask);
                          if (changed != 0 && shown++ < 3)
                            ADD_FAILURE() << what << ": changes " << name(file, i) << " bits "
                                          << std::hex << changed << " and does not say so";
                        });
    if (!written.scc && before.scc != after.scc) ADD_FAILURE() << what << ": changes SCC";
  }

  void expect_same_results(const State& one, const State& other, const Masks& written,
                           const std::string& what) {
    int shown = 0;
    for_each_difference(written, one, other,
                        [&](char file, size_t i, uint8_t mask, uint32_t a, uint32_t b) {
                          if (((a ^ b) & bits_of(mask)) != 0 && shown++ < 3)
                            ADD_FAILURE() << what << ": " << name(file, i) << " is " << std::hex
                                          << a << " or " << b;
                        });
    if (written.scc && one.scc != other.scc) ADD_FAILURE() << what << ": SCC";
    EXPECT_EQ(one.data == other.data, true) << what << ": memory";
    EXPECT_EQ(one.lds == other.lds, true) << what << ": LDS";
    EXPECT_EQ(one.scratch == other.scratch, true) << what << ": scratch";
    EXPECT_EQ(one.pc, other.pc) << what;
    EXPECT_EQ(one.wave_state, other.wave_state) << what;
  }

  void expect_independent(const State& first, const State& result, const Masks& read,
                          const Masks& written, const LoweredCode* code, const std::string& what) {
    State other = first;
    const auto scramble = [&](std::vector<uint32_t>& words, const std::vector<uint8_t>& masks,
                              size_t end) {
      for (size_t i = 0; i < end; ++i) words[i] ^= random() & ~bits_of(masks[i]);
    };
    scramble(other.v, read.v, other.v.size());
    scramble(other.a, read.a, other.a.size());
    scramble(other.s, read.s, slot::kFlatScratchLo);
    other.s[slot::kNull] = 0;
    if (!read.scc) other.scc = !other.scc;
    expect_same_results(result, rig_.run(other, code), written,
                        what + " depends on a register that it does not say it reads");
  }

  void expect_written(const State& first, const State& result, const Masks& read,
                      const Masks& written, const LoweredCode* code, const std::string& what) {
    State other = first;
    const auto invert = [](std::vector<uint32_t>& words, const std::vector<uint8_t>& in,
                           const std::vector<uint8_t>& out) {
      for (size_t i = 0; i < words.size(); ++i) words[i] ^= bits_of(out[i]) & ~bits_of(in[i]);
    };
    invert(other.v, read.v, written.v);
    invert(other.a, read.a, written.a);
    invert(other.s, read.s, written.s);
    if (written.scc && !read.scc) other.scc = !other.scc;
    expect_same_results(result, rig_.run(other, code), written,
                        what + " does not write what it says");
  }

  Shape shape_;
  Rig rig_;
  uint64_t seed_ = 88172645463325252;
};

void set_exec(State& state, const Shape& shape, uint64_t mask) {
  state.s[slot::kExecLo] = static_cast<uint32_t>(mask);
  state.s[slot::kExecHi] = shape.wave64 ? static_cast<uint32_t>(mask >> 32) : 0;
}

constexpr uint64_t kExecs[] = {~uint64_t{0}, 0x0ff0f00d12345679, 0};

class RegisterUseOnTarget : public testing::TestWithParam<Configuration> {
 protected:
  RegisterUseOnTarget()
      : shape_{GetParam().target, GetParam().wave64, GetParam().target.always_has_sram_ecc()} {}
  Shape shape_;
};

TEST_P(RegisterUseOnTarget, VectorOperations) {
  Check check(shape_, 32);
  for (const VopEncoding encoding : kVopEncodings) {
    std::vector<VopFields> forms(1);
    const bool is_short = encoding == VopEncoding::kVop1 || encoding == VopEncoding::kVop2 ||
                          encoding == VopEncoding::kVopc;
    if (is_short && shape_.target.major <= 10) {
      // SDWA: words and bytes, the rest of the result padded, extended or kept.
      for (const uint32_t control : {0x05040504u, 0x02061506u, 0x00011204u})
        forms.push_back({.high = control << 0 | 4u, .extension = 0xf9});
    }
    if (is_short) {
      // DPP: quad_perm, row_shr:3, row_mirror; all rows and banks, or some.
      for (const uint32_t control : {0xff00e400u, 0xff011300u, 0xff094000u, 0x5a014000u})
        forms.push_back({.high = control | 4u, .extension = 0xfa});
      if (shape_.target.major >= 10) forms.push_back({.high = 0x05397700u | 4u, .extension = 0xe9});
    }
    if (encoding == VopEncoding::kVop3)  // op_sel
      forms.push_back({.low = 0xfu << 11});
    if (encoding == VopEncoding::kVop3p)
      forms.push_back({.low = 0x5u << 11 | 1u << 14, .high = 1u << 27});
    for (const VopFields& fields : forms)
      for (const VopSwept& vop : sweep_vop(shape_, encoding, fields)) {
        if (vop.swept.inst.family == isa::Family::kMatrix) continue;  // needs more registers
        if (find_handler(vop.swept.inst, shape_) == nullptr) continue;
        for (const uint64_t exec : {kExecs[0], kExecs[1]})
          check(vop.swept, [&](State& state) {
            set_exec(state, shape_, exec);
            state.s[slot::kM0] = 3 | 2u << 16;  // register indices
          });
        if (HasFailure()) return;
      }
  }
  EXPECT_GT(check.checked, 2000);
}

TEST_P(RegisterUseOnTarget, MatrixOperations) {
  Check check(shape_, 256);
  for (const Swept& swept : sweep_vop3p(shape_)) {
    if (find_handler(swept.inst, shape_) == nullptr) continue;
    check(swept, [&](State& state) { set_exec(state, shape_, kExecs[1]); });
    if (HasFailure()) return;
  }
  EXPECT_GT(check.checked, 10);
}

TEST_P(RegisterUseOnTarget, MemoryInstructions) {
  Check check(shape_, 32);
  std::vector<Swept> all;
  const auto add = [&](std::vector<Swept> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  add(sweep_ds(shape_, {}));
  for (const bool returns : {false, true}) {
    for (const FlatSegment segment :
         {FlatSegment::kFlat, FlatSegment::kGlobal, FlatSegment::kScratch})
      for (const bool saddr : {false, true})
        add(sweep_flat(shape_, segment, {.returns = returns, .saddr = saddr}));
    add(sweep_buffer(shape_, {.returns = returns, .offen = true}));
    add(sweep_smem(shape_, returns));
  }
  add(sweep_buffer(shape_, {.lds = true, .offen = true}));
  add(sweep_flat(shape_, FlatSegment::kGlobal, {.lds = true}));
  const uint8_t format = shape_.target.major == 9    ? 12 | 4 << 4
                         : shape_.target.major == 10 ? 71
                                                     : 57;
  add(sweep_buffer(shape_, {.offen = true, .format = format}, /*typed=*/true));
  if (!shape_.target.is_gfx90a_family()) add(sweep_buffer(shape_, {.offen = true, .tfe = true}));
  for (const Swept& swept : all) {
    if (find_handler(swept.inst, shape_) == nullptr) continue;
    if (swept.name == "s_memtime" || swept.name == "s_memrealtime") continue;  // another time each
    for (const uint64_t exec : {kExecs[1], kExecs[2]}) {
      const size_t lanes = shape_.wave64 ? 64 : 32;
      check(swept, [&](State& state) {
        set_exec(state, shape_, exec);
        const bool is_scratch = swept.name.starts_with("scratch_");
        const bool has_saddr = !swept.inst.saddr.is(isa::OperandKind::kNone);
        const bool is_address =
            swept.inst.family == isa::Family::kFlat && !is_scratch && !has_saddr;
        for (size_t lane = 0; lane < lanes; ++lane) {
          state.v[2 * lanes + lane] =
              static_cast<uint32_t>((is_address ? TestMachine::kData : 0) + lane * 16);
          if (is_scratch) state.v[2 * lanes + lane] = 8;
          state.v[3 * lanes + lane] = 0;
        }
        state.s[8] = is_scratch ? 0 : TestMachine::kData;
        state.s[9] = 0;
        state.s[10] = 4096;
        state.s[11] = (4 | 5 << 3 | 6 << 6 | 7 << 9) |
                      (shape_.target.major == 9    ? 12u << 15 | 4u << 12
                       : shape_.target.major == 10 ? 71u << 12
                                                   : 57u << 12) |
                      (shape_.target.major >= 10 ? 3u << 28 : 0);
        state.s[slot::kM0] = 64;
      });
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(check.checked, 400);
}

TEST_P(RegisterUseOnTarget, ScalarInstructions) {
  // State that is in no register: MODE and other hardware registers, the fork stack, clocks.
  const std::set<std::string> kElsewhere = {
      "s_getreg_b32", "s_cbranch_g_fork",   "s_cbranch_i_fork",  "s_cbranch_join",
      "s_setreg_b32", "s_setreg_imm32_b32", "s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64"};
  Check check(shape_, 16);
  for (const Swept& swept : sweep_scalar(shape_)) {
    if (find_handler(swept.inst, shape_) == nullptr || kElsewhere.contains(swept.name)) continue;
    for (int round = 0; round < 3; ++round)
      check(swept, [&](State& state) {
        set_exec(state, shape_, kExecs[round]);
        state.s[slot::kM0] = 3 | 2u << 16;
      });
    if (HasFailure()) return;
  }
  EXPECT_GT(check.checked, 400);
}

INSTANTIATE_TEST_SUITE_P(Targets, RegisterUseOnTarget, testing::ValuesIn(kConfigurations),
                         configuration_name);

}  // namespace
}  // namespace wavetap::emu
