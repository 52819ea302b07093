// ds_*: every instruction of every target against a plain reference, then bounds, alignment, M0
// forms, lane exchanges, global wave sync and counters.
#include <gtest/gtest.h>

#include "emu/testing/mem_reference.h"

namespace wavetap::emu {
namespace {

using isa::OperandKind;

constexpr uint32_t kLdsBytes = 8192;

TestMachine::Options options_for(const Shape& shape) {
  TestMachine::Options options;
  options.target = shape.target;
  options.wave64 = shape.wave64;
  options.sram_ecc = shape.sram_ecc;
  options.vgprs = 32;
  options.agprs = shape.target.has_mfma() ? 32 : 0;
  options.lds_bytes = kLdsBytes;
  return options;
}

// --- The reference: a DS name is ds_OPERATION[_rtn]_TYPE[_d16[_hi]].

struct DsName {
  enum Kind { kLoad, kStore, kAtomic, kOther } kind = kOther;
  int count = 1;  // elements: 2 for the two-address forms
  int scale = 0;  // of their offsets
  bool returns = false;
  MemoryName element;
};

DsName read_ds_name(const std::string& name) {
  DsName result;
  std::string rest = name.substr(3);
  const auto take = [&](const std::string& part) {
    const size_t at = rest.find(part);
    if (at == std::string::npos) return false;
    rest.erase(at, part.size());
    return true;
  };
  MemoryName& element = result.element;
  if (contains(rest, "addtid") || contains(rest, "src2") || contains(rest, "permute") ||
      contains(rest, "swizzle") || contains(rest, "gws") || contains(rest, "append") ||
      contains(rest, "consume") || contains(rest, "nop") || contains(rest, "gs_reg") ||
      contains(rest, "bvh") || contains(rest, "ordered"))
    return result;
  const bool high = take("_d16_hi");
  if (high || take("_d16")) element.half = high ? 1 : 0;
  result.returns = take("_rtn");
  const bool strided = take("2st64");
  const size_t type_at = rest.rfind('_');
  const std::string type = rest.substr(type_at + 1);
  std::string operation = rest.substr(0, type_at);
  element.bytes = std::stoi(type.substr(type[0] == 'b' && type[1] == 'f' ? 2 : 1)) / 8;
  element.is_signed = type[0] == 'i';
  if (strided || (operation.back() == '2' && operation != "condxchg32")) {
    result.count = 2;
    result.scale = element.bytes * (strided ? 64 : 1);
    if (!strided) operation.pop_back();
  }
  if (operation == "read") {
    result.kind = DsName::kLoad;
    element.kind = MemoryName::kLoad;
  } else if (operation == "write") {
    result.kind = DsName::kStore;
    element.kind = MemoryName::kStore;
  } else {
    result.kind = DsName::kAtomic;
    if (operation == "min" || operation == "max")
      operation = (type[0] == 'i' ? "s" : type[0] == 'u' ? "u" : "f") + operation;
    if (operation == "add" && type[0] == 'f') operation = "fadd";
    if (operation == "pk_add") operation += "_" + type, element.bytes = 4;
    if ((operation == "cmpst" || operation == "cmpstore") && type[0] == 'f')
      operation = "f" + operation;
    element.operation = operation;
  }
  return result;
}

uint64_t read_reg(RefMachine& ref, const isa::Operand& operand, int lane, int bytes) {
  return ref.reg(operand, 0, lane) | (bytes == 8 ? uint64_t{ref.reg(operand, 1, lane)} << 32 : 0);
}

void reference(RefMachine& ref, const isa::Inst& inst, const DsName& name) {
  const int bytes = name.element.bytes;
  const int rows = std::max(1, bytes / 4);
  std::vector<uint32_t> base;
  for (int lane = 0; lane < ref.lanes; ++lane) base.push_back(ref.reg(inst.vaddr, 0, lane));
  // Elements one after the other; results are written when all have been read.
  struct Result {
    int lane, row;
    uint64_t value;
  };
  std::vector<Result> results;
  for (int element = 0; element < name.count; ++element) {
    const int32_t offset =
        name.count == 1 ? inst.offset : (element == 0 ? inst.offset : inst.offset1) * name.scale;
    for (int lane = 0; lane < ref.lanes; ++lane) {
      if (!ref.active(lane)) continue;
      const uint32_t at = base[static_cast<size_t>(lane)] + static_cast<uint32_t>(offset);
      const bool outside = uint64_t{at} + static_cast<uint64_t>(bytes) > ref.lds.size();
      uint8_t memory[16] = {};
      if (!outside) std::memcpy(memory, &ref.lds[at], static_cast<size_t>(bytes));
      if (name.kind == DsName::kLoad) {
        isa::Operand dst = inst.dst;
        dst.index = static_cast<uint16_t>(dst.index + element * rows);
        ref_load(ref, name.element, dst, lane, memory);
        continue;
      }
      uint8_t next[16];
      if (name.kind == DsName::kStore) {
        ref_store(ref, name.element, inst.src[element], lane, next);
      } else {
        uint64_t old = 0;
        std::memcpy(&old, memory, static_cast<size_t>(bytes));
        std::string operation = name.element.operation;
        uint64_t a = read_reg(ref, inst.src[name.count == 2 ? element : 0], lane, bytes);
        uint64_t b =
            inst.src[1].kind == OperandKind::kNone ? 0 : read_reg(ref, inst.src[1], lane, bytes);
        if (contains(operation, "cmpst")) {  // cmpst: compare, new; cmpstore: new, compare
          if (!contains(operation, "store")) std::swap(a, b);
          operation = operation[0] == 'f' ? "fcmpswap" : "cmpswap";
        }
        uint64_t value;
        if (operation == "condxchg32") {
          value = 0;
          for (int half = 0; half < 2; ++half) {
            const auto data = static_cast<uint32_t>(a >> 32 * half);
            const auto was = static_cast<uint32_t>(old >> 32 * half);
            value |= uint64_t{(data & 0x80000000u) != 0 ? data - 0x80000000u : was} << 32 * half;
          }
        } else {
          value = ref_atomic(operation, bytes, old, a, b);
        }
        std::memcpy(next, &value, 8);
        if (name.returns)
          for (int r = 0; r < rows; ++r)
            results.push_back({lane, element * rows + r, old >> 32 * r & 0xffffffff});
      }
      if (!outside) std::memcpy(&ref.lds[at], next, static_cast<size_t>(bytes));
    }
  }
  for (const Result& result : results)
    ref.reg(inst.dst, result.row, result.lane) = static_cast<uint32_t>(result.value);
}

// Where lane `n` accesses LDS.
uint32_t address_of(int pattern, uint32_t n, uint32_t bytes, std::mt19937_64& random) {
  switch (pattern) {
    case 0: return n * bytes;                                              // consecutive
    case 1: return (63 - n) * bytes;                                       // reversed
    case 2: return static_cast<uint32_t>(random() % (kLdsBytes / 8)) * 8;  // some past the end
    case 3: return static_cast<uint32_t>(random() % kLdsBytes);            // unaligned
    case 4: return 64;                                                     // all the same
    case 5: return n == 29 ? 16 : 64 + n * bytes;                          // almost consecutive
    default: return n == 29 ? 16 : 64;                                     // almost the same
  }
}

void check(const Shape& shape, const SweepFields& fields, int at_least, std::mt19937_64& random) {
  int checked = 0;
  for (const Swept& swept : sweep_ds(shape, fields)) {
    const DsName name = read_ds_name(swept.name);
    if (name.kind == DsName::kOther) continue;
    const bool is_atomic = name.kind == DsName::kAtomic;
    for (const Domain domain : domains_of(swept.name, is_atomic)) {
      TestMachine machine(options_for(shape));
      randomize(machine, random, domain);
      RefMachine ref(machine);
      const LoweredCode* code = machine.load_code(swept.code);
      for (int pattern = 0; pattern < 7; ++pattern) {
        if (is_atomic && (pattern == 3 || pattern == 6)) continue;
        for (const uint64_t exec : exec_masks(random)) {
          machine.set_exec(exec);
          for (int lane = 0; lane < machine.wave.lanes; ++lane)
            machine.set_v(fields.vaddr, lane,
                          address_of(pattern, static_cast<uint32_t>(lane),
                                     static_cast<uint32_t>(name.element.bytes), random));
          ref.follow(machine);
          reference(ref, swept.inst, name);
          const auto what = [&] {
            return shape_name(shape) + " " + swept.name + " pattern " + std::to_string(pattern);
          };
          ASSERT_TRUE(machine.run_loaded(code)) << what();
          ASSERT_FALSE(machine.faulted()) << what() << ": " << fault_name(machine.wave.fault.kind);
          ref.expect_same(machine, what);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
    ++checked;
  }
  EXPECT_GE(checked, at_least) << shape_name(shape);
}

TEST(Ds, EveryLoadStoreAndAtomicAgreesWithTheReference) {
  std::mt19937_64 random(11);
  for (const Shape& shape : test_shapes()) {
    check(shape, {}, 90, random);
    check(shape, {.offset = 8, .offset1 = 16}, 90,
          random);                          // for one address: 0x1008, partly past the end
    check(shape, {.vdst = 2}, 90, random);  // the result overlaps the address
    check(shape, {.vdst = 4}, 90, random);  // and the data
    if (shape.target.is_gfx90a_family()) check(shape, {.accumulator = true}, 60, random);
    if (HasFailure()) return;
  }
}

TEST(Ds, Src2FormsTakeTheirOperandFromLds) {
  // gfx908 only. B = A + 4 * offset[14:0], or with offset[15] set 4 * vaddr[31:17].
  TestMachine machine({.target = {9, 0, 8}, .lds_bytes = 4096});
  const auto put = [&](uint32_t at, uint32_t value) {
    std::memcpy(machine.wave.lds + at, &value, 4);
  };
  const auto get = [&](uint32_t at) {
    uint32_t value;
    std::memcpy(&value, machine.wave.lds + at, 4);
    return value;
  };
  put(16, 100);
  put(16 + 4 * 8, 5);
  machine.set_exec(1);
  machine.set_v(1, 0, 16);
  ASSERT_TRUE(machine.run("ds_add_src2_u32 v1 offset:8"));
  EXPECT_EQ(get(16), 105u);
  put(16 - 4 * 3, 7);
  machine.set_v(1, 0, 16 | (static_cast<uint32_t>(-3) << 17));
  ASSERT_TRUE(machine.run("ds_sub_src2_u32 v1 offset:0x8000"));
  EXPECT_EQ(get(16), 98u);
  ASSERT_TRUE(machine.run("ds_write_src2_b32 v1 offset:0x8000"));
  EXPECT_EQ(get(16), 7u);
}

TEST(Ds, AddtidFormsAddressARow) {
  for (const Shape& shape : test_shapes()) {
    if (shape.target == amd::GfxTarget{9, 0, 8} || shape.target.major == 11) continue;
    TestMachine machine(options_for(shape));
    machine.set_s(isa::slot::kM0, 0xabcd0000 | 64);
    machine.set_exec(~uint64_t{2});
    for (int lane = 0; lane < machine.wave.lanes; ++lane)
      machine.set_v(1, lane, 500 + static_cast<uint32_t>(lane));
    ASSERT_TRUE(machine.run("ds_write_addtid_b32 v1 offset:8"));
    machine.fill_v(2, 1);
    ASSERT_TRUE(machine.run("ds_read_addtid_b32 v2 offset:8"));
    for (int lane = 0; lane < machine.wave.lanes; ++lane) {
      uint32_t value;
      std::memcpy(&value, machine.wave.lds + 72 + 4 * lane, 4);
      EXPECT_EQ(value, lane == 1 ? 0u : 500u + static_cast<uint32_t>(lane));
      EXPECT_EQ(machine.v(2, lane), lane == 1 ? 1u : 500u + static_cast<uint32_t>(lane));
    }
  }
}

TEST(Ds, AppendAndConsumeCountActiveLanes) {
  TestMachine machine({.target = {9, 0, 10}});
  const uint32_t start = 1000;
  std::memcpy(machine.wave.lds + 24, &start, 4);
  machine.set_s(isa::slot::kM0, 16);
  machine.set_exec(0xff0f);
  machine.fill_v(1, 3);
  ASSERT_TRUE(machine.run("ds_append v1 offset:8"));
  EXPECT_EQ(machine.v(1, 0), 1000u);
  EXPECT_EQ(machine.v(1, 15), 1000u);
  EXPECT_EQ(machine.v(1, 4), 3u) << "a masked lane keeps its value";
  ASSERT_TRUE(machine.run("ds_consume v2 offset:8"));
  EXPECT_EQ(machine.v(2, 0), 1012u);
  uint32_t now;
  std::memcpy(&now, machine.wave.lds + 24, 4);
  EXPECT_EQ(now, 1000u);
}

TEST(Ds, AnElementPartlyPastTheEndReadsZeroAndIsNotWritten) {
  TestMachine machine({.target = {10, 3, 0}, .wave64 = false, .lds_bytes = 256});
  std::memset(machine.wave.lds, 0x5a, 256);
  machine.set_exec(0xf);
  machine.set_v(1, {248u, 252u, 256u, 0xfffffffcu});
  machine.fill_v(4, 0x11111111);
  machine.fill_v(5, 0x22222222);
  ASSERT_TRUE(machine.run("ds_read_b64 v[2:3], v1"));
  EXPECT_FALSE(machine.faulted());
  EXPECT_EQ(machine.v64(2, 0), 0x5a5a5a5a5a5a5a5au);
  for (int lane = 1; lane < 4; ++lane) EXPECT_EQ(machine.v64(2, lane), 0u) << lane;
  ASSERT_TRUE(machine.run("ds_write_b64 v1, v[4:5]"));
  uint64_t last;
  std::memcpy(&last, machine.wave.lds + 248, 8);
  EXPECT_EQ(last, 0x2222222211111111u);
  ASSERT_TRUE(machine.run("ds_add_rtn_u64 v[2:3], v1, v[4:5]"));
  EXPECT_TRUE(machine.faulted()) << "252 is not aligned for a 64-bit atomic";
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kMisaligned);
  EXPECT_EQ(machine.wave.fault.lane, 1);
}

// --- Lane exchanges.

// Groups of 16 lanes that read rows or single elements are loaded as such; one lane that strays, or
// a group at the end of LDS, must not be taken for one.
TEST(Ds, GroupsOfSixteenLanes) {
  struct Form {
    const char* text;
    uint32_t bytes;
  };
  struct Pattern {
    uint32_t column_stride, row_stride;
  };
  constexpr uint32_t kSize = 4096;
  for (const bool wave64 : {true, false}) {
    TestMachine machine({.target = {10, 3, 0}, .wave64 = wave64, .lds_bytes = kSize});
    for (uint32_t i = 0; i < kSize; ++i)
      machine.group.lds[i] = static_cast<std::byte>(i * 31 + i / 251);
    for (const Form form : {Form{"ds_read_u8 v4, v2", 1},
                            {"ds_read_b32 v4, v2", 4},
                            {"ds_read_b64 v[4:5], v2", 8},
                            {"ds_read_b96 v[4:6], v2", 12},
                            {"ds_read_b128 v[4:7], v2", 16}}) {
      const LoweredCode* code = machine.load(form.text);
      ASSERT_NE(code, nullptr) << form.text;
      for (const Pattern pattern : {Pattern{form.bytes, 0},
                                    {form.bytes, 68},
                                    {0, 68},
                                    {0, 0},
                                    {form.bytes, 16 * form.bytes}})
        for (const uint32_t base : {0u, 48u, kSize - 80, kSize - form.bytes})
          for (int stray = -1; stray < machine.wave.lanes; ++stray) {
            uint32_t at[64];
            for (int lane = 0; lane < machine.wave.lanes; ++lane) {
              const auto l = static_cast<uint32_t>(lane);
              at[lane] = base + l % 16 * pattern.column_stride + l / 16 * pattern.row_stride +
                         (lane == stray ? 4 : 0);
              machine.set_v(2, lane, at[lane]);
            }
            ASSERT_TRUE(machine.run_loaded(code));
            for (int lane = 0; lane < machine.wave.lanes; ++lane) {
              uint32_t want[4] = {};
              if (at[lane] + form.bytes <= kSize)
                std::memcpy(want, machine.group.lds + at[lane], form.bytes);
              for (uint32_t i = 0; i < (form.bytes + 3) / 4; ++i)
                ASSERT_EQ(machine.v(4 + i, lane), want[i])
                    << form.text << " lane " << lane << " stray " << stray << " base " << base;
            }
          }
    }
  }
}

// The same for two elements per lane, whose result may replace the address, and for stores, where
// groups may overlap.
TEST(Ds, PairsAndStoresOfSixteenLanes) {
  constexpr uint32_t kSize = 2048;
  struct Form {
    const char* text;
    uint32_t bytes, result, offset[2];
  };
  struct Pattern {
    uint32_t column_stride, row_stride;
  };
  for (const bool wave64 : {true, false}) {
    TestMachine machine({.target = {10, 3, 0}, .wave64 = wave64, .lds_bytes = kSize});
    const LoweredCode* store = machine.load("ds_write_b32 v2, v8");
    for (const Form form :
         {Form{"ds_read2_b32 v[4:5], v2 offset0:3 offset1:9", 4, 4, {12, 36}},
          {"ds_read2_b32 v[2:3], v2 offset0:3 offset1:9", 4, 2, {12, 36}},
          {"ds_read2_b64 v[4:7], v2 offset0:2 offset1:1", 8, 4, {16, 8}},
          {"ds_read2st64_b32 v[4:5], v2 offset0:1 offset1:2", 4, 4, {256, 512}}}) {
      const LoweredCode* load = machine.load(form.text);
      ASSERT_NE(load, nullptr) << form.text;
      for (const Pattern pattern : {Pattern{form.bytes, 68},
                                    {0, 68},
                                    {form.bytes, 16 * form.bytes},
                                    {form.bytes, 20},
                                    {0, 0}})
        for (const uint32_t base : {0u, 52u, kSize - 300, kSize - 40})
          for (const int stray : {-1, 0, 1, 15, 16, 17, 31}) {
            uint32_t at[64];
            for (uint32_t i = 0; i < kSize; ++i)
              machine.group.lds[i] = static_cast<std::byte>(i * 31 + i / 251);
            std::vector<std::byte> expected(machine.group.lds, machine.group.lds + kSize);
            const auto set_addresses = [&] {
              for (int lane = 0; lane < machine.wave.lanes; ++lane) {
                const auto l = static_cast<uint32_t>(lane);
                at[lane] = base + l % 16 * pattern.column_stride + l / 16 * pattern.row_stride +
                           (lane == stray ? 4 : 0);
                machine.set_v(2, lane, at[lane]);
                machine.set_v(8, lane, 0xabc00000 + l);
              }
            };
            set_addresses();
            ASSERT_TRUE(machine.run_loaded(load));
            for (int lane = 0; lane < machine.wave.lanes; ++lane)
              for (uint32_t element = 0; element < 2; ++element) {
                uint32_t want[2] = {};
                const uint32_t from = at[lane] + form.offset[element];
                if (from + form.bytes <= kSize)
                  std::memcpy(want, expected.data() + from, form.bytes);
                for (uint32_t i = 0; i < form.bytes / 4; ++i)
                  ASSERT_EQ(machine.v(form.result + element * form.bytes / 4 + i, lane), want[i])
                      << form.text << " lane " << lane << " stray " << stray << " base " << base;
              }
            set_addresses();
            ASSERT_TRUE(machine.run_loaded(store));
            for (int lane = 0; lane < machine.wave.lanes; ++lane)
              if (at[lane] + 4 <= kSize) {
                const uint32_t value = 0xabc00000 + static_cast<uint32_t>(lane);
                std::memcpy(expected.data() + at[lane], &value, 4);
              }
            ASSERT_EQ(std::memcmp(machine.group.lds, expected.data(), kSize), 0)
                << "stray " << stray << " base " << base;
          }
    }
  }
}

TEST(Ds, BpermuteAndPermuteMoveBetweenActiveLanes) {
  std::mt19937_64 random(12);
  for (const Shape& shape : test_shapes()) {
    const int group = shape.wave64 && shape.target.major < 10 ? 64 : 32;
    for (int round = 0; round < 40; ++round) {
      TestMachine machine(options_for(shape));
      randomize(machine, random);
      const uint64_t exec = exec_masks(random)[static_cast<size_t>(round) % 5];
      machine.set_exec(exec);
      for (const bool push : {false, true}) {
        RefMachine ref(machine);
        const auto lanes = static_cast<size_t>(ref.lanes);
        std::vector<uint32_t> result(lanes, 0);
        for (int lane = 0; lane < ref.lanes; ++lane) {
          if (!ref.active(lane)) continue;
          const uint32_t address = ref.v[2 * lanes + static_cast<size_t>(lane)] + 12;
          const int other =
              lane / group * group + static_cast<int>(address / 4 % static_cast<uint32_t>(group));
          if (push)
            result[static_cast<size_t>(other)] = ref.v[4 * lanes + static_cast<size_t>(lane)];
          else if (ref.active(other))
            result[static_cast<size_t>(lane)] = ref.v[4 * lanes + static_cast<size_t>(other)];
        }
        for (int lane = 0; lane < ref.lanes; ++lane)
          if (ref.active(lane))
            ref.v[4 * lanes + static_cast<size_t>(lane)] = result[static_cast<size_t>(lane)];
        ASSERT_TRUE(machine.run(push ? "ds_permute_b32 v4, v2, v4 offset:12"
                                     : "ds_bpermute_b32 v4, v2, v4 offset:12"));
        ref.expect_same(machine,
                        shape_name(shape) + (push ? " ds_permute_b32" : " ds_bpermute_b32"));
      }
    }
  }
}

TEST(Ds, SwizzleModes) {
  const struct {
    const char* offset;
    int source[8];  // of lanes 0…7
  } cases[] = {
      {"swizzle(QUAD_PERM, 3, 1, 0, 2)", {3, 1, 0, 2, 7, 5, 4, 6}},
      {"swizzle(SWAP, 1)", {1, 0, 3, 2, 5, 4, 7, 6}},
      {"swizzle(REVERSE, 8)", {7, 6, 5, 4, 3, 2, 1, 0}},
      {"swizzle(BROADCAST, 4, 2)", {2, 2, 2, 2, 6, 6, 6, 6}},
      {"swizzle(BITMASK_PERM, \"01pip\")", {10, 11, 8, 9, 14, 15, 12, 13}},
      {"0xc000|(3<<5)", {3, 4, 5, 6, 7, 8, 9, 10}},      // rotate by 3
      {"0xc400|(1<<5)|0x18", {7, 0, 1, 2, 3, 4, 5, 6}},  // the other way, in groups of 8
      {"0xe000", {0, 16, 8, 24, 4, 20, 12, 28}},         // bit reversal
      {"0xe000|0x10", {0, 8, 4, 12, 2, 10, 6, 14}},      // of the lower four bits
  };
  for (const auto& c : cases) {
    TestMachine machine({.target = {9, 0, 10}});
    for (int lane = 0; lane < 64; ++lane) machine.set_v(1, lane, 100 + static_cast<uint32_t>(lane));
    ASSERT_TRUE(machine.run(std::string("ds_swizzle_b32 v2, v1 offset:") + c.offset)) << c.offset;
    for (int lane = 0; lane < 8; ++lane) {
      EXPECT_EQ(machine.v(2, lane), 100u + static_cast<uint32_t>(c.source[lane]))
          << c.offset << " lane " << lane;
      EXPECT_EQ(machine.v(2, lane + 32), 132u + static_cast<uint32_t>(c.source[lane]))
          << c.offset << " lane " << lane + 32;
    }
  }
  TestMachine machine({.target = {9, 0, 10}});
  machine.fill_v(1, 9);
  machine.fill_v(2, 5);
  machine.set_exec(1);
  ASSERT_TRUE(machine.run("ds_swizzle_b32 v2, v1 offset:swizzle(SWAP, 1)"));
  EXPECT_EQ(machine.v(2, 0), 0u) << "a disabled source lane counts as zero";
  EXPECT_EQ(machine.v(2, 1), 5u);
}

// --- Global wave sync.

TEST(Gws, ABarrierHoldsEveryWaveUntilTheLastArrives) {
  // Three waves on one resource; run by hand, one instruction at a time.
  TestMachine first({.target = {9, 0, 10}});
  ASSERT_TRUE(first.run("v_mov_b32 v0, 2\ns_mov_b32 m0, 0\nds_gws_init v0 offset:3 gds"));
  std::vector<std::unique_ptr<TestMachine>> waves;
  for (int i = 0; i < 3; ++i) {
    waves.push_back(std::make_unique<TestMachine>(TestMachine::Options{.target = {9, 0, 10}}));
    waves.back()->dispatch.memory = first.dispatch.memory;  // the same GPU
    waves.back()->fill_v(0, 2);
  }
  const auto step = [](TestMachine& machine) {
    machine.run("ds_gws_barrier v0 offset:3 gds", 1);
    return machine.wave.pc;  // 1: passed
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(step(*waves[0]), 0);
    EXPECT_EQ(step(*waves[1]), 0);
    EXPECT_EQ(step(*waves[0]), 0) << "still waiting, and not counted twice";
    EXPECT_EQ(step(*waves[2]), 1) << "the last one goes on";
    EXPECT_EQ(step(*waves[1]), 1);
    EXPECT_EQ(step(*waves[0]), 1);
  }
}

TEST(Gws, Semaphores) {
  TestMachine machine({.target = {9, 0, 10}});
  const auto passes = [&](const char* text) {
    EXPECT_TRUE(machine.run(text, 1));
    return machine.wave.pc == 1;
  };
  machine.set_s(isa::slot::kM0, 5u << 16);
  machine.fill_v(0, 1);
  EXPECT_TRUE(passes("ds_gws_init v0 gds"));
  EXPECT_TRUE(passes("ds_gws_sema_p gds"));
  EXPECT_FALSE(passes("ds_gws_sema_p gds"));
  EXPECT_TRUE(passes("ds_gws_sema_v gds"));
  EXPECT_TRUE(passes("ds_gws_sema_p gds"));
  EXPECT_FALSE(passes("ds_gws_sema_p gds"));
  EXPECT_TRUE(passes("ds_gws_sema_release_all gds"));
  EXPECT_TRUE(passes("ds_gws_sema_p gds"));
  machine.fill_v(0, 2);
  EXPECT_TRUE(passes("ds_gws_sema_br v0 gds"));
  EXPECT_TRUE(passes("ds_gws_sema_p gds"));
  EXPECT_TRUE(passes("ds_gws_sema_p gds"));
  EXPECT_FALSE(passes("ds_gws_sema_p gds"));
}

TEST(Counters, OfLdsAccesses) {
  TestMachine machine({.target = {9, 0, 10}, .count = true});
  for (int lane = 0; lane < 64; ++lane) machine.set_v(1, lane, 4 * static_cast<uint32_t>(lane));
  machine.run("ds_read_b32 v2, v1");
  EXPECT_EQ(machine.counters.bytes_lds, 256u);
  EXPECT_EQ(machine.counters.lds_bank_conflicts, 0u);
  for (int lane = 0; lane < 64; ++lane) machine.set_v(1, lane, 128 * static_cast<uint32_t>(lane));
  machine.counters = {};
  machine.run("ds_read_b32 v2, v1");
  EXPECT_EQ(machine.counters.lds_bank_conflicts, 62u)
      << "64 dwords of one bank, where two cycles would do";
  machine.fill_v(1, 16);
  machine.counters = {};
  machine.run("ds_read_b32 v2, v1");
  EXPECT_EQ(machine.counters.lds_bank_conflicts, 0u) << "one dword for all lanes is a broadcast";
}

}  // namespace
}  // namespace wavetap::emu
