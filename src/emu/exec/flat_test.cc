// flat_*, global_* and scratch_*: every instruction of every target against the plain reference,
// over address forms, address patterns, EXEC masks and overlapping registers; then faults and
// counters.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "emu/testing/mem_reference.h"

namespace wavetap::emu::flat_test {
namespace {

using isa::OperandKind;

constexpr uint64_t kData = TestMachine::kData;

TestMachine::Options options_for(const Shape& shape) {
  TestMachine::Options options;
  options.target = shape.target;
  options.wave64 = shape.wave64;
  options.sram_ecc = shape.sram_ecc;
  options.vgprs = 32;
  options.agprs = shape.target.has_mfma() ? 32 : 0;
  options.lds_bytes = 4096;
  options.scratch_bytes_per_lane = 128;
  return options;
}

enum class Pattern {
  kConsecutive,
  kReversed,
  kScattered,
  kUnaligned,
  kSame,
  kAlmostConsecutive,
  kAlmostSame
};
constexpr Pattern kPatterns[] = {
    Pattern::kConsecutive, Pattern::kReversed,          Pattern::kScattered, Pattern::kUnaligned,
    Pattern::kSame,        Pattern::kAlmostConsecutive, Pattern::kAlmostSame};

// Byte `lane` accesses in a window of `size` bytes.
uint32_t pick(Pattern pattern, int lane, uint32_t element, uint32_t size, std::mt19937_64& random) {
  const auto n = static_cast<uint32_t>(lane);
  switch (pattern) {
    case Pattern::kConsecutive: return 64 + n * element;
    case Pattern::kReversed: return 64 + (63 - n) * element;
    case Pattern::kScattered: return static_cast<uint32_t>(random() % ((size - 32) / 8)) * 8;
    case Pattern::kUnaligned: return static_cast<uint32_t>(random() % (size - 16));
    case Pattern::kSame: return 48;
    case Pattern::kAlmostConsecutive: return n == 29 ? 16 : 64 + n * element;
    case Pattern::kAlmostSame: return n == 29 ? 16 : 48;
  }
  return 0;
}

// A machine with random contents and the reference beside it, for many rounds of one instruction.
struct Pair {
  Pair(const Shape& shape, const Swept& swept, std::mt19937_64& random, Domain domain)
      : machine(options_for(shape)) {
    randomize(machine, random, domain);
    ref.emplace(machine);
    code = machine.load_code(swept.code);
  }
  // Runs the instruction on the machine and on the reference, and compares.
  template <class What, class Reference>
  void compare(const What& what, Reference reference) {
    ref->follow(machine);
    reference(*ref);
    ASSERT_TRUE(machine.run_loaded(code)) << what();
    EXPECT_FALSE(machine.faulted()) << what() << ": " << fault_name(machine.wave.fault.kind) << " "
                                    << machine.wave.fault.detail;
    ref->expect_same(machine, what);
  }

