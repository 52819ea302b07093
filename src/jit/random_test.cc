// Random blocks, compiled against interpreted, on every target: vector instructions with and without
// modifiers, scalar ones, and those that move lanes, load and store, through buffers and images too.
#include <cstring>

#include "emu/testing/vop_sweep.h"
#include "jit/testing.h"
#include "jit/vop_variants.h"

namespace wavetap::jit::random_test {
namespace {

using emu::VopEncoding;

constexpr int kBlocks = 6;
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

// Lanes, and memory at addresses that have been made harmless. The last column: gfx11's spelling,
// where it differs.
struct Moving {
  const char* text;
  const char* newer = nullptr;
};
constexpr const char* kIntoLds = "v_and_b32 v2, 0x7fc, v8\n";
constexpr const char* kIntoMemory = "v_and_b32 v3, 0x7fc, v10\n";
constexpr Moving kMoving[] = {
    {"v_readfirstlane_b32 s24, v6"},
    {"v_readlane_b32 s25, v8, s24"},
    {"v_readlane_b32 s26, v4, 31"},
    {"v_writelane_b32 v10, s25, 17"},
    {"v_writelane_b32 v8, -5, s24"},
    {"v_mbcnt_lo_u32_b32 v12, s24, v6"},
    {"ds_swizzle_b32 v6, v8 offset:0x401f\ns_waitcnt lgkmcnt(0)"},
    {"ds_swizzle_b32 v8, v4 offset:0x80b1\ns_waitcnt lgkmcnt(0)"},
    {"ds_bpermute_b32 v10, v6, v8\ns_waitcnt lgkmcnt(0)"},
    {"ds_permute_b32 v12, v6, v4\ns_waitcnt lgkmcnt(0)"},
    {"ds_read_b32 v6, v2 offset:4", "ds_load_b32 v6, v2 offset:4"},
    {"ds_read_b64 v[8:9], v2", "ds_load_b64 v[8:9], v2"},
    {"ds_read2_b32 v[10:11], v2 offset1:9", "ds_load_2addr_b32 v[10:11], v2 offset1:9"},
    {"ds_read_u16 v12, v2 offset:2", "ds_load_u16 v12, v2 offset:2"},
    {"ds_read_i8 v4, v2 offset:3", "ds_load_i8 v4, v2 offset:3"},
    {"ds_write_b32 v2, v6 offset:8", "ds_store_b32 v2, v6 offset:8"},
    {"ds_write_b8 v2, v8 offset:1", "ds_store_b8 v2, v8 offset:1"},
    {"ds_write2_b32 v2, v4, v10 offset1:3", "ds_store_2addr_b32 v2, v4, v10 offset1:3"},
    {"ds_add_u32 v2, v6"},
    {"global_load_dword v6, v3, s[20:21]", "global_load_b32 v6, v3, s[20:21]"},
    {"global_load_dwordx2 v[8:9], v3, s[20:21]", "global_load_b64 v[8:9], v3, s[20:21]"},
    {"global_load_sbyte v10, v3, s[20:21] offset:1", "global_load_i8 v10, v3, s[20:21] offset:1"},
    {"global_load_short_d16 v12, v3, s[20:21]", "global_load_d16_b16 v12, v3, s[20:21]"},
    {"global_store_dword v3, v4, s[20:21]", "global_store_b32 v3, v4, s[20:21]"},
    {"global_store_short v3, v8, s[20:21] offset:2", "global_store_b16 v3, v8, s[20:21] offset:2"},
    {"global_atomic_add v3, v6, s[20:21]", "global_atomic_add_u32 v3, v6, s[20:21]"},
    {"s_load_dwordx2 s[24:25], s[20:21], 0x10\ns_waitcnt lgkmcnt(0)",
     "s_load_b64 s[24:25], s[20:21], 0x10\ns_waitcnt lgkmcnt(0)"},
};
// Memory by descriptors, as far as the target has it.
std::vector<Moving> described_on(amd::GfxTarget target) {
  std::vector<Moving> all = {
      {"buffer_load_dwordx2 v[8:9], v3, s[28:31], 0 offen",
       "buffer_load_b64 v[8:9], v3, s[28:31], 0 offen"},
      {"buffer_store_dword v6, v3, s[28:31], 0 offen",
       "buffer_store_b32 v6, v3, s[28:31], 0 offen"},
  };
  if (!target.is_gfx90a_family())
    all.push_back({"buffer_load_dwordx2 v[8:10], v3, s[28:31], 0 offen tfe",
                   "buffer_load_b64 v[8:10], v3, s[28:31], 0 offen tfe"});
  if (target.is_gfx940_family()) return all;
  if (target.major == 9) {
    all.push_back({"image_load v[8:9], v[2:3], s[32:39] dmask:0x3 unorm"});
    all.push_back({"image_store v[6:7], v[2:3], s[32:39] dmask:0x3 unorm"});
    all.push_back({"image_sample v[10:11], v[6:7], s[32:39], s[40:43] dmask:0x3"});
    return all;
  }
  for (const char* text :
       {"image_load v[8:9], v[2:3], s[32:39] dmask:0x3 dim:SQ_RSRC_IMG_2D",
        "image_load v[8:10], v[2:3], s[32:39] dmask:0x3 dim:SQ_RSRC_IMG_2D tfe",
        "image_store v[6:7], v[2:3], s[32:39] dmask:0x3 dim:SQ_RSRC_IMG_2D",
        "image_sample_lz v[10:11], v[6:7], s[32:39], s[40:43] dmask:0x3 dim:SQ_RSRC_IMG_2D"})
    all.push_back({text});
  return all;
}
// s[28:31] a raw buffer, s[32:39] 64 x 4 texels of 8-bit components, s[40:43] a linear sampler.
void set_resources(emu::TestMachine& machine, int major) {
  const auto address = static_cast<uint32_t>(emu::TestMachine::kData);
  static_assert(emu::TestMachine::kData >> 32 == 0 && emu::TestMachine::kData % 256 == 0);
  const uint32_t format = major == 9 ? 10 : major == 10 ? 56 : 42;
  const uint32_t words[16] = {address,
                              0,
                              0x800,
                              major == 9 ? 0x00020000u : 0x31004000u,
                              address >> 8,
                              format << 20 | (major == 9 ? 0 : 63u << 30),
                              (major == 9 ? 63u : 63u >> 2) | 3u << 14,
                              9u << 28 | 07654,
                              major == 9 ? 63u << 13 : 63u,
                              0,
                              0,
                              0,
                              0,
                              0,
                              1u << 20 | 1u << 22,
                              0};
  for (size_t i = 0; i < std::size(words); ++i) machine.wave.s[28 + i] = words[i];
}
std::string moving_text(const Moving& one, bool is_new) {
  const std::string text = is_new && one.newer != nullptr ? one.newer : one.text;
  if (text.starts_with("image_")) return "v_and_b32 v2, 0x7f, v8\nv_and_b32 v3, 7, v10\n" + text;
  if (text.find(" v2") != std::string::npos) return kIntoLds + text;
  return text.find(" v3") != std::string::npos ? kIntoMemory + text : text;
}

// Instructions from everywhere; `with_exec`: EXEC changes, too.
class RandomBlocks : public testing::TestWithParam<emu::Configuration> {
 protected:
  RandomBlocks() {
    std::mt19937 choice(7);
    for (const VopEncoding encoding : emu::kVopEncodings)
      for (const Variant& variant : variants_of(encoding)) {
        const bool is_plain = &variant == variants_of(encoding).data();
        if (!is_plain && choice() % 3 != 0) continue;
        for (const emu::VopSwept& swept : emu::sweep_vop(shape_, encoding, variant.fields))
          // Swapping and indexing by M0 fault or reach far; handlers do both in any case.
          if (swept.swept.name.find("movrel") == std::string::npos)
            (is_plain ? plain_ : modified_).push_back(swept);
      }
  }
  std::vector<std::byte> some_code(bool with_exec);
  void prepare(uint32_t seed);

