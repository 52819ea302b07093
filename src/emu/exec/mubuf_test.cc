// buffer_* and tbuffer_*: every instruction of every target against the plain reference, over kinds
// of buffers; then scratch through a buffer resource, formats and cache control.
#include <gtest/gtest.h>

#include <algorithm>

#include "emu/exec/buffer_format.h"
#include "emu/testing/mem_reference.h"

namespace wavetap::emu::mubuf_test {
namespace {

constexpr uint64_t kData = TestMachine::kData;
constexpr uint32_t kResource = 8;  // s[8:11]

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

struct Buffer {
  const char* name;
  uint64_t base = kData;
  uint32_t stride = 0;
  uint32_t records = 4096;
  bool swizzled = false;
  bool add_tid = false;
  int index_stride = 64;
  uint32_t out_of_range = 3;
};

void set_resource(TestMachine& machine, const Shape& shape, const Buffer& buffer,
                  uint32_t word3 = 0) {
  machine.set_s(kResource, static_cast<uint32_t>(buffer.base));
  uint32_t high = static_cast<uint32_t>(buffer.base >> 32) | buffer.stride << 16;
  if (buffer.swizzled) high |= shape.target.major == 11 ? 1u << 30 : 1u << 31;
  machine.set_s(kResource + 1, high);
  machine.set_s(kResource + 2, buffer.records);
  word3 |= static_cast<uint32_t>(std::countr_zero(static_cast<unsigned>(buffer.index_stride)) - 3)
           << 21;
  if (buffer.add_tid) word3 |= 1u << 23;
  if (shape.target.major >= 10) word3 |= buffer.out_of_range << 28;
  machine.set_s(kResource + 3, word3);
}

// The buffer's rules, byte by byte. Null: outside.
struct ReferenceBuffer {
  const Shape& shape;
  const Buffer& buffer;
  uint32_t soffset;