  TestMachine machine;
  std::optional<RefMachine> ref;
  const LoweredCode* code = nullptr;
};

uint64_t ref_global_address(RefMachine& ref, const isa::Inst& inst, int lane) {
  const auto offset = static_cast<uint64_t>(int64_t{inst.offset});
  if (inst.saddr.kind != OperandKind::kNone)
    return (ref.scalar(inst.saddr) | uint64_t{ref.scalar(inst.saddr, 1)} << 32) +
           ref.reg(inst.vaddr, 0, lane) + offset;
  return (ref.reg(inst.vaddr, 0, lane) | uint64_t{ref.reg(inst.vaddr, 1, lane)} << 32) + offset;
}

struct Form {
  const char* name;
  SweepFields fields;
};

int check_global(const Shape& shape, const Form& form, std::mt19937_64& random) {
  int checked = 0;
  for (const Swept& swept : sweep_flat(shape, FlatSegment::kGlobal, form.fields)) {
    const MemoryName name = read_memory_name(swept.name);
    if (contains(swept.name, "addtid") || swept.inst.lds) continue;  // tested below
    EXPECT_NE(name.kind, MemoryName::kOther) << "the reference does not know " << swept.name;
    const bool is_atomic = name.kind == MemoryName::kAtomic;
    for (const Domain domain : domains_of(swept.name, is_atomic)) {
      Pair pair(shape, swept, random, domain);
      TestMachine& machine = pair.machine;
      for (const Pattern pattern : kPatterns) {
        if (is_atomic && (pattern == Pattern::kUnaligned || pattern == Pattern::kAlmostSame))
          continue;
        for (const uint64_t exec : exec_masks(random)) {
          machine.set_exec(exec);
          const uint64_t base = kData + 0x8000;
          machine.set_s64(8, base - 4096);
          for (int lane = 0; lane < machine.wave.lanes; ++lane) {
            const uint64_t at =
                base + pick(pattern, lane, static_cast<uint32_t>(name.bytes), 4096, random) -
                static_cast<uint64_t>(int64_t{swept.inst.offset});
            if (form.fields.saddr)
              machine.set_v(form.fields.vaddr, lane, static_cast<uint32_t>(at - (base - 4096)));
            else machine.set_v64(form.fields.vaddr, lane, at);
          }
          const auto what = [&] {
            return shape_name(shape) + " " + swept.name + " " + form.name + " pattern " +
                   std::to_string(static_cast<int>(pattern));
          };
          pair.compare(what, [&](RefMachine& ref) {
            std::vector<uint64_t> at;
            for (int lane = 0; lane < ref.lanes; ++lane)
              at.push_back(ref_global_address(ref, swept.inst, lane));
            ref_access(ref, swept.inst, name, [&](int lane, int i) {
              return ref.global_byte(at[static_cast<size_t>(lane)] + static_cast<uint64_t>(i));
            });
          });
          if (::testing::Test::HasFailure()) return checked;
        }
      }
    }
    ++checked;
  }
  return checked;
}

TEST(Global, EveryInstructionAgreesWithTheReference) {
  std::mt19937_64 random(1);
  const Form forms[] = {
      {"vaddr", {}},
      {"vaddr + positive offset", {.offset = 1016}},
      {"vaddr - offset", {.offset = -1024}},
      {"returning", {.returns = true}},
      {"result over address", {.returns = true, .vdst = 2}},
      {"result over data", {.returns = true, .vdst = 4}},
      {"saddr", {.saddr = true}},
      {"saddr, negative offset, returning",
       {.returns = true, .saddr = true, .offset = -8, .vdst = 2}},
  };
  for (const Shape& shape : test_shapes()) {
    for (const Form& form : forms) {
      EXPECT_GE(check_global(shape, form, random), 48) << shape_name(shape);
      if (HasFailure()) return;
    }
    if (shape.target.is_gfx90a_family()) {
      const Form accumulator{"accumulation registers", {.returns = true, .accumulator = true}};
      EXPECT_GE(check_global(shape, accumulator, random), 40) << shape_name(shape);
    }
  }
}

// A flat address may be global, LDS or private, lane by lane.
TEST(Flat, EveryInstructionReachesTheMemoryItsApertureSelects) {
  std::mt19937_64 random(2);
  for (const Shape& shape : test_shapes()) {
    for (const bool returns : {false, true}) {
      int checked = 0;
      for (const Swept& swept :
           sweep_flat(shape, FlatSegment::kFlat, {.returns = returns, .offset = 8})) {
        const MemoryName name = read_memory_name(swept.name);
        ASSERT_NE(name.kind, MemoryName::kOther) << swept.name;
        const bool is_atomic = name.kind == MemoryName::kAtomic;
        for (const Domain domain : domains_of(swept.name, is_atomic)) {
          Pair pair(shape, swept, random, domain);
          TestMachine& machine = pair.machine;
          for (int mix = 0; mix < 4; ++mix) {  // all global, all LDS, all private, any
            for (const Pattern pattern :
                 {Pattern::kConsecutive, Pattern::kScattered, Pattern::kUnaligned}) {
              if (is_atomic && pattern == Pattern::kUnaligned) continue;
              for (const uint64_t exec : exec_masks(random)) {
                machine.set_exec(exec);
                for (int lane = 0; lane < machine.wave.lanes; ++lane) {
                  const auto bytes = static_cast<uint32_t>(name.bytes);
                  const uint64_t choice = mix == 3 ? random() % 3 : static_cast<uint64_t>(mix);
                  uint64_t at = 0;
                  if (choice == 0) at = kData + pick(pattern, lane, bytes, 4096, random);
                  if (choice == 1) at = kSharedAperture + pick(pattern, lane, bytes, 4096, random);
                  if (choice == 2)
                    at = kPrivateAperture +
                         pick(pattern == Pattern::kConsecutive ? Pattern::kSame : pattern, lane,
                              bytes, 128, random);
                  machine.set_v64(2, lane, at - 8);
                }
                const auto what = [&] {
                  return shape_name(shape) + " " + swept.name + " mix " + std::to_string(mix) +
                         " pattern " + std::to_string(static_cast<int>(pattern));
                };
                pair.compare(what, [&](RefMachine& ref) {
                  std::vector<uint64_t> at;
                  for (int lane = 0; lane < ref.lanes; ++lane)
                    at.push_back(ref_global_address(ref, swept.inst, lane));
                  ref_access(ref, swept.inst, name, [&](int lane, int i) {
                    return ref.flat_byte(at[static_cast<size_t>(lane)] + static_cast<uint64_t>(i),
                                         lane);
                  });
                });
                if (HasFailure()) return;
              }
            }
          }
        }
        ++checked;
      }
      EXPECT_GE(checked, 46) << shape_name(shape);
    }
  }
}

TEST(Scratch, EveryInstructionAgreesWithTheReference) {
  std::mt19937_64 random(3);
  const Form forms[] = {
      {"saddr", {.saddr = true, .no_vaddr = true, .offset = 4, .vaddr = 0}},
      {"vaddr", {.offset = 4}},
      {"vaddr, result over it", {.offset = -4, .vdst = 2}},
      {"saddr and vaddr", {.saddr = true, .offset = 4}},
  };
  for (const Shape& shape : test_shapes()) {
    for (const Form& form : forms) {
      int checked = 0;
      for (const Swept& swept : sweep_flat(shape, FlatSegment::kScratch, form.fields)) {
        if (swept.inst.lds) continue;  // tested below
        const MemoryName name = read_memory_name(swept.name);
        ASSERT_NE(name.kind, MemoryName::kOther) << swept.name;
        const bool uses_vaddr = swept.inst.vaddr.kind != OperandKind::kNone;
        const bool uses_saddr = swept.inst.saddr.kind != OperandKind::kNone;
        Pair pair(shape, swept, random, Domain::kAnyBits);
        TestMachine& machine = pair.machine;
        for (int round = 0; round < 6; ++round) {
          for (const uint64_t exec : exec_masks(random)) {
            machine.set_exec(exec);
            const auto base = static_cast<uint32_t>(random() % 40);
            machine.set_s(8, round % 2 == 0 ? base / 4 * 4 : base);  // aligned and not, in turn
            for (int lane = 0; uses_vaddr && lane < machine.wave.lanes; ++lane) {
              const auto own = 8 + static_cast<uint32_t>(random() % 60);
              machine.set_v(2, lane, round % 2 == 0 ? own / 4 * 4 : own);
            }
            const auto what = [&] {
              return shape_name(shape) + " " + swept.name + " " + form.name;
            };
            pair.compare(what, [&](RefMachine& ref) {
              std::vector<uint32_t> at;
              for (int lane = 0; lane < ref.lanes; ++lane)
                at.push_back((uses_saddr ? ref.scalar(swept.inst.saddr) : 0) +
                             (uses_vaddr ? ref.reg(swept.inst.vaddr, 0, lane) : 0) +
                             static_cast<uint32_t>(swept.inst.offset));
              ref_access(ref, swept.inst, name, [&](int lane, int i) {
                return ref.scratch_byte(at[static_cast<size_t>(lane)] + static_cast<uint32_t>(i),
                                        lane);
              });
            });
            if (HasFailure()) return;
          }
        }
        ++checked;
      }
      const bool has_form = shape.target.major == 11 || shape.target.is_gfx940_family() ||
                            std::string(form.name) != "saddr and vaddr";
      EXPECT_GE(checked, has_form ? 22 : 0) << shape_name(shape) << " " << form.name;
    }
  }
}

TEST(Global, TheLaneOffsetBesideAScalarBaseIsUnsigned) {
  TestMachine machine;
  machine.memory.map(0xf0001000, 4096);
  machine.memory.write<uint32_t>(0xf0001000 + 8, 1234);
  machine.set_exec(1);
  machine.set_s64(4, 0x1000);
  machine.set_v(2, 0, 0xf0000000);
  ASSERT_TRUE(machine.run("global_load_dword v4, v2, s[4:5] offset:8"));
  ASSERT_FALSE(machine.faulted());
  EXPECT_EQ(machine.v(4), 1234u);
}

TEST(Global, AddtidFormsAccessARowOfMemory) {
  for (const bool wave64 : {false, true}) {
    TestMachine machine({.target = {10, 3, 0}, .wave64 = wave64});
    machine.set_s64(4, kData + 256);
    for (int lane = 0; lane < machine.wave.lanes; ++lane)
      machine.memory.write<uint32_t>(kData + 272 + 4 * static_cast<uint64_t>(lane),
                                     1000 + static_cast<uint32_t>(lane));
    machine.set_exec(0xfffffffffffffffe);
    machine.fill_v(1, 7);
    ASSERT_TRUE(machine.run("global_load_dword_addtid v1, s[4:5] offset:16"));
    EXPECT_EQ(machine.v(1, 0), 7u);
    for (int lane = 1; lane < machine.wave.lanes; ++lane)
      EXPECT_EQ(machine.v(1, lane), 1000u + static_cast<uint32_t>(lane));
    ASSERT_TRUE(machine.run("global_store_dword_addtid v1, s[4:5] offset:1024"));
    EXPECT_EQ(machine.memory.read<uint32_t>(kData + 1280), 0u);
    EXPECT_EQ(machine.memory.read<uint32_t>(kData + 1280 + 4 * 31), 1031u);
  }
}

TEST(Global, LoadsToLdsPutOneDwordPerLaneAtM0) {
  TestMachine machine({.target = {9, 4, 2}});
  machine.set_s(isa::slot::kM0, 512);
  machine.set_exec(0xfffffffffffffffd);
  for (int lane = 0; lane < 64; ++lane) {
    machine.set_v64(2, lane, kData + 3 * static_cast<uint64_t>(lane));
    machine.memory.write<uint8_t>(kData + 8 + 3 * static_cast<uint64_t>(lane),
                                  static_cast<uint8_t>(0x80 + lane));
  }
  ASSERT_TRUE(machine.run("global_load_lds_sbyte v[2:3], off offset:8"));
  for (int lane = 0; lane < 64; ++lane) {
    uint32_t value;
    std::memcpy(&value, machine.wave.lds + 512 + 8 + 4 * lane, 4);
    EXPECT_EQ(value, lane == 1 ? 0u : 0xffffff80u + static_cast<uint32_t>(lane)) << lane;
  }
  ASSERT_TRUE(machine.run("global_load_lds_dword v[2:3], off offset:8"));
  uint32_t value;
  std::memcpy(&value, machine.wave.lds + 512 + 8, 4);
  EXPECT_EQ(value, machine.memory.read<uint32_t>(kData + 8));
}

TEST(Scratch, LoadsToLds) {
  TestMachine machine({.target = {9, 4, 2}});
  machine.set_s(isa::slot::kM0, 256);
  machine.set_s(4, 12);
  for (int lane = 0; lane < 64; ++lane) {
    const uint32_t value = 77u + static_cast<uint32_t>(lane);
    std::memcpy(machine.wave.scratch + machine.wave.scratch_offset(16, lane), &value, 4);
  }
  ASSERT_TRUE(machine.run("scratch_load_lds_dword off, s4 offset:4"));
  for (int lane = 0; lane < 64; ++lane) {
    uint32_t value;
    std::memcpy(&value, machine.wave.lds + 256 + 4 + 4 * lane, 4);
    EXPECT_EQ(value, 77u + static_cast<uint32_t>(lane));
  }
}

// Groups of 16 lanes that access rows or single elements are moved as such: also when they overlap,
// when a lane strays, and when they are in different mappings.
TEST(Global, GroupsOfSixteenLanes) {
  struct Width {
    const char* load;
    const char* store;
    uint32_t bytes;
  };
  struct Strides {
    uint64_t column_stride, row_stride;
  };
  constexpr uint64_t kFirst = 0x400000, kDistance = 0x100000;
  constexpr size_t kBytes = 4096;
  for (const bool wave64 : {true, false}) {
    TestMachine machine({.target = {10, 3, 0}, .wave64 = wave64});
    std::byte* host[4];
    for (uint64_t i = 0; i < 4; ++i) host[i] = machine.memory.map(kFirst + i * kDistance, kBytes);
    for (const Width width :
         {Width{"global_load_ubyte v4, v[2:3], off", "global_store_byte v[2:3], v8, off", 1},
          {"global_load_dword v4, v[2:3], off", "global_store_dword v[2:3], v8, off", 4},
          {"global_load_dwordx2 v[4:5], v[2:3], off", "global_store_dwordx2 v[2:3], v[8:9], off",
           8},
          {"global_load_dwordx4 v[4:7], v[2:3], off", "global_store_dwordx4 v[2:3], v[8:11], off",
           16}}) {
      const LoweredCode *load = machine.load(width.load), *store = machine.load(width.store);
      ASSERT_NE(load, nullptr) << width.load;
      ASSERT_NE(store, nullptr) << width.store;
      for (const Strides strides : {Strides{width.bytes, 16 * width.bytes},
                                    {width.bytes, 260},
                                    {width.bytes, 20},
                                    {0, 68},
                                    {0, 0},
                                    {width.bytes, kDistance}})
        for (const int stray : {-1, 0, 1, 15, 16, 31}) {
          std::vector<std::byte> expected[4];
          for (size_t part = 0; part < 4; ++part) {
            for (size_t i = 0; i < kBytes; ++i)
              host[part][i] = static_cast<std::byte>(i * 31 + i / 251 + part);
            expected[part].assign(host[part], host[part] + kBytes);
          }
          uint64_t at[64];
          for (int lane = 0; lane < machine.wave.lanes; ++lane) {
            const auto l = static_cast<uint64_t>(lane);
            at[lane] = kFirst + 40 + l % 16 * strides.column_stride + l / 16 * strides.row_stride +
                       (lane == stray ? 4 : 0);
            machine.set_v64(2, lane, at[lane]);
            for (uint32_t i = 0; i < 4; ++i)
              machine.set_v(8 + i, lane,
                            0x01010101 * (static_cast<uint32_t>(lane) + 64 * (i % 2)) + i);
          }
          const auto expected_at = [&](int lane) {
            const uint64_t from = at[lane] - kFirst;
            return expected[from / kDistance].data() + from % kDistance;
          };
          ASSERT_TRUE(machine.run_loaded(load));
          ASSERT_FALSE(machine.faulted());
          for (int lane = 0; lane < machine.wave.lanes; ++lane) {
            uint32_t want[4] = {};
            std::memcpy(want, expected_at(lane), width.bytes);
            for (uint32_t i = 0; i < (width.bytes + 3) / 4; ++i)
              ASSERT_EQ(machine.v(4 + i, lane), want[i])
                  << width.load << " lane " << lane << " stray " << stray;
          }
          ASSERT_TRUE(machine.run_loaded(store));
          ASSERT_FALSE(machine.faulted());
          for (int lane = 0; lane < machine.wave.lanes; ++lane) {
            uint32_t value[4];
            for (uint32_t i = 0; i < 4; ++i) value[i] = machine.v(8 + i, lane);
            std::memcpy(expected_at(lane), value, width.bytes);
          }
          for (size_t part = 0; part < 4; ++part)
            ASSERT_EQ(std::memcmp(host[part], expected[part].data(), kBytes), 0)
                << width.store << " stray " << stray;
        }
    }
  }
}

// --- Mappings and faults.

TEST(Global, AnAccessMayCrossFromOneMappingIntoTheNext) {
  TestMachine machine;
  std::byte* first = machine.memory.map(0x400000, 4096);
  std::byte* second = machine.memory.map(0x401000, 4096);
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(2, lane, 0x401000 - 6 + static_cast<uint64_t>(lane) / 32 * 4096);
  machine.set_exec(1);
  for (int i = 0; i < 6; ++i) first[4090 + i] = std::byte(i + 1);
  for (int i = 0; i < 10; ++i) second[i] = std::byte(i + 7);
  ASSERT_TRUE(machine.run("global_load_dwordx4 v[4:7], v[2:3], off"));
  ASSERT_FALSE(machine.faulted());
  EXPECT_EQ(machine.v(4), 0x04030201u);
  EXPECT_EQ(machine.v(7), 0x100f0e0du);
  machine.set_v(8, 0, 0xaabbccdd);
  machine.set_v64(2, 0, 0x401000 - 1);
  ASSERT_TRUE(machine.run("global_store_dword v[2:3], v8, off"));
  ASSERT_FALSE(machine.faulted());
  EXPECT_EQ(first[4095], std::byte{0xdd});
  EXPECT_EQ(second[2], std::byte{0xaa});
}

// The low halves of these addresses follow each other, the addresses do not: lanes 32 and up are
// 4 GiB below where the row would go on. What lies there must not be taken for it.
TEST(Global, LowHalvesThatWrapAreNoRow) {
  TestMachine machine;
  std::byte* above = machine.memory.map(0x1ffff0000, 0x20000);
  std::byte* below = machine.memory.map(0x100000000, 0x10000);
  const auto low = [](int lane) { return 0xffffff80u + 4 * static_cast<uint32_t>(lane); };
  for (int lane = 0; lane < 64; ++lane) {
    const uint32_t value = 0xabc00 + static_cast<uint32_t>(lane);
    std::memcpy(lane < 32 ? above + 0xff80 + 4 * lane : below + 4 * (lane - 32), &value, 4);
    machine.set_v64(2, lane, uint64_t{1} << 32 | low(lane));
    machine.set_v(12, lane, low(lane));
    machine.set_v(5, lane, 0xdef00 + static_cast<uint32_t>(lane));
  }
  machine.set_s64(8, 0x100000000);
  for (const char* load : {"global_load_dword v4, v[2:3], off", "global_load_dword v4, v12, s[8:9]",
                           "flat_load_dword v4, v[2:3]"}) {
    ASSERT_TRUE(machine.run(load));  // twice: the second time, the ranges are cached
    ASSERT_TRUE(machine.run(load));
    for (int lane = 0; lane < 64; ++lane)
      ASSERT_EQ(machine.v(4, lane), 0xabc00u + static_cast<uint32_t>(lane)) << load << " " << lane;
  }
  ASSERT_TRUE(machine.run("global_store_dword v12, v5, s[8:9]"));
  uint32_t stored = 0;
  std::memcpy(&stored, below, 4);
  EXPECT_EQ(stored, 0xdef00u + 32);
  std::memcpy(&stored, above + 0x10000, 4);
  EXPECT_EQ(stored, 0u);
}

TEST(Global, ReportsTheFirstFaultingLaneAndItsAddress) {
  TestMachine machine;
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(2, lane, kData + 4 * static_cast<uint64_t>(lane));
  machine.set_v64(2, 9, 0x5000000);
  machine.set_v64(2, 12, 0x6000000);
  machine.fill_v(4, 0x11);
  machine.set_exec(~uint64_t{0x3f});
  ASSERT_TRUE(machine.run("global_load_dword v4, v[2:3], off offset:8"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kPageFault);
  EXPECT_EQ(machine.wave.fault.address.value, 0x5000008u);
  EXPECT_EQ(machine.wave.fault.lane, 9);
  EXPECT_FALSE(machine.wave.fault.is_write);
  EXPECT_EQ(machine.v(4, 20), 0x11u);
  // A masked lane touches nothing.
  machine.set_exec(~(uint64_t{1} << 9 | uint64_t{1} << 12));
  ASSERT_TRUE(machine.run("global_store_dword v[2:3], v4, off"));
  EXPECT_FALSE(machine.faulted());
  machine.set_exec(~uint64_t{0});
  ASSERT_TRUE(machine.run("global_store_dword v[2:3], v4, off"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_TRUE(machine.wave.fault.is_write);
  ASSERT_TRUE(machine.run("global_atomic_add v[2:3], v4, off"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.lane, 9);
  EXPECT_TRUE(machine.wave.fault.is_write);
}

TEST(Global, ReportsTheFirstUnmappedByteOfAnAccessThatRunsOffTheEnd) {
  TestMachine machine;
  machine.set_exec(1);
  machine.set_v64(2, 0, kData + TestMachine::kDataBytes - 8);
  machine.memory.write<uint32_t>(kData + TestMachine::kDataBytes - 8, 5);
  machine.fill_v(4, 9);
  ASSERT_TRUE(machine.run("global_store_dwordx4 v[2:3], v[4:7], off"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.address.value, kData + TestMachine::kDataBytes);
  EXPECT_EQ(machine.memory.read<uint32_t>(kData + TestMachine::kDataBytes - 8), 5u)
      << "nothing is written";
}

TEST(Global, OneLaneOfManyMayRunOffTheEnd) {
  TestMachine machine;
  machine.set_exec(7);
  machine.set_v64(2, 0, kData);
  machine.set_v64(2, 1, kData + TestMachine::kDataBytes - 3);
  machine.set_v64(2, 2, kData + TestMachine::kDataBytes - 4);
  for (const char* text :
       {"global_load_dword v4, v[2:3], off", "global_store_dword v[2:3], v5, off"}) {
    ASSERT_TRUE(machine.run(text));
    ASSERT_TRUE(machine.faulted()) << text;
    EXPECT_EQ(machine.wave.fault.lane, 1);
    EXPECT_EQ(machine.wave.fault.address.value, kData + TestMachine::kDataBytes);
  }
}

TEST(Global, AWriteToAReadOnlyMappingFaults) {
  TestMachine machine;
  machine.memory.map(0x800000, 4096, /*writable=*/false);
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(2, lane, 0x800000 + 4 * static_cast<uint64_t>(lane));
  ASSERT_TRUE(machine.run("global_load_dword v4, v[2:3], off"));
  EXPECT_FALSE(machine.faulted());
  for (const char* text :
       {"global_store_dword v[2:3], v4, off", "global_atomic_or v[2:3], v4, off"}) {
    ASSERT_TRUE(machine.run(text));
    ASSERT_TRUE(machine.faulted()) << text;
    EXPECT_EQ(machine.wave.fault.kind, FaultKind::kWriteToReadOnly) << text;
    EXPECT_EQ(machine.wave.fault.lane, 0);
  }
}

TEST(Global, AMappingThatGoesAwayIsNoticed) {
  TestMachine machine;
  machine.memory.map(0x800000, 4096);
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(2, lane, 0x800000 + 4 * static_cast<uint64_t>(lane));
  ASSERT_TRUE(machine.run("global_load_dword v4, v[2:3], off"));
  ASSERT_FALSE(machine.faulted());
  machine.memory.unmap(0x800000);
  ASSERT_TRUE(machine.run("global_load_dword v4, v[2:3], off"));
  EXPECT_TRUE(machine.faulted());
}

TEST(Global, AddressesOutsideTheApertureAreViolations) {
  for (const uint64_t address : {uint64_t{1} << 47, kSharedAperture, kPrivateAperture,
                                 uint64_t{1} << 60, ~uint64_t{0} - 3}) {
    TestMachine machine({.scratch_bytes_per_lane = 0});
    machine.set_exec(2);
    machine.set_v64(2, 1, address);
    ASSERT_TRUE(machine.run("global_load_dword v4, v[2:3], off"));
    ASSERT_TRUE(machine.faulted()) << std::hex << address;
    EXPECT_EQ(machine.wave.fault.kind, FaultKind::kApertureViolation) << std::hex << address;
    EXPECT_EQ(machine.wave.fault.address.value, address);
    EXPECT_EQ(machine.wave.fault.lane, 1);
  }
}

TEST(Global, LanesAtBothEndsOfTheAddressSpaceDoNotFoolTheRangeCheck) {
  TestMachine machine;
  machine.set_exec(3);
  machine.set_v64(2, 0, kData);
  machine.set_v64(2, 1, kData - 4);  // low - 4: the distance wraps with the element size
  ASSERT_TRUE(machine.run("global_load_dword v4, v[2:3], off"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.lane, 1);
  machine.set_v64(2, 1, ~uint64_t{0} - 3);
  ASSERT_TRUE(machine.run("global_load_dword v4, v[2:3], off"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.lane, 1);
}

TEST(Flat, AddressesPastLdsAndScratchAreViolations) {
  for (const char* text : {"flat_load_dword v4, v[2:3]", "flat_store_dword v[2:3], v4",
                           "flat_atomic_add v[2:3], v4"}) {
    for (const uint64_t address :
         {kSharedAperture + 4096 - 2, kSharedAperture + 4096, kPrivateAperture + 256,
          kPrivateAperture + 0xfffffffe, uint64_t{3} << 48}) {
      TestMachine machine({.lds_bytes = 4096, .scratch_bytes_per_lane = 256});
      machine.set_exec(4);
      if (contains(text, "atomic") && address % 4 != 0) continue;  // another fault
      machine.set_v64(2, 2, address);
      ASSERT_TRUE(machine.run(text));
      ASSERT_TRUE(machine.faulted()) << text << std::hex << " " << address;
      EXPECT_EQ(machine.wave.fault.kind, FaultKind::kApertureViolation)
          << text << std::hex << " " << address;
      EXPECT_EQ(machine.wave.fault.lane, 2);
      EXPECT_EQ(machine.wave.fault.is_write, !contains(text, "load"));
    }
  }
}

TEST(Scratch, AnAccessPastTheLanesScratchIsAViolation) {
  for (const uint32_t offset : {125u, 128u, 0xfffffffcu}) {
    TestMachine machine({.target = {10, 3, 0}, .wave64 = false, .scratch_bytes_per_lane = 128});
    machine.set_s(4, offset);
    ASSERT_TRUE(machine.run("scratch_store_dword off, v1, s4"));
    ASSERT_TRUE(machine.faulted()) << offset;
    EXPECT_EQ(machine.wave.fault.kind, FaultKind::kApertureViolation);
    EXPECT_EQ(machine.wave.fault.address.value, kPrivateAperture + offset);
    EXPECT_TRUE(machine.wave.fault.is_write);
  }
}

TEST(Scratch, TheLastDwordOfALaneIsInside) {
  TestMachine machine({.target = {10, 3, 0}, .wave64 = false, .scratch_bytes_per_lane = 128});
  machine.fill_v(1, 77);
  for (int lane = 0; lane < 32; ++lane) machine.set_v64(2, lane, kPrivateAperture + 124);
  ASSERT_TRUE(machine.run("flat_store_dword v[2:3], v1\nflat_load_dword v4, v[2:3]"));
  EXPECT_FALSE(machine.faulted());
  EXPECT_EQ(machine.v(4, 31), 77u);
}

TEST(Atomics, NeedTheirNaturalAlignment) {
  const struct {
    const char* text;
    uint64_t address;
    bool faults;
  } cases[] = {
      {"global_atomic_add v[2:3], v4, off", kData + 2, true},
      {"global_atomic_add v[2:3], v4, off", kData + 4, false},
      {"global_atomic_add_x2 v[2:3], v[4:5], off", kData + 4, true},
      {"flat_atomic_swap v[2:3], v4", kSharedAperture + 2, true},
      {"flat_atomic_add_x2 v[2:3], v[4:5]", kPrivateAperture + 4, true},
  };
  for (const auto& c : cases) {
    TestMachine machine;
    machine.set_exec(8);
    machine.set_v64(2, 3, c.address);
    ASSERT_TRUE(machine.run(c.text));
    EXPECT_EQ(machine.faulted(), c.faults) << c.text;
    if (!c.faults) continue;
    EXPECT_EQ(machine.wave.fault.kind, FaultKind::kMisaligned) << c.text;
    EXPECT_EQ(machine.wave.fault.lane, 3);
  }
}

// Waves on several host threads hit the same words: every update must count.
TEST(Atomics, AreAtomicBetweenHostThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  alignas(8) static std::byte shared[64];
  std::memset(shared, 0, sizeof shared);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      TestMachine machine;
      machine.memory.map_host(0x900000, shared, true, false);
      for (int lane = 0; lane < 64; ++lane) machine.set_v64(2, lane, 0x900000);
      machine.fill_v(4, 1);
      machine.fill_v(5, 0);
      machine.fill_v(6, std::bit_cast<uint32_t>(1.0f));
      machine.fill_v(8, 0);
      machine.fill_v(9, 0x3ff00000);
      machine.fill_v(10, 1u << 20);
      machine.run("s_movk_i32 s4, " + std::to_string(kRounds) + "\n" + R"(
loop:
  global_atomic_add v[2:3], v4, off
  global_atomic_add_x2 v[2:3], v[4:5], off offset:8
  global_atomic_add_f32 v[2:3], v6, off offset:16
  global_atomic_add_f64 v[2:3], v[8:9], off offset:24
  global_atomic_inc v[2:3], v10, off offset:32
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 loop
)",
                  1000000);
      EXPECT_FALSE(machine.faulted());
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr uint32_t kTotal = kThreads * kRounds * 64;
  const auto at = [&]<class T>(int offset, T) {
    T value;
    std::memcpy(&value, shared + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(at(0, uint32_t{}), kTotal);
  EXPECT_EQ(at(8, uint64_t{}), kTotal);
  EXPECT_EQ(at(16, float{}), static_cast<float>(kTotal));
  EXPECT_EQ(at(24, double{}), static_cast<double>(kTotal));
  EXPECT_EQ(at(32, uint32_t{}), kTotal);
}

// Lanes that meet at one address are one operation of the host together: in the order of lanes, and
// each lane gets what the lanes before it left. The reference is the same one lane at a time.
TEST(Atomics, LanesAtOneAddressFollowEachOther) {
  for (const char* text :
       {"global_atomic_add v6, v[2:3], v4, off glc", "global_atomic_inc v6, v[2:3], v4, off glc",
        "global_atomic_swap v6, v[2:3], v4, off glc",
        "global_atomic_cmpswap v4, v[2:3], v[4:5], off glc",
        "global_atomic_add_f32 v[2:3], v4, off"}) {
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x8421000000001248}}) {
      TestMachine together, apart;
      for (TestMachine* machine : {&together, &apart}) {
        machine->memory.write<uint32_t>(kData + 64, 3);
        for (int lane = 0; lane < 64; ++lane) {
          machine->set_v64(2, lane, kData + 64);
          machine->set_v(4, lane, 0x3f800000u / 3 * static_cast<uint32_t>(lane % 5));
          machine->set_v(5, lane, 0x3f800000u / 3 * static_cast<uint32_t>((lane + 4) % 5));
        }
        ASSERT_TRUE(machine->run("global_load_dword v7, v[2:3], off"));  // the range is cached now
      }
      together.set_exec(exec);
      ASSERT_TRUE(together.run(text)) << text;
      for (int lane = 0; lane < 64; ++lane) {
        if ((exec >> lane & 1) == 0) continue;
        apart.set_exec(uint64_t{1} << lane);
        ASSERT_TRUE(apart.run(text)) << text;
      }
      EXPECT_EQ(together.memory.read<uint32_t>(kData + 64), apart.memory.read<uint32_t>(kData + 64))
          << text;
      for (int lane = 0; lane < 64; ++lane)
        for (const uint32_t reg : {4u, 6u})
          EXPECT_EQ(together.v(reg, lane), apart.v(reg, lane)) << text << " lane " << lane;
    }
  }
}

TEST(Atomics, MinimaAndMaximaPreferNumbersToNans) {
  constexpr uint32_t kNan = 0x7fc00000;
  const struct {
    const char* op;
    uint32_t memory, data, result;
  } cases[] = {
      {"fmin", kNan, 0x3f800000, 0x3f800000},
      {"fmin", 0x3f800000, kNan, 0x3f800000},
      {"fmax", kNan, 0xbf800000, 0xbf800000},
      {"fmin", 0, 0x80000000, 0x80000000},
      {"fmax", 0x80000000, 0, 0},
      {"fmin", 0x40000000, 0xff800000, 0xff800000},
  };
  for (const auto& c : cases) {
    TestMachine machine({.target = {10, 3, 0}, .wave64 = false});
    machine.set_exec(1);
    machine.set_v64(2, 0, kData);
    machine.set_v(4, 0, c.data);
    machine.memory.write(kData, c.memory);
    ASSERT_TRUE(machine.run(std::string("global_atomic_") + c.op + " v5, v[2:3], v4, off glc"));
    EXPECT_EQ(machine.memory.read<uint32_t>(kData), c.result)
        << c.op << std::hex << " " << c.memory << " " << c.data;
    EXPECT_EQ(machine.v(5), c.memory);
  }
}

TEST(Atomics, FloatingPointCompareSwapComparesNumbers) {
  const struct {
    uint32_t memory, compare;
    bool swaps;
  } cases[] = {{0x80000000, 0, true},
               {0x7fc00000, 0x7fc00000, false},
               {0x3f800000, 0x3f800000, true},
               {0x3f800000, 0x3f800001, false}};
  for (const auto& c : cases) {
    TestMachine machine({.target = {10, 3, 0}, .wave64 = false});
    machine.set_exec(1);
    machine.set_v64(2, 0, kData);
    machine.set_v(4, 0, 0x1234);
    machine.set_v(5, 0, c.compare);
    machine.memory.write(kData, c.memory);
    ASSERT_TRUE(machine.run("global_atomic_fcmpswap v6, v[2:3], v[4:5], off glc"));
    EXPECT_EQ(machine.memory.read<uint32_t>(kData), c.swaps ? 0x1234u : c.memory)
        << std::hex << c.memory << " " << c.compare;
    EXPECT_EQ(machine.v(6), c.memory);
  }
}

TEST(Counters, OfGlobalScratchAndFlatAccesses) {
  TestMachine machine({.count = true});
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(2, lane, kData + 4 * static_cast<uint64_t>(lane));
  machine.run("global_load_dword v4, v[2:3], off");
  EXPECT_EQ(machine.counters.bytes_global_load, 256u);
  EXPECT_EQ(machine.counters.cache_lines, 4u);
  EXPECT_EQ(machine.counters.cache_lines_ideal, 4u);
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(2, lane, kData + 128 * static_cast<uint64_t>(lane));
  machine.counters = {};
  machine.run("global_store_dwordx2 v[2:3], v[4:5], off");
  EXPECT_EQ(machine.counters.bytes_global_store, 512u);
  EXPECT_EQ(machine.counters.cache_lines, 64u);
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(2, lane, kData + 60 + 128 * static_cast<uint64_t>(lane));
  machine.run("global_store_dwordx2 v[2:3], v[4:5], off");
  EXPECT_EQ(machine.counters.cache_lines, 64u + 128) << "each element in two lines";
  machine.counters.cache_lines_ideal -= 8;
  EXPECT_EQ(machine.counters.cache_lines_ideal, 8u);
  machine.counters = {};
  machine.set_exec(7);
  machine.run("global_atomic_add v[2:3], v4, off");
  EXPECT_EQ(machine.counters.bytes_global_atomic, 12u);
  machine.counters = {};
  machine.set_v64(2, 0, kPrivateAperture);
  machine.set_v64(2, 1, kSharedAperture);
  machine.run("flat_load_dword v4, v[2:3]");
  EXPECT_EQ(machine.counters.bytes_scratch, 4u);
  EXPECT_EQ(machine.counters.bytes_lds, 4u);
  EXPECT_EQ(machine.counters.bytes_global_load, 4u);
}

}  // namespace
}  // namespace wavetap::emu::flat_test
