// Every memory instruction that is compiled against its handler: addresses with and without a
// pattern, lanes that are off, elements at borders and outside of them.
#include "jit/native/memory_ops.h"

#include "jit/testing.h"

namespace wavetap::jit::memory_ops_test {
namespace {

using emu::Configuration;
using emu::TestMachine;

constexpr uint32_t kLdsBytes = 4096;

// One of each wave size and spelling: the rest is the same to the compiler.
constexpr Configuration kTargets[] = {
    {emu::kGfx90a, true}, {emu::kGfx1030, false}, {emu::kGfx1100, false}};

enum class Pattern {
  kRow,
  kSame,
  kSliding,
  kGroups,
  kColumns,
  kScattered,
  kOdd,
  kBorder,
  kOutside,
  kCount
};

class MemoryOps : public testing::TestWithParam<Configuration> {
 protected:
  static std::unique_ptr<TwinMachines> make(bool sram_ecc) {
    return std::make_unique<TwinMachines>(TestMachine::Options{.target = GetParam().target,
                                                               .wave64 = GetParam().wave64,
                                                               .lds_bytes = kLdsBytes,
                                                               .sram_ecc = sram_ecc});
  }
  std::unique_ptr<TwinMachines> machines_ = make(false);

  // Where a lane's element is, from the beginning of `bytes` bytes.
  static uint32_t place(Pattern pattern, uint32_t lane, uint32_t size, uint32_t bytes,
                        std::mt19937& random) {
    switch (pattern) {
      case Pattern::kRow: return 256 + lane * size;
      case Pattern::kSame: return 260;
      case Pattern::kSliding: return 128 + lane * 4;
      case Pattern::kGroups: return 64 * (lane / 16 * 5 % 4) + lane % 16 * size;
      case Pattern::kColumns: return lane * 36 % 2048;
      case Pattern::kScattered: return random() % (bytes - 512) & ~3u;
      case Pattern::kOdd: return random() % (bytes - 512);
      case Pattern::kBorder: return bytes - 64 * size + lane * size - 32;
      default: return lane == 37 % 32 ? bytes - 2 : lane * size;
    }
  }

  // v2 is an address in LDS or, with s[4:5], in memory; v[4:5] are whole ones.
  void prepare(uint32_t seed, Pattern pattern, uint32_t size, bool lds) {
    machines_->fill(seed, seed % 2 == 0);
    std::mt19937 random(seed);
    emu::Wave& wave = machines_->plain.wave;
    const uint32_t bytes = lds ? kLdsBytes : static_cast<uint32_t>(TestMachine::kDataBytes);
    wave.set_s64(4, TestMachine::kData);
    for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
      const uint32_t at = place(pattern, lane, size, bytes, random);
      wave.vrow(2)[lane] = at;
      wave.vrow(4)[lane] = static_cast<uint32_t>(TestMachine::kData) + at;
      wave.vrow(5)[lane] = 0;
    }
    static const std::vector<uint32_t> bits = [] {
      std::mt19937 source(7);
      std::vector<uint32_t> words(TestMachine::kDataBytes / 4);
      for (uint32_t& word : words) word = source();
      return words;
    }();
    for (TestMachine* machine : {&machines_->plain, &machines_->native}) {
      std::memcpy(machine->wave.lds, bits.data(), kLdsBytes);
      const emu::MappedRange range = machine->memory.lookup({TestMachine::kData});
      std::memcpy(range.host, bits.data(), TestMachine::kDataBytes);
    }
    machines_->copy_state();
  }