  uint64_t address(uint64_t index, uint64_t offset) const {
    if (!buffer.swizzled) return buffer.base + soffset + index * buffer.stride + offset;
    const auto group = static_cast<uint64_t>(buffer.index_stride);
    return buffer.base + soffset + (index / group * buffer.stride + offset / 4 * 4) * group +
           index % group * 4 + offset % 4;
  }
  bool outside(uint64_t index, uint64_t offset, uint64_t bytes) const {
    if (shape.target.major >= 10) {
      if (buffer.out_of_range == 0)
        return index >= buffer.records || (buffer.stride != 0 && offset + bytes > buffer.stride);
      if (buffer.out_of_range == 1) return index >= buffer.records;
      if (buffer.out_of_range == 2) return buffer.records == 0;
    }
    if (buffer.swizzled && buffer.stride != 0) return index >= buffer.records;
    return index * buffer.stride + offset + soffset + bytes > buffer.records;
  }
};

void check(const Shape& shape, const Buffer& buffer, const SweepFields& fields, uint32_t soffset,
           int at_least, std::mt19937_64& random) {
  int checked = 0;
  for (const Swept& swept : sweep_buffer(shape, fields, false, 5)) {  // soffset: s5
    if (swept.inst.tfe || swept.inst.lds || contains(swept.name, "format")) continue;
    const MemoryName name = read_memory_name(swept.name);
    if (name.kind == MemoryName::kOther) continue;  // cache control
    const bool is_atomic = name.kind == MemoryName::kAtomic;
    if (is_atomic && buffer.swizzled && name.bytes == 8) continue;  // not one element in memory
    for (const Domain domain : domains_of(swept.name, is_atomic)) {
      TestMachine machine(options_for(shape));
      randomize(machine, random, domain);
      RefMachine ref(machine);
      const LoweredCode* code = machine.load_code(swept.code);
      for (int round = 0; round < 3; ++round) {
        for (const uint64_t exec : exec_masks(random)) {
          machine.set_exec(exec);
          set_resource(machine, shape, buffer);
          machine.set_s(5, soffset);
          for (int lane = 0; lane < machine.wave.lanes; ++lane) {
            const bool unaligned = round == 1 && !is_atomic && !buffer.swizzled;
            const uint32_t index = static_cast<uint32_t>(random() % 80);
            uint32_t offset = static_cast<uint32_t>(
                random() % (buffer.stride == 0 ? buffer.records + 32 : buffer.stride));
            // Consecutive.
            if (round == 2 && buffer.stride == 0)
              offset = static_cast<uint32_t>(lane) * static_cast<uint32_t>(name.bytes);
            // Right before the end of all addresses: nothing of the element may wrap around.
            if (buffer.stride == 0 && !buffer.swizzled && random() % 4 == 0)
              offset = 0u - 1 - static_cast<uint32_t>(random() % 24);
            if (!unaligned) offset = offset / 8 * 8;
            if (fields.idxen) machine.set_v(2, lane, index);
            if (fields.offen) machine.set_v(fields.idxen ? 3 : 2, lane, offset);
          }
          const ReferenceBuffer rules{shape, buffer, soffset};
          ref.follow(machine);
          std::vector<uint64_t> index, offset;
          for (int lane = 0; lane < ref.lanes; ++lane) {
            index.push_back((fields.idxen ? ref.reg(swept.inst.vaddr, 0, lane) : 0) +
                            (buffer.add_tid ? static_cast<uint64_t>(lane) : 0));
            offset.push_back(
                (fields.offen ? ref.reg(swept.inst.vaddr, fields.idxen ? 1 : 0, lane) : 0) +
                static_cast<uint64_t>(swept.inst.offset));
          }
          const auto where = [&](int lane, int i) -> uint8_t* {
            const auto l = static_cast<size_t>(lane);
            const int part = is_atomic ? 0 : i / 4 * 4;
            const int size = is_atomic ? name.bytes : std::min(4, name.bytes - part);
            if (rules.outside(index[l], offset[l] + static_cast<uint64_t>(part),
                              static_cast<uint64_t>(size)))
              return nullptr;
            const uint64_t at = rules.address(index[l], offset[l] + static_cast<uint64_t>(i));
            if (at >= kScratchVa)
              return at - kScratchVa < ref.scratch.size() ? &ref.scratch[at - kScratchVa] : nullptr;
            return ref.global_byte(at);
          };
          ref_access(ref, swept.inst, name, where, /*by_byte=*/true);
          const auto what = [&] {
            return shape_name(shape) + " " + swept.name + " " + buffer.name + " round " +
                   std::to_string(round);
          };
          ASSERT_TRUE(machine.run_loaded(code)) << what();
          ASSERT_FALSE(machine.faulted()) << what() << ": " << fault_name(machine.wave.fault.kind)
                                          << " " << machine.wave.fault.detail;
          ref.expect_same(machine, what);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
    ++checked;
  }
  EXPECT_GE(checked, at_least) << shape_name(shape) << " " << buffer.name;
}

TEST(Mubuf, EveryInstructionAgreesWithTheReference) {
  std::mt19937_64 random(41);
  // Instructions a form has at least; swizzled ones lack 64-bit atomics.
  constexpr int kMost = 45, kSome = 33;
  for (const Shape& shape : test_shapes()) {
    const int lanes = shape.wave64 ? 64 : 32;
    check(shape, {.name = "raw"}, {.offen = true, .offset = 8}, 0, kMost, random);
    check(shape, {.name = "raw, soffset, returning"}, {.returns = true, .offen = true}, 24, kMost,
          random);
    check(shape, {.name = "one address for all"}, {.offset = 40}, 16, kMost, random);
    check(shape, {.name = "structured", .stride = 48, .records = 64 * 48},
          {.idxen = true, .offset = 8}, 0, kMost, random);
    check(shape, {.name = "structured, offset too", .stride = 48, .records = 60 * 48},
          {.offen = true, .idxen = true}, 8, kMost, random);
    check(shape,
          {.name = "swizzled", .stride = 64, .records = 70, .swizzled = true, .index_stride = 16},
          {.offen = true, .idxen = true}, 0, kSome, random);
    check(shape, {.name = "lane as index", .stride = 16, .records = 40 * 16, .add_tid = true},
          {.offset = 4 * 2}, 0, kMost, random);
    check(shape,
          {.name = "scratch slot",
           .base = kScratchVa,
           .records = static_cast<uint32_t>(lanes * 128),
           .swizzled = true,
           .add_tid = true,
           .index_stride = lanes},
          {.offset = 40}, static_cast<uint32_t>(4 * 4 * lanes), kSome, random);
    check(shape,
          {.name = "scratch by lane",
           .base = kScratchVa,
           .records = 112,
           .swizzled = true,
           .add_tid = true,
           .index_stride = lanes},
          {.offen = true, .offset = 8}, 0, kSome, random);
    if (shape.target.major >= 10) {
      check(shape,
            {.name = "checked by index and stride", .stride = 48, .records = 64, .out_of_range = 0},
            {.offen = true, .idxen = true}, 0, kMost, random);
      check(shape, {.name = "checked by index", .stride = 48, .records = 64, .out_of_range = 1},
            {.offen = true, .idxen = true}, 0, kMost, random);
      check(shape, {.name = "not checked", .stride = 48, .records = 1, .out_of_range = 2},
            {.offen = true, .idxen = true}, 0, kMost, random);
      check(shape, {.name = "empty", .stride = 48, .records = 0, .out_of_range = 2},
            {.idxen = true}, 0, kMost, random);
    }
    if (shape.target.is_gfx90a_family())
      check(shape, {.name = "accumulation registers"},
            {.returns = true, .offen = true, .accumulator = true}, 0, kMost, random);
    if (HasFailure()) return;
  }
}

// A stack slot is the same bytes through the buffer resource, scratch_ and flat_ instructions.
TEST(Mubuf, ScratchIsTheSameThroughEveryDoor) {
  for (const bool wave64 : {false, true}) {
    const Shape shape{{10, 3, 0}, wave64};
    TestMachine machine(options_for(shape));
    const int lanes = machine.wave.lanes;
    set_resource(machine, shape,
                 {.name = "",
                  .base = kScratchVa,
                  .records = static_cast<uint32_t>(128 * lanes),
                  .swizzled = true,
                  .add_tid = true,
                  .index_stride = lanes,
                  .out_of_range = 2});
    // A stack pointer, scaled by the wave size.
    machine.set_s(32, static_cast<uint32_t>(16 * lanes));
    for (int lane = 0; lane < lanes; ++lane) {
      machine.set_v(1, lane, 1000 + static_cast<uint32_t>(lane));
      machine.set_v64(2, lane, kPrivateAperture + 24);
      machine.set_v(6, lane, 9);
    }
    ASSERT_TRUE(
        machine.run("buffer_store_dword v1, off, s[8:11], s32 offset:8\n"
                    "scratch_load_dword v4, off, off offset:24\n"
                    "flat_load_dword v5, v[2:3]\n"
                    "flat_store_byte v[2:3], v6 offset:1\n"
                    "buffer_load_ushort v7, off, s[8:11], s32 offset:8"));
    ASSERT_FALSE(machine.faulted()) << machine.wave.fault.detail;
    for (int lane = 0; lane < lanes; ++lane) {
      const uint32_t value = 1000 + static_cast<uint32_t>(lane);
      EXPECT_EQ(machine.v(4, lane), value);
      EXPECT_EQ(machine.v(5, lane), value);
      EXPECT_EQ(machine.v(7, lane), (value & 0xff) | 0x900);
    }
  }
}

TEST(Mubuf, PastTheWavesScratchIsAViolation) {
  const Shape shape{{10, 3, 0}, false};
  TestMachine machine(options_for(shape));
  set_resource(machine, shape,
               {.name = "",
                .base = kScratchVa,
                .records = 1u << 30,
                .swizzled = true,
                .add_tid = true,
                .index_stride = 32,
                .out_of_range = 2});
  ASSERT_TRUE(machine.run("buffer_store_dword v1, off, s[8:11], 0 offset:128"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kApertureViolation);
  EXPECT_TRUE(machine.wave.fault.is_write);
}

TEST(Mubuf, AnUnmappedBufferFaults) {
  const Shape shape{{9, 0, 10}, true};
  TestMachine machine(options_for(shape));
  set_resource(machine, shape, {.name = "", .base = 0x5000000});
  machine.set_exec(0x10);
  machine.fill_v(2, 64);
  ASSERT_TRUE(machine.run("buffer_load_dword v4, v2, s[8:11], 0 offen offset:4"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kPageFault);
  EXPECT_EQ(machine.wave.fault.address.value, 0x5000000u + 68);
  EXPECT_EQ(machine.wave.fault.lane, 4);
}

TEST(Mubuf, LdsFormsMoveARowBetweenMemoryAndLds) {
  const Shape shape{{9, 0, 10}, true};
  TestMachine machine(options_for(shape));
  set_resource(machine, shape, {.name = ""});
  machine.set_s(isa::slot::kM0, 1024);
  for (int lane = 0; lane < 64; ++lane) {
    machine.set_v(2, lane, 8 * static_cast<uint32_t>(lane));
    machine.memory.write<uint32_t>(kData + 4 + 8 * static_cast<uint64_t>(lane),
                                   0xffff0000u + static_cast<uint32_t>(lane));
  }
  machine.set_exec(~uint64_t{1});
  const auto lds = [&](int lane) {
    uint32_t value;
    std::memcpy(&value, machine.wave.lds + 1024 + 4 + 4 * lane, 4);
    return value;
  };
  ASSERT_TRUE(machine.run("buffer_load_dword v2, s[8:11], 0 offen offset:4 lds"));
  EXPECT_EQ(lds(0), 0u);
  EXPECT_EQ(lds(5), 0xffff0005u);
  ASSERT_TRUE(machine.run("buffer_load_ushort v2, s[8:11], 0 offen offset:4 lds"));
  EXPECT_EQ(lds(5), 5u);
  set_resource(machine, shape, {.name = "", .base = kData + 0x4000});
  ASSERT_TRUE(machine.run("buffer_store_lds_dword s[8:11], 0 offset:4 lds"));
  EXPECT_EQ(machine.memory.read<uint32_t>(kData + 0x4004), 63u)
      << "one address for all lanes: the last one stays";
}

// With tfe a load is the load, and the register behind its data says that all memory is there.
TEST(Mubuf, LoadsReportThatMemoryIsResident) {
  int checked = 0;
  for (const Shape& shape : test_shapes()) {
    if (shape.target.is_gfx90a_family()) continue;
    const std::vector<Swept> plain = sweep_buffer(shape, {.offen = true});
    for (const Swept& swept : sweep_buffer(shape, {.offen = true, .tfe = true})) {
      if (!contains(swept.name, "_load_")) continue;
      const auto same = std::find_if(plain.begin(), plain.end(),
                                     [&](const Swept& other) { return other.name == swept.name; });
      ASSERT_NE(same, plain.end()) << swept.name;
      ASSERT_TRUE(swept.inst.tfe && swept.inst.dst.dwords == same->inst.dst.dwords + 1);
      TestMachine machine(options_for(shape)), other(options_for(shape));
      for (TestMachine* each : {&machine, &other}) {
        std::mt19937_64 random(1);
        randomize(*each, random, Domain::kAnyBits);
        set_resource(*each, shape, {.name = "raw", .records = 256});
        for (int lane = 0; lane < each->wave.lanes; ++lane)
          each->set_v(2, lane, static_cast<uint32_t>(lane) * 8);  // half of the lanes are outside
        each->set_exec(0x5a5a5a5a5a5a5a5a);
      }
      ASSERT_TRUE(machine.run_code(swept.code)) << shape_name(shape) << " " << swept.name;
      ASSERT_TRUE(other.run_code(same->code));
      ASSERT_FALSE(machine.faulted()) << swept.name << ": " << machine.wave.fault.detail;
      const uint32_t status = swept.inst.dst.index + swept.inst.dst.dwords - 1u;
      for (uint32_t reg = 0; reg < 32; ++reg)
        for (int lane = 0; lane < machine.wave.lanes; ++lane) {
          const bool is_status = reg == status && (0x5au >> lane % 8 & 1) != 0;
          EXPECT_EQ(machine.v(reg, lane), is_status ? 0 : other.v(reg, lane))
              << shape_name(shape) << " " << swept.name << " v" << reg << " lane " << lane;
        }
      ++checked;
    }
  }
  EXPECT_GT(checked, 60);
}

TEST(Mubuf, CacheControlDoesNothingElse) {
  const struct {
    amd::GfxTarget target;
    const char* text;
  } cases[] = {
      {{9, 0, 8}, "buffer_wbinvl1"},      {{9, 0, 10}, "buffer_wbinvl1_vol"},
      {{9, 0, 10}, "buffer_wbl2"},        {{9, 0, 10}, "buffer_invl2"},
      {{9, 4, 2}, "buffer_wbl2 sc0 sc1"}, {{9, 4, 2}, "buffer_inv sc1"},
      {{10, 3, 0}, "buffer_gl0_inv"},     {{10, 3, 0}, "buffer_gl1_inv"},
      {{11, 0, 0}, "buffer_gl0_inv"},
  };
  for (const auto& c : cases) {
    TestMachine machine({.target = c.target, .wave64 = c.target.major == 9});
    const RefMachine before(machine);
    ASSERT_TRUE(machine.run(c.text)) << c.text;
    EXPECT_FALSE(machine.faulted()) << c.text;
    before.expect_same(machine, c.text);
  }
}

// --- Formats.

// The assembler knows the formats by name; ours must be what the name says.
TEST(BufferFormats, AreWhatTheirNamesSay) {
  const struct {
    const char* layout;  // highest component first
    std::vector<uint8_t> bits;
  } layouts[] = {
      {"8", {8}},
      {"16", {16}},
      {"8_8", {8, 8}},
      {"32", {32}},
      {"16_16", {16, 16}},
      {"10_11_11", {11, 11, 10}},
      {"11_11_10", {10, 11, 11}},
      {"10_10_10_2", {2, 10, 10, 10}},
      {"2_10_10_10", {10, 10, 10, 2}},
      {"8_8_8_8", {8, 8, 8, 8}},
      {"32_32", {32, 32}},
      {"16_16_16_16", {16, 16, 16, 16}},
      {"32_32_32", {32, 32, 32}},
      {"32_32_32_32", {32, 32, 32, 32}},
  };
  const std::pair<const char*, NumberFormat> numbers[] = {
      {"UNORM", NumberFormat::kUnorm},     {"SNORM", NumberFormat::kSnorm},
      {"USCALED", NumberFormat::kUscaled}, {"SSCALED", NumberFormat::kSscaled},
      {"UINT", NumberFormat::kUint},       {"SINT", NumberFormat::kSint},
      {"FLOAT", NumberFormat::kFloat}};
  for (const amd::GfxTarget target :
       {amd::GfxTarget{9, 0, 10}, amd::GfxTarget{10, 3, 0}, amd::GfxTarget{11, 0, 0}}) {
    const Shape shape{target, target.major == 9};
    for (const auto& layout : layouts) {
      for (const auto& [number_name, number] : numbers) {
        // Combinations that exist: scaled and normalised formats have at most 16 bits, floats at
        // least 10.
        const bool wide = layout.bits[0] == 32;
        const bool packed = std::string(layout.layout).find("10_1") != std::string::npos ||
                            std::string(layout.layout).find("_10") != std::string::npos;
        const bool has_float = layout.bits[0] >= 16 || layout.bits.size() == 3;
        if (number == NumberFormat::kFloat
                ? !has_float
                : wide && number != NumberFormat::kUint && number != NumberFormat::kSint)
          continue;
        if (target.major == 11 && packed && layout.bits.size() == 3 &&
            number != NumberFormat::kFloat)
          continue;
        if (target.major == 11 && std::string(layout.layout) == "10_10_10_2" &&
            (number == NumberFormat::kUscaled || number == NumberFormat::kSscaled))
          continue;
        const std::string format =
            target.major == 9 ? "[BUF_DATA_FORMAT_" + std::string(layout.layout) +
                                    ",BUF_NUM_FORMAT_" + number_name + "]"
                              : "[BUF_FMT_" + std::string(layout.layout) + "_" + number_name + "]";
        const std::string text = "tbuffer_load_format_x v1, off, s[8:11], 0 format:" + format;
        const std::vector<std::byte> code = assemble(text, target, shape.wave64);
        ASSERT_FALSE(code.empty()) << text;
        const isa::Program program = isa::decode(code, GpuAddr{0}, target, shape.wave64);
        const BufferFormat got = buffer_format(program.insts()[0].format, target);
        EXPECT_EQ(got.components, layout.bits.size()) << text << amd::to_string(target);
        for (size_t i = 0; i < layout.bits.size(); ++i)
          EXPECT_EQ(got.bits[i], layout.bits[i]) << text;
        EXPECT_EQ(got.number, number) << text;
      }
    }
  }
}

TEST(BufferFormats, ConvertComponents) {
  const struct {
    NumberFormat number;
    uint32_t bits, raw, value;
    bool both = true;  // the reverse holds too
  } cases[] = {
      {NumberFormat::kUnorm, 8, 255, bits(1.0f)},
      {NumberFormat::kUnorm, 8, 51, bits(0.2f)},
      {NumberFormat::kUnorm, 16, 0, bits(0.0f)},
      {NumberFormat::kSnorm, 8, 127, bits(1.0f)},
      {NumberFormat::kSnorm, 8, 0x81, bits(-1.0f)},
      {NumberFormat::kSnorm, 8, 0x80, bits(-1.0f), false},
      {NumberFormat::kUscaled, 8, 200, bits(200.0f)},
      {NumberFormat::kSscaled, 16, 0xff9c, bits(-100.0f)},
      {NumberFormat::kUint, 10, 1023, 1023},
      {NumberFormat::kSint, 10, 0x3ff, 0xffffffff},
      {NumberFormat::kSint, 32, 0x80000000, 0x80000000},
      {NumberFormat::kFloat, 16, 0x3c00, bits(1.0f)},
      {NumberFormat::kFloat, 32, 0x40490fdb, 0x40490fdb},
      {NumberFormat::kFloat, 11, 0x3c0, bits(1.0f)},
      {NumberFormat::kFloat, 10, 0x1e0, bits(1.0f)},
      {NumberFormat::kFloat, 11, 0x7bf, bits(65024.0f)},
      {NumberFormat::kFloat, 10, 1, bits(0x1p-19f)},
      {NumberFormat::kFloat, 16, 0xfc00, 0xff800000},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(widen_component(c.raw, c.bits, c.number), c.value)
        << static_cast<int>(c.number) << " " << c.bits << " " << c.raw;
    if (!c.both) continue;
    EXPECT_EQ(narrow_component(c.value, c.bits, c.number), c.raw)
        << static_cast<int>(c.number) << " " << c.bits << " " << c.value;
  }
  // Saturation, rounding to even, and what has no code.
  EXPECT_EQ(narrow_component(bits(2.0f), 8, NumberFormat::kUnorm), 255u);
  EXPECT_EQ(narrow_component(bits(-0.5f), 8, NumberFormat::kUnorm), 0u);
  EXPECT_EQ(narrow_component(bits(std::nanf("")), 8, NumberFormat::kSnorm), 0u);
  EXPECT_EQ(narrow_component(bits(0.5f), 8, NumberFormat::kUscaled), 0u);
  EXPECT_EQ(narrow_component(bits(1.5f), 8, NumberFormat::kUscaled), 2u);
  EXPECT_EQ(narrow_component(300, 8, NumberFormat::kUint), 255u);
  EXPECT_EQ(narrow_component(static_cast<uint32_t>(-300), 8, NumberFormat::kSint), 0x80u);
  EXPECT_EQ(narrow_component(bits(-1.0f), 11, NumberFormat::kFloat), 0u);
  EXPECT_EQ(narrow_component(bits(1.0f + 1.0f / 128), 11, NumberFormat::kFloat), 0x3c0u) << "a tie";
  EXPECT_EQ(narrow_component(bits(1.0f + 3.0f / 128), 11, NumberFormat::kFloat), 0x3c2u) << "a tie";
}

TEST(Tbuffer, LoadsAndStoresEveryComponentCount) {
  for (const Shape& shape :
       {Shape{{9, 0, 10}, true}, Shape{{10, 3, 0}, false}, Shape{{11, 0, 0}, false}}) {
    // 8_8_8_8 uint.
    const uint8_t format = shape.target.major == 9    ? 10 | 4 << 4
                           : shape.target.major == 10 ? 60
                                                      : 46;
    for (const Swept& swept : sweep_buffer(shape, {.offen = true, .format = format}, true)) {
      const bool is_load = contains(swept.name, "load");
      const bool d16 = contains(swept.name, "d16");
      const int count = static_cast<int>(swept.name.size() - swept.name.rfind('_') - 1);
      TestMachine machine(options_for(shape));
      set_resource(machine, shape, {.name = "", .records = 64}, 4 | 5 << 3 | 6 << 6 | 7 << 9);
      for (int lane = 0; lane < machine.wave.lanes; ++lane)
        machine.set_v(2, lane, 4 * static_cast<uint32_t>(lane));
      for (uint32_t reg = 4; reg < 8; ++reg)
        machine.fill_v(reg, 0x00770066 + 0x00110011 * (reg - 4));
      machine.memory.write<uint32_t>(kData + 12, 0x44332211);
      machine.memory.write<uint32_t>(kData + 64, 0x55555555);
      ASSERT_TRUE(machine.run_code(swept.code)) << swept.name;
      ASSERT_FALSE(machine.faulted()) << swept.name;
      for (int i = 0; i < count; ++i) {
        const uint32_t word = machine.v(static_cast<uint32_t>(d16 ? 4 + i / 2 : 4 + i), 3);
        const uint32_t value = d16 ? word >> 16 * (i % 2) & 0xffff : word;
        if (is_load) {
          EXPECT_EQ(value, 0x11u * static_cast<uint32_t>(i + 1))
              << swept.name << " component " << i;
        } else {
          const uint32_t stored =
              machine.memory.read<uint8_t>(kData + 12 + static_cast<uint64_t>(i));
          EXPECT_EQ(stored, d16 ? value : 255u) << swept.name << " component " << i;
        }
      }
      // Lanes from 16 on are outside the buffer.
      EXPECT_EQ(machine.v(4, 20) & 0xffff, is_load ? 0u : 0x66u) << swept.name;
      EXPECT_EQ(machine.memory.read<uint32_t>(kData + 64), 0x55555555u) << swept.name;
    }
  }
}

TEST(Mubuf, FormatLoadsFollowTheResource) {
  // 16_16 unorm; selects: y, x, 1, 0.
  const struct {
    Shape shape;
    uint32_t format;
  } cases[] = {{{{9, 0, 10}, true}, 5u << 15 | 0u << 12},
               {{{10, 3, 0}, false}, 23u << 12},
               {{{11, 0, 0}, false}, 23u << 12}};
  for (const auto& c : cases) {
    TestMachine machine(options_for(c.shape));
    set_resource(machine, c.shape, {.name = ""}, c.format | 5 | 4 << 3 | 1 << 6 | 0 << 9);
    machine.memory.write<uint32_t>(kData, 0xffff0000);
    ASSERT_TRUE(machine.run("buffer_load_format_xyzw v[4:7], off, s[8:11], 0"));
    EXPECT_EQ(machine.v(4), bits(1.0f));
    EXPECT_EQ(machine.v(5), bits(0.0f));
    EXPECT_EQ(machine.v(6), bits(1.0f));
    EXPECT_EQ(machine.v(7), 0u);
    machine.fill_v(4, bits(0.0f));
    machine.fill_v(5, bits(1.0f));
    ASSERT_TRUE(machine.run("buffer_store_format_xy v[4:5], off, s[8:11], 0 offset:8"));
    EXPECT_EQ(machine.memory.read<uint32_t>(kData + 8), 0xffff0000u);
  }
}

}  // namespace
}  // namespace wavetap::emu::mubuf_test