  const emu::Shape shape_{GetParam().target, GetParam().wave64};
  std::vector<emu::VopSwept> plain_;
  std::vector<emu::VopSwept> modified_;
  std::mt19937 random_{GetParam().target.major * 100u + GetParam().target.minor};
  TwinMachines machines_{{.target = shape_.target, .wave64 = shape_.wave64}};
};
INSTANTIATE_TEST_SUITE_P(Targets, RandomBlocks, testing::ValuesIn(emu::kConfigurations),
                         emu::configuration_name);

std::vector<std::byte> RandomBlocks::some_code(bool with_exec) {
  static constexpr const char* kExec[] = {"s_or_BITS EXEC, EXEC, MASK", "s_mov_BITS EXEC, -1",
                                          "s_and_saveexec_BITS MASK, VCC",
                                          "s_xor_BITS EXEC, EXEC, MASK"};
  const bool is_new = shape_.target.major >= 11;
  const std::vector<Moving> described = described_on(shape_.target);
  std::vector<std::byte> code;
  const auto add = [&](const std::vector<std::byte>& bytes) {
    code.insert(code.end(), bytes.begin(), bytes.end());
  };
  const auto add_text = [&](const std::string& text) {
    add(emu::assemble(text, shape_.target, shape_.wave64));
  };
  const auto spell = [&](std::string text) {
    const bool wave64 = shape_.wave64;
    const std::pair<const char*, const char*> words[] = {{"EXEC", wave64 ? "exec" : "exec_lo"},
                                                         {"VCC", wave64 ? "vcc" : "vcc_lo"},
                                                         {"MASK", wave64 ? "s[26:27]" : "s26"},
                                                         {"BITS", wave64 ? "b64" : "b32"}};
    for (const auto& [from, to] : words)
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, std::string(from).size(), to);
    return text;
  };
  for (int i = 0; i < kInstructions; ++i) {
    // Those by descriptors read everything, as far as liveness goes.
    const uint32_t family = random_() % (with_exec ? 8 : 9);
    if (with_exec && random_() % 8 == 0) add_text(spell(kExec[random_() % std::size(kExec)]));
    if (family < 2) add_text(kScalars[random_() % std::size(kScalars)]);
    else if (family == 2) add_text(moving_text(kMoving[random_() % std::size(kMoving)], is_new));
    else if (family == 8) add_text(moving_text(described[random_() % described.size()], is_new));
    else if (family == 3) add(modified_[random_() % modified_.size()].swept.code);
    else add(vary(plain_[random_() % plain_.size()], shape_, random_));
  }
  add_text("s_endpgm");
  return code;
}

void RandomBlocks::prepare(uint32_t seed) {
  machines_.fill(seed, seed % 2 == 0 ? Bits::kNans : seed % 4 == 1 ? Bits::kTame : Bits::kAny);
  for (emu::TestMachine* machine : {&machines_.plain, &machines_.native}) {
    machine->wave.set_s64(20, emu::TestMachine::kData);
    machine->wave.s[isa::slot::kM0] = ~0u;
    set_resources(*machine, shape_.target.major);
  }
}

TEST_P(RandomBlocks, AreTheSameCompiledAndInterpreted) {
  for (int block = 0; block < kBlocks; ++block) {
    const std::vector<std::byte> code = some_code(/*with_exec=*/false);
    const emu::LoweredCode* plain = machines_.plain.load_code(code);
    const emu::LoweredCode* native = machines_.native.load_code(code);
    ASSERT_TRUE(machines_.publish(*native, 0));
    for (uint32_t seed = 1; seed <= kStates; ++seed) {
      prepare(seed);
      machines_.run_loaded(*plain, *native);
      ASSERT_EQ(machines_.difference(), "") << "block " << block << ", state " << seed;
    }
  }
}

// What the code does to memory, that is, as its registers are not all kept.
TEST_P(RandomBlocks, DoTheSameWithoutResultsThatNobodyReads) {
  for (int block = 0; block < kBlocks / 2; ++block) {
    const std::vector<std::byte> code = some_code(/*with_exec=*/true);
    const emu::LoweredCode* plain = machines_.plain.load_code(code);
    const emu::LoweredCode* native = machines_.native.load_code(code);
    const Liveness liveness(native->program());
    ASSERT_TRUE(machines_.publish(*native, 0, &liveness));
    for (uint32_t seed = 1; seed <= kStates; ++seed) {
      prepare(seed);
      machines_.run_loaded(*plain, *native);
      ASSERT_EQ(machines_.difference_outside(), "") << "block " << block << ", state " << seed;
    }
  }
}

// At any place, in lanes that are on.
TEST_P(RandomBlocks, DoNotDependOnRegistersThatAreSaidToBeDead) {
  constexpr int kPrograms = 60;
  for (int program = 0; program < kPrograms; ++program) {
    const std::vector<std::byte> code = some_code(/*with_exec=*/true);
    const emu::LoweredCode* plain = machines_.plain.load_code(code);
    const emu::LoweredCode* native = machines_.native.load_code(code);
    const Liveness liveness(native->program());
    prepare(static_cast<uint32_t>(program));
    machines_.run_loaded(*plain, *native, 1 + random_() % kInstructions);
    emu::Wave& wave = machines_.native.wave;
    if (wave.state != emu::WaveState::kRunning) continue;
    const LiveRegisters& live = liveness.from(wave.pc)[0];
    for (uint32_t reg = 0; reg < wave.vgpr_count; ++reg)
      if (!live.has_row(reg))
        emu::for_each_lane(wave.exec(), [&](int lane) { wave.vrow(reg)[lane] ^= 0x5a5a5a5a; });
    for (uint32_t at = 0; at <= isa::slot::kVccHi; ++at)
      if (!live.has_slot(at)) wave.s[at] ^= 0x5a5a5a5a;
    machines_.go_on(100000);
    ASSERT_EQ(machines_.difference_outside(), "") << "program " << program;
  }
}

}  // namespace
}  // namespace wavetap::jit::random_test