  void expect_same(const std::string& text, uint32_t size, bool lds) {
    const emu::LoweredCode* plain = machines_->plain.load(text + "\ns_endpgm");
    const emu::LoweredCode* native = machines_->native.load(text + "\ns_endpgm");
    ASSERT_NE(plain, nullptr) << text;
    ASSERT_TRUE(machines_->publish(*native, 0)) << text;
    for (int pattern = 0; pattern < static_cast<int>(Pattern::kCount); ++pattern) {
      for (uint32_t seed = 1; seed <= 3; ++seed) {
        prepare(seed, static_cast<Pattern>(pattern), size, lds);
        machines_->run_loaded(*plain, *native);
        ASSERT_EQ(machines_->difference(), "") << text << ", pattern " << pattern << ", " << seed;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, MemoryOps, testing::ValuesIn(kTargets), emu::configuration_name);

struct Named {
  const char* name;
  const char* newer;  // gfx11's name
  uint32_t size;
};

TEST_P(MemoryOps, LoadsAreTheHandlers) {
  const bool is_new = GetParam().target.major >= 11;
  constexpr Named kGlobal[] = {
      {"dword", "b32", 4}, {"dwordx2", "b64", 8}, {"dwordx3", "b96", 12}, {"dwordx4", "b128", 16},
      {"ubyte", "u8", 1},  {"sbyte", "i8", 1},    {"ushort", "u16", 2},   {"sshort", "i16", 2}};
  for (const Named& one : kGlobal) {
    const std::string name = is_new ? one.newer : one.name;
    const std::string to = one.size <= 4 ? "v8" : "v[8:" + std::to_string(7 + one.size / 4) + "]";
    expect_same("global_load_" + name + " " + to + ", v2, s[4:5] offset:12\nv_xor_b32 v20, v8, v2",
                one.size, false);
    expect_same("global_load_" + name + " " + to + ", v[4:5], off\nv_xor_b32 v2, v2, v2", one.size,
                false);
    expect_same("flat_load_" + name + " " + to + ", v[4:5]", one.size, false);
  }
  constexpr Named kLds[] = {{"read_b32", "load_b32", 4},  {"read_b64", "load_b64", 8},
                            {"read_b96", "load_b96", 12}, {"read_b128", "load_b128", 16},
                            {"read_u8", "load_u8", 1},    {"read_i8", "load_i8", 1},
                            {"read_u16", "load_u16", 2},  {"read_i16", "load_i16", 2}};
  for (const Named& one : kLds) {
    const std::string name = is_new ? one.newer : one.name;
    const std::string to = one.size <= 4 ? "v8" : "v[8:" + std::to_string(7 + one.size / 4) + "]";
    expect_same("ds_" + name + " " + to + ", v2 offset:16\nv_add_f32 v3, v8, v8", one.size, true);
  }
  constexpr Named kTwo[] = {{"read2_b32", "load_2addr_b32", 4},
                            {"read2_b64", "load_2addr_b64", 8},
                            {"read2st64_b32", "load_2addr_stride64_b32", 4},
                            {"read2st64_b64", "load_2addr_stride64_b64", 8}};
  for (const Named& one : kTwo) {
    const std::string name = is_new ? one.newer : one.name;
    const std::string to = one.size == 4 ? "v[8:9]" : "v[8:11]";
    expect_same("ds_" + name + " " + to + ", v2 offset0:3 offset1:1\nv_add_f32 v3, v8, v9",
                one.size, true);
  }
}

TEST_P(MemoryOps, StoresAreTheHandlers) {
  const bool is_new = GetParam().target.major >= 11;
  constexpr Named kGlobal[] = {{"dword", "b32", 4},    {"dwordx2", "b64", 8},
                               {"dwordx3", "b96", 12}, {"dwordx4", "b128", 16},
                               {"byte", "b8", 1},      {"short", "b16", 2}};
  for (const Named& one : kGlobal) {
    const std::string name = is_new ? one.newer : one.name;
    const std::string from = one.size <= 4 ? "v8" : "v[8:" + std::to_string(7 + one.size / 4) + "]";
    expect_same("v_mul_f32 v8, v9, v9\nglobal_store_" + name + " v2, " + from +
                    ", s[4:5] offset:12\nv_xor_b32 v2, v8, v2",
                one.size, false);
    expect_same("global_store_" + name + " v[4:5], " + from + ", off", one.size, false);
    expect_same("flat_store_" + name + " v[4:5], " + from, one.size, false);
  }
  constexpr Named kLds[] = {{"write_b8", "store_b8", 1},    {"write_b16", "store_b16", 2},
                            {"write_b32", "store_b32", 4},  {"write_b64", "store_b64", 8},
                            {"write_b96", "store_b96", 12}, {"write_b128", "store_b128", 16}};
  for (const Named& one : kLds) {
    const std::string name = is_new ? one.newer : one.name;
    const std::string from = one.size <= 4 ? "v8" : "v[8:" + std::to_string(7 + one.size / 4) + "]";
    expect_same("v_xor_b32 v8, v9, v9\nds_" + name + " v2, " + from + " offset:16", one.size, true);
  }
  constexpr Named kTwo[] = {{"write2_b32", "store_2addr_b32", 4},
                            {"write2_b64", "store_2addr_b64", 8},
                            {"write2st64_b32", "store_2addr_stride64_b32", 4},
                            {"write2st64_b64", "store_2addr_stride64_b64", 8}};
  for (const Named& one : kTwo) {
    const std::string name = is_new ? one.newer : one.name;
    const std::string data = one.size == 4 ? "v8, v9" : "v[8:9], v[10:11]";
    expect_same("ds_" + name + " v2, " + data + " offset0:1 offset1:0", one.size, true);
  }
}

// A load into half a register keeps the other half, or clears it.
TEST_P(MemoryOps, HalvesOfRegistersAreTheHandlers) {
  const bool is_new = GetParam().target.major >= 11;
  constexpr Named kLoads[] = {{"ubyte_d16", "d16_u8", 1},  {"ubyte_d16_hi", "d16_hi_u8", 1},
                              {"sbyte_d16", "d16_i8", 1},  {"sbyte_d16_hi", "d16_hi_i8", 1},
                              {"short_d16", "d16_b16", 2}, {"short_d16_hi", "d16_hi_b16", 2}};
  constexpr Named kStores[] = {{"byte_d16_hi", "d16_hi_b8", 1}, {"short_d16_hi", "d16_hi_b16", 2}};
  for (const bool clears : {false, true}) {
    machines_ = make(clears);
    for (const Named& one : kLoads) {
      const std::string name = is_new ? one.newer : one.name;
      expect_same("v_xor_b32 v8, v9, v9\nglobal_load_" + name +
                      " v8, v2, s[4:5] offset:12\nv_xor_b32 v20, v8, v2",
                  one.size, false);
    }
    for (const Named& one : kStores)
      expect_same("v_mul_f32 v8, v9, v9\nglobal_store_" +
                      (is_new ? std::string(one.newer) : one.name) + " v2, v8, s[4:5] offset:12",
                  one.size, false);
  }
}

// Many lanes have one address, or addresses that are not multiples of the element's size.
TEST_P(MemoryOps, AtomicOperationsOnLdsAreTheHandlers) {
  const bool is_new = GetParam().target.major >= 11;
  for (const char* name : {"add_u32", "sub_u32", "and_b32", "or_b32", "xor_b32", "min_i32",
                           "max_i32", "min_u32", "max_u32", "add_f32"}) {
    const std::string kind = std::string(name).substr(0, std::string(name).find('_'));
    const std::string type = std::string(name).substr(kind.size());
    for (const bool wide : {false, true}) {
      if (wide && type == "_f32") continue;
      std::string suffix = type;
      if (wide) suffix.replace(2, 2, "64");
      const std::string data = wide ? "v[8:9]" : "v8";
      const uint32_t size = wide ? 8 : 4;
      expect_same("v_max_f32 v8, v9, v8\nds_" + kind + suffix + " v2, " + data +
                      " offset:8\nv_xor_b32 v20, v8, v2",
                  size, true);
      expect_same("ds_" + kind + "_rtn" + suffix + " " + (wide ? "v[8:9]" : "v8") + ", v2, " +
                      data + " offset:16\nv_xor_b32 v20, v8, v2",
                  size, true);
    }
  }
  const std::string exchange = is_new ? "ds_storexchg_rtn_b32" : "ds_wrxchg_rtn_b32";
  expect_same(exchange + " v9, v2, v8\nv_xor_b32 v20, v9, v2", 4, true);
}

// Lanes store to what others have loaded, or load what others have stored.
TEST_P(MemoryOps, WholeInstructionsComeOneAfterAnother) {
  const bool is_new = GetParam().target.major >= 11;
  const std::string read = is_new ? "ds_load_b32" : "ds_read_b32";
  const std::string write = is_new ? "ds_store_b32" : "ds_write_b32";
  expect_same(read + " v8, v2 offset:4\ns_waitcnt lgkmcnt(0)\nv_xor_b32 v8, v8, v9\n" + write +
                  " v2, v8\n" + write + " v2, v9 offset:8\n" + read + " v10, v2 offset:8",
              4, true);
  const std::string load = is_new ? "global_load_b32" : "global_load_dword";
  const std::string store = is_new ? "global_store_b32" : "global_store_dword";
  expect_same(load + " v8, v[4:5], off\n" + load + " v9, v[4:5], off offset:64\n" +
                  "s_waitcnt vmcnt(0)\nv_mul_f32 v8, v8, v9\n" + store +
                  " v[4:5], v8, off offset:4\n" + load + " v4, v[4:5], off offset:8\n" + store +
                  " v2, v4, s[4:5]",
              4, false);
}

// A NaN in one lane: handlers do its strip again and must find what it began with, whatever has been
// stored meanwhile. That is the address's upper half, a register that the load overwrites, and sums.
TEST_P(MemoryOps, StripsThatAreDoneAgainFindWhatTheyRead) {
  const bool is_new = GetParam().target.major >= 11;
  const std::string load = is_new ? "global_load_b32" : "global_load_dword";
  const std::string load3 = is_new ? "global_load_b96" : "global_load_dwordx3";
  const std::string read = is_new ? "ds_load_b64" : "ds_read_b64";
  const std::string end = "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n";
  const std::string texts[] = {
      load + " v8, v[4:5], off" + end + "v_mov_b32 v5, 1.0\nv_add_f32 v10, v8, v10",
      load + " v5, v[4:5], off" + end + "v_add_f32 v4, v5, v10\nv_fma_f32 v10, v5, v4, v10",
      load3 + " v[6:8], v[4:5], off" + end + "v_mov_b32 v4, v5\nv_add_f32 v9, v8, v10",
      read + " v[2:3], v2" + end + "v_mul_f32 v11, v3, v10\nv_mov_b32 v10, v2",
      load + " v8, v2, s[4:5]" + end +
          "v_add_f32 v10, 1.0, v10\nv_mov_b32 v2, v8\nv_mov_b32 v12, v10"};
  for (const std::string& text : texts) {
    const emu::LoweredCode* plain = machines_->plain.load(text + "\ns_endpgm");
    const emu::LoweredCode* native = machines_->native.load(text + "\ns_endpgm");
    ASSERT_NE(plain, nullptr) << text;
    ASSERT_TRUE(machines_->publish(*native, 0)) << text;
    for (const uint32_t size : {4u, 8u, 0u})
      for (const uint32_t lane : {0u, 5u, 17u, 31u}) {
        prepare(1, Pattern::kRow, size, true);
        emu::Wave& wave = machines_->plain.wave;
        machines_->plain.set_exec(wave.full_exec());
        for (uint32_t i = 0; i < wave.lanes; ++i) wave.vrow(10)[i] = 0x3f800000 + i;
        wave.vrow(10)[lane] = 0xff812345;
        machines_->copy_state();
        machines_->run_loaded(*plain, *native);
        ASSERT_EQ(machines_->native.wave.state, emu::WaveState::kFinished);
        ASSERT_EQ(machines_->difference(), "") << text << ", lane " << lane << ", size " << size;
      }
  }
}

TEST_P(MemoryOps, AddressesThatWrapAreThoseOfTheHandlers) {
  const bool is_new = GetParam().target.major >= 11;
  const std::string load = is_new ? "global_load_b32" : "global_load_dword";
  const std::string text = load + " v8, v2, s[4:5]\ns_endpgm";
  const emu::LoweredCode* plain = machines_->plain.load(text);
  const emu::LoweredCode* native = machines_->native.load(text);
  ASSERT_TRUE(machines_->publish(*native, 0));
  prepare(1, Pattern::kRow, 4, false);
  emu::Wave& wave = machines_->plain.wave;
  for (uint32_t lane = 0; lane < wave.lanes; ++lane) wave.vrow(2)[lane] = 4 * (lane - 7);
  machines_->plain.set_exec(wave.full_exec());
  machines_->copy_state();
  machines_->run_loaded(*plain, *native);
  EXPECT_EQ(machines_->native.wave.state, emu::WaveState::kFaulted);
  EXPECT_EQ(machines_->difference(), "");
}

TEST_P(MemoryOps, ScalarLoadsAreTheHandlers) {
  const bool is_new = GetParam().target.major >= 11;
  for (const uint32_t dwords : {1u, 2u, 4u, 8u, 16u}) {
    const std::string name =
        is_new ? "s_load_b" + std::to_string(32 * dwords)
               : "s_load_dword" + (dwords == 1 ? "" : "x" + std::to_string(dwords));
    const std::string to = dwords == 1 ? "s16" : "s[16:" + std::to_string(15 + dwords) + "]";
    expect_same(name + " " + to +
                    ", s[4:5], 0x24\ns_waitcnt lgkmcnt(0)\ns_add_u32 s40, s16, s40\n" + name + " " +
                    to + ", s[4:5], 0x40\nv_mov_b32 v9, s16",
                4, false);
  }
}

}  // namespace
}  // namespace wavetap::jit::memory_ops_test
