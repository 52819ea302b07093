// Every memory instruction of every target announces what it accesses: the lanes, the addresses,
// the bytes, the space and the kind, to watchers and to the counters.
//
// Instructions come from sweeps over all encodings, expectations from their names; nothing here
// knows the handlers. The last test of the sweep makes sure that no operation was left out.
#include "emu/exec/note_access.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emu/testing/mem_reference.h"
#include "emu/testing/sweep.h"

namespace wavetap::emu::note_access_test {
namespace {

// What is announced, kept.
class AccessList final : public Watcher {
 public:
  struct Item {
    MemoryAccess access;
    std::array<uint64_t, 64> address{};
  };
  Wants wants(const isa::Program&, int32_t) noexcept override {
    return {.accessing = true, .accessed = true};
  }
  void accessing(const WatchPoint&, std::span<const MemoryAccess> accesses) noexcept override {
    items = copy(accesses);
  }
  void accessed(const WatchPoint&, std::span<const MemoryAccess> accesses) noexcept override {
    moved = copy(accesses);
  }

  std::vector<Item> items;
  std::vector<Item> moved;

 private:
  static std::vector<Item> copy(std::span<const MemoryAccess> accesses) {
    std::vector<Item> list;
    for (const MemoryAccess& access : accesses) {
      Item& item = list.emplace_back(Item{access});
      for_each_lane(access.mask | access.outside, [&](int lane) {
        item.address[static_cast<size_t>(lane)] = access.address[lane];
      });
    }
    return list;
  }
};

// --- What a name says.

struct Expected {
  Access access = Access::kLoad;
  Space space = Space::kGlobal;
  uint32_t bytes = 4;
  uint64_t base = 0;  // address of lane 0
  uint64_t step = kStep;
  bool is_scalar = false;
  bool one_lane = false;  // the first active one stands for all

  static constexpr uint64_t kStep = 16;  // from lane to lane
};

bool starts(const std::string& name, std::initializer_list<const char*> prefixes) {
  for (const char* prefix : prefixes)
    if (name.starts_with(prefix)) return true;
  return false;
}

constexpr uint64_t kData = TestMachine::kData;
constexpr uint32_t kOffset = 32;         // of every instruction that has one
constexpr uint32_t kFormatBytes = 4;     // of the data format in use
constexpr uint32_t kSecondOffset = 2;    // of two-address LDS forms, in elements
constexpr uint32_t kSource2Bytes = 256;  // from a ds_*_src2's first operand to its second

// No memory is accessed: these only change caches, exchange lanes, or wait.
bool accesses_nothing(const std::string& name) {
  static const std::set<std::string> kNothing = {"ds_nop",
                                                 "ds_permute_b32",
                                                 "ds_bpermute_b32",
                                                 "ds_swizzle_b32",
                                                 "buffer_wbinvl1",
                                                 "buffer_wbinvl1_vol",
                                                 "buffer_wbl2",
                                                 "buffer_inv",
                                                 "buffer_invl2",
                                                 "buffer_gl0_inv",
                                                 "buffer_gl1_inv",
                                                 "s_memtime",
                                                 "s_memrealtime",
                                                 "s_dcache_inv",
                                                 "s_dcache_wb",
                                                 "s_dcache_inv_vol",
                                                 "s_dcache_wb_vol",
                                                 "s_dcache_discard",
                                                 "s_dcache_discard_x2",
                                                 "s_gl1_inv",
                                                 "s_atc_probe",
                                                 "s_atc_probe_buffer",
                                                 "s_get_waveid_in_workgroup"};
  return kNothing.contains(name) || name.starts_with("ds_gws");
}

// Has no handler, on purpose; memory_coverage_test.cc says why.
bool is_unsupported(const std::string& name) {
  return starts(name, {"ds_ordered_count", "ds_add_gs", "ds_sub_gs", "ds_bvh"});
}

uint32_t type_bytes(const std::string& name) {
  for (const auto& [suffix, bytes] :
       std::initializer_list<std::pair<const char*, uint32_t>>{{"_u8", 1},
                                                               {"_i8", 1},
                                                               {"_b8", 1},
                                                               {"_u16", 2},
                                                               {"_i16", 2},
                                                               {"_b16", 2},
                                                               {"_b96", 12},
                                                               {"_b128", 16},
                                                               {"_u64", 8},
                                                               {"_i64", 8},
                                                               {"_b64", 8},
                                                               {"_f64", 8}})
    if (name.find(suffix) != std::string::npos && name.find("pk_add") == std::string::npos)
      return bytes;
  return 4;
}

std::vector<Expected> expect_ds(const std::string& name, const isa::Inst& inst) {
  Expected e{.space = Space::kLds, .bytes = type_bytes(name), .base = kOffset};
  const bool returns = !inst.dst.is(isa::OperandKind::kNone);
  e.access = starts(name, {"ds_read"})    ? Access::kLoad
             : starts(name, {"ds_write"}) ? Access::kStore
             : returns                    ? Access::kAtomicReturn
                                          : Access::kAtomic;
  if (name == "ds_append" || name == "ds_consume") {
    e.step = 0;
    e.one_lane = true;
    return {e};
  }
  if (contains(name, "_src2_")) {
    e.base = 0;
    Expected second = e;
    second.access = Access::kLoad;
    second.base = kSource2Bytes;
    return {e, second};
  }
  if (contains(name, "addtid")) {
    e.step = 4;
    return {e};
  }
  if (starts(name, {"ds_read2", "ds_write2", "ds_wrxchg2"})) {
    const uint32_t scale = e.bytes * (contains(name, "st64") ? 64 : 1);
    e.base = kOffset * scale;
    Expected second = e;
    second.base = kSecondOffset * scale;
    return {e, second};
  }
  return {e};
}

std::vector<Expected> expect_vector(const std::string& name, const isa::Inst& inst) {
  Expected e{.base = kData + kOffset};
  if (name.starts_with("scratch_")) {
    e.space = Space::kScratch;
    e.base = kOffset;
    e.step = 0;
  }
  const bool returns = !inst.dst.is(isa::OperandKind::kNone);
  if (contains(name, "_atomic_")) e.access = returns ? Access::kAtomicReturn : Access::kAtomic;
  else if (contains(name, "_store_")) e.access = Access::kStore;
  if (contains(name, "_format_")) e.bytes = kFormatBytes;
  else if (!contains(name, "addtid") && !contains(name, "lds_dword"))
    e.bytes = static_cast<uint32_t>(read_memory_name(name).bytes);
  if (contains(name, "addtid")) e.step = 4;
  if (inst.family == isa::Family::kMubuf && !inst.offen) e.step = 0;
  if (!inst.lds) return {e};
  Expected lds{.access = e.access == Access::kLoad ? Access::kStore : Access::kLoad,
               .space = Space::kLds,
               .base = kOffset,
               .step = 4};
  return {e, lds};
}

std::vector<Expected> expect_scalar(const std::string& name, const isa::Inst& inst) {
  // Offsets of the scratch forms count 64 bytes.
  Expected e{.base = kData + (contains(name, "scratch") ? 16 * 64 : 16), .is_scalar = true};
  if (contains(name, "atomic")) {
    e.bytes = name.ends_with("_x2") ? 8 : 4;
    e.access = inst.glc ? Access::kAtomicReturn : Access::kAtomic;
  } else if (const size_t x = name.find("dwordx"); x != std::string::npos) {
    e.bytes = 4 * static_cast<uint32_t>(std::stoi(name.substr(x + 6)));
  }
  if (contains(name, "store")) e.access = Access::kStore;
  return {e};
}

std::vector<Expected> expectation(const Swept& swept) {
  if (accesses_nothing(swept.name)) return {};
  switch (swept.inst.family) {
    case isa::Family::kDs: return expect_ds(swept.name, swept.inst);
    case isa::Family::kSmem: return expect_scalar(swept.name, swept.inst);
    default: return expect_vector(swept.name, swept.inst);
  }
}

// --- Running.

TestMachine::Options options_for(const Shape& shape) {
  return {.target = shape.target,
          .wave64 = shape.wave64,
          .vgprs = 32,
          .agprs = shape.target.has_mfma() ? 32u : 0u,
          .count = true,
          .sram_ecc = shape.sram_ecc};
}

// Addresses as SweepFields names the registers.
void set_up(TestMachine& machine, const Swept& swept) {
  const int major = machine.dispatch.target.major;
  const bool is_flat = swept.inst.family == isa::Family::kFlat;
  const bool is_scratch = swept.name.starts_with("scratch_");
  const bool has_saddr = !swept.inst.saddr.is(isa::OperandKind::kNone);
  for (int lane = 0; lane < machine.wave.lanes; ++lane) {
    const auto offset = static_cast<uint32_t>(lane) * static_cast<uint32_t>(Expected::kStep);
    const bool is_whole_address = is_flat && !is_scratch && !has_saddr;
    machine.set_v64(2, lane, is_scratch ? 0 : is_whole_address ? kData + offset : offset);
  }
  machine.set_s64(8, is_scratch ? 0 : kData);
  machine.set_s(10, TestMachine::kDataBytes);
  // 8_8_8_8 unsigned integers.
  machine.set_s(11, (4 | 5 << 3 | 6 << 6 | 7 << 9) |
                        (major == 9 ? 10u << 15 | 4u << 12 : (major == 10 ? 60u : 46u) << 12) |
                        (major >= 10 ? 3u << 28 : 0));
  machine.set_s(isa::slot::kM0, 0);
}

uint64_t expected_lanes(const Expected& e, uint64_t exec) {
  if (e.is_scalar) return 1;
  return e.one_lane ? exec & (~exec + 1) : exec;
}

void expect_access(const AccessList::Item& item, const Expected& e, const isa::Inst& inst,
                   uint64_t exec, const std::string& what) {
  const MemoryAccess& access = item.access;
  EXPECT_EQ(access.access, e.access) << what;
  EXPECT_EQ(access.space, e.space) << what;
  EXPECT_EQ(access.is_scalar, e.is_scalar) << what;
  EXPECT_EQ(access.is_dma, inst.lds) << what;
  EXPECT_EQ(access.size_bytes, e.bytes) << what;
  EXPECT_EQ(access.mask, expected_lanes(e, exec)) << what;
  EXPECT_EQ(access.outside, 0u) << what;
  for_each_lane(access.mask, [&](int lane) {
    EXPECT_EQ(item.address[static_cast<size_t>(lane)],
              e.base + e.step * static_cast<uint64_t>(lane) * (e.one_lane ? 0 : 1))
        << what << " lane " << lane;
  });
}

Counters expected_counters(const std::vector<Expected>& expected, uint64_t exec) {
  Counters c;
  for (const Expected& e : expected) {
    const uint64_t bytes = static_cast<uint64_t>(std::popcount(expected_lanes(e, exec))) * e.bytes;
    const bool is_atomic = e.access != Access::kLoad && e.access != Access::kStore;
    uint64_t* counter = nullptr;
    if (e.is_scalar) {
      counter = is_atomic                    ? &c.bytes_scalar_atomic
                : e.access == Access::kStore ? &c.bytes_scalar_store
                                             : &c.bytes_scalar;
    } else if (e.space == Space::kGlobal) {
      counter = is_atomic                    ? &c.bytes_global_atomic
                : e.access == Access::kStore ? &c.bytes_global_store
                                             : &c.bytes_global_load;
    } else {
      counter = e.space == Space::kLds ? &c.bytes_lds : &c.bytes_scratch;
    }
    *counter += bytes;
  }
  return c;
}

void expect_bytes(const Counters& counted, const Counters& expected, const std::string& what) {
  EXPECT_EQ(counted.bytes_global_load, expected.bytes_global_load) << what;
  EXPECT_EQ(counted.bytes_global_store, expected.bytes_global_store) << what;
  EXPECT_EQ(counted.bytes_global_atomic, expected.bytes_global_atomic) << what;
  EXPECT_EQ(counted.bytes_scratch, expected.bytes_scratch) << what;
  EXPECT_EQ(counted.bytes_lds, expected.bytes_lds) << what;
  EXPECT_EQ(counted.bytes_scalar, expected.bytes_scalar) << what;
  EXPECT_EQ(counted.bytes_scalar_store, expected.bytes_scalar_store) << what;
  EXPECT_EQ(counted.bytes_scalar_atomic, expected.bytes_scalar_atomic) << what;
}

// Runs the instruction under several EXEC masks and compares what it announces.
void check(const Shape& shape, const Swept& swept) {
  const std::vector<Expected> expected = expectation(swept);
  for (const uint64_t mask : {~uint64_t{0}, uint64_t{0x5a5a0f00f0014284}, uint64_t{0}}) {
    TestMachine machine(options_for(shape));
    AccessList list;
    machine.watch(list);
    set_up(machine, swept);
    machine.set_exec(mask);
    const uint64_t exec = machine.wave.exec();
    ASSERT_TRUE(machine.run_code(swept.code)) << swept.name;
    const std::string what = shape_name(shape) + " " + swept.name;
    ASSERT_FALSE(machine.faulted()) << what << ": " << fault_name(machine.wave.fault.kind);
    const bool is_scalar = swept.inst.family == isa::Family::kSmem;
    const size_t count = exec == 0 && !is_scalar ? 0 : expected.size();
    ASSERT_EQ(list.items.size(), count) << what;
    EXPECT_EQ(list.moved.size(), count) << what;
    for (size_t i = 0; i < count; ++i)
      expect_access(list.items[i], expected[i], swept.inst, exec, what);
    expect_bytes(machine.counters, expected_counters(expected, exec), what);
  }
}

// Everything that is called a memory instruction, on one target.
std::vector<Swept> all_of(const Shape& shape) {
  std::vector<Swept> all;
  const auto add = [&](std::vector<Swept> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  for (Swept& swept : sweep_ds(shape, {.offset = kOffset})) {
    // Two-address forms have two offsets in the field; src2 forms a distance.
    if (starts(swept.name, {"ds_read2", "ds_write2", "ds_wrxchg2"}) ||
        contains(swept.name, "_src2_"))
      continue;
    all.push_back(std::move(swept));
  }
  for (Swept& swept : sweep_ds(shape, {.offset = kOffset, .offset1 = kSecondOffset}))
    if (starts(swept.name, {"ds_read2", "ds_write2", "ds_wrxchg2"}))
      all.push_back(std::move(swept));
  for (Swept& swept : sweep_ds(shape, {.offset = kSource2Bytes / 4}))
    if (contains(swept.name, "_src2_")) all.push_back(std::move(swept));
  for (Swept& swept : sweep_ds(shape, {}))
    if (accesses_nothing(swept.name)) all.push_back(std::move(swept));
  for (Swept& swept : sweep_ds(shape, {}, /*gds=*/true))
    if (swept.name.starts_with("ds_gws")) all.push_back(std::move(swept));
  for (const bool returns : {false, true}) {
    for (const FlatSegment segment :
         {FlatSegment::kFlat, FlatSegment::kGlobal, FlatSegment::kScratch}) {
      add(sweep_flat(shape, segment, {.returns = returns, .offset = kOffset}));
      if (segment != FlatSegment::kFlat)
        add(sweep_flat(shape, segment, {.returns = returns, .saddr = true, .offset = kOffset}));
    }
    add(sweep_buffer(shape, {.returns = returns, .offen = true, .offset = kOffset}));
    add(sweep_smem(shape, returns));
  }
  add(sweep_flat(shape, FlatSegment::kScratch,
                 {.saddr = true, .no_vaddr = true, .offset = kOffset}));
  add(sweep_buffer(shape, {.lds = true, .offen = true, .offset = kOffset}));
  add(sweep_buffer(shape, {.lds = true, .offset = kOffset}));
  add(sweep_flat(shape, FlatSegment::kGlobal, {.lds = true, .offset = kOffset}));
  add(sweep_flat(shape, FlatSegment::kScratch, {.lds = true, .offset = kOffset}));
  for (Swept& swept : sweep_buffer(shape, {.bare = true}))
    if (accesses_nothing(swept.name)) all.push_back(std::move(swept));
  const uint8_t format = shape.target.major == 9 ? 10 | 4 << 4 : shape.target.major == 10 ? 60 : 46;
  add(sweep_buffer(shape, {.offen = true, .offset = kOffset, .format = format}, /*typed=*/true));
  if (!shape.target.is_gfx90a_family())
    add(sweep_buffer(shape, {.offen = true, .tfe = true, .offset = kOffset}));
  return all;
}

bool is_memory_operation(const std::string& name) {
  return starts(
      name, {"ds_", "flat_", "global_", "scratch_", "buffer_", "tbuffer_", "s_load_", "s_store_",
             "s_buffer_", "s_scratch_", "s_atomic_", "s_dcache_", "s_gl1_", "s_atc_", "s_mem"});
}

TEST(MemoryAccesses, OfEveryInstructionAreAnnouncedAndCounted) {
  std::set<std::string> checked;
  std::vector<Shape> shapes = test_shapes();
  shapes.push_back({{9, 0, 6}, true});
  shapes.push_back({{10, 1, 0}, false});  // has scalar stores and atomics
  for (const Shape& shape : shapes) {
    for (const Swept& swept : all_of(shape)) {
      if (find_handler(swept.inst, shape) == nullptr) continue;
      // Without a base these are addresses from zero on.
      if (contains(swept.name, "addtid") && swept.inst.family == isa::Family::kFlat &&
          swept.inst.saddr.is(isa::OperandKind::kNone))
        continue;
      check(shape, swept);
      if (HasFailure()) return;
      checked.insert(swept.name);
    }
  }
  for (uint16_t i = 1; i < static_cast<uint16_t>(isa::Op::kCount); ++i) {
    const std::string name = isa::op_name(static_cast<isa::Op>(i));
    if (!is_memory_operation(name) || is_unsupported(name)) continue;
    EXPECT_TRUE(checked.contains(name)) << name << " was never checked";
  }
}

// --- What is outside, scattered, or faults.

class NoteAccess : public testing::Test {
 protected:
  NoteAccess() : machine_({.target = {9, 0, 8}, .lds_bytes = 1024, .count = true}) {
    machine_.watch(list_);
    machine_.set_s64(8, kData);
    machine_.set_s(10, TestMachine::kDataBytes);
    machine_.set_s(11, 4 | 5 << 3 | 6 << 6 | 7 << 9);
  }
  uint64_t mask(size_t i) const { return list_.items.at(i).access.mask; }
  uint64_t outside(size_t i) const { return list_.items.at(i).access.outside; }

  TestMachine machine_;
  AccessList list_;
};

TEST_F(NoteAccess, AnElementOutsideLdsTouchesNothing) {
  for (int lane = 0; lane < 64; ++lane)
    machine_.set_v(2, lane, static_cast<uint32_t>(1024 - 32 * 8 + lane * 8 - 4));
  ASSERT_TRUE(machine_.run("ds_read_b64 v[4:5], v2"));
  EXPECT_EQ(mask(0), (uint64_t{1} << 32) - 1);
  EXPECT_EQ(outside(0), ~((uint64_t{1} << 32) - 1));  // lane 32 sticks out by four bytes
  EXPECT_EQ(list_.items[0].address[33], 1024u + 4);
  EXPECT_EQ(machine_.counters.bytes_lds, 32u * 8);
}

TEST_F(NoteAccess, PartsOfAnElementMayBeOutsideItsBuffer) {
  machine_.set_s(10, 16 * 4 + 8);  // lanes 0..3 whole, half of lane 4's element
  for (int lane = 0; lane < 64; ++lane) machine_.set_v(2, lane, static_cast<uint32_t>(lane * 16));
  ASSERT_TRUE(machine_.run("buffer_load_dwordx4 v[4:7], v2, s[8:11], 0 offen"));
  ASSERT_EQ(list_.items.size(), 1u + 16);
  EXPECT_EQ(mask(0), 0xfu);
  EXPECT_EQ(outside(0), ~uint64_t{0x1f});
  for (size_t byte = 0; byte < 16; ++byte) {
    const AccessList::Item& item = list_.items[1 + byte];
    EXPECT_EQ(item.access.size_bytes, 1u);
    EXPECT_EQ(item.access.mask, byte < 8 ? 0x10u : 0u);
    EXPECT_EQ(item.access.outside, byte < 8 ? 0u : 0x10u);
    EXPECT_EQ(item.address[4], kData + 64 + byte);
    EXPECT_EQ(item.access.data_byte, byte);
  }
  EXPECT_EQ(machine_.counters.bytes_global_load, 4u * 16 + 8);
  EXPECT_EQ(machine_.counters.cache_lines, 2u);
  EXPECT_EQ(machine_.counters.cache_lines_ideal, 2u);
}

TEST_F(NoteAccess, AnElementOfASwizzledBufferIsInPieces) {
  machine_.set_exec(1);
  // Swizzled, elements of 4 bytes, index stride 8, stride 64.
  machine_.set_s(9, static_cast<uint32_t>(kData >> 32) | 64u << 16 | 1u << 31);
  machine_.set_s(10, 64);
  machine_.set_v(2, 0, 3);
  ASSERT_TRUE(machine_.run("buffer_load_dwordx2 v[4:5], v2, s[8:11], 0 idxen"));
  ASSERT_EQ(list_.items.size(), 8u);
  for (size_t byte = 0; byte < 8; ++byte)
    EXPECT_EQ(list_.items[byte].address[0], kData + 3 * 4 + byte % 4 + byte / 4 * 32) << byte;
  EXPECT_EQ(machine_.counters.bytes_global_load, 8u);
  EXPECT_EQ(machine_.counters.cache_lines, 1u);
}

TEST_F(NoteAccess, ScratchThroughADescriptorIsTheLanesOwn) {
  machine_.set_s64(8, kScratchVa);
  machine_.set_s(9, machine_.s(9) | 1u << 31);
  machine_.set_s(10, 256 * 64);
  machine_.set_s(11, machine_.s(11) | 3u << 21 | 1u << 23);
  ASSERT_TRUE(machine_.run("buffer_store_dwordx2 v[4:5], off, s[8:11], 0 offset:20"));
  ASSERT_EQ(list_.items.size(), 1u);
  EXPECT_EQ(list_.items[0].access.space, Space::kScratch);
  EXPECT_EQ(list_.items[0].access.size_bytes, 8u);
  EXPECT_EQ(mask(0), ~uint64_t{0});
  for (size_t lane = 0; lane < 64; ++lane) EXPECT_EQ(list_.items[0].address[lane], 20u) << lane;
  EXPECT_EQ(machine_.counters.bytes_scratch, 512u);
}

TEST_F(NoteAccess, AFlatInstructionReachesThreeSpaces) {
  for (int lane = 0; lane < 64; ++lane) {
    const uint64_t aperture = lane % 4 == 0   ? kSharedAperture
                              : lane % 4 == 1 ? kPrivateAperture
                                              : kData;
    machine_.set_v64(2, lane, aperture + static_cast<uint64_t>(lane) * 4);
  }
  machine_.set_exec(0xff);
  ASSERT_TRUE(machine_.run("flat_load_dword v4, v[2:3]"));
  ASSERT_EQ(list_.items.size(), 3u);
  EXPECT_EQ(list_.items[0].access.space, Space::kGlobal);
  EXPECT_EQ(mask(0), 0xccu);
  EXPECT_EQ(list_.items[0].address[3], kData + 12);
  EXPECT_EQ(list_.items[1].access.space, Space::kLds);
  EXPECT_EQ(mask(1), 0x11u);
  EXPECT_EQ(list_.items[1].address[4], 16u);
  EXPECT_EQ(list_.items[2].access.space, Space::kScratch);
  EXPECT_EQ(mask(2), 0x22u);
  EXPECT_EQ(list_.items[2].address[5], 20u);
}

// An access counts when it is issued, vector or scalar.
TEST_F(NoteAccess, AFaultingAccessCountsWhole) {
  machine_.set_v64(2, 0, 0x40);
  machine_.set_exec(1);
  ASSERT_TRUE(machine_.run("global_load_dwordx2 v[4:5], v[2:3], off"));
  ASSERT_TRUE(machine_.faulted());
  EXPECT_EQ(machine_.counters.bytes_global_load, 8u);
  EXPECT_TRUE(list_.moved.empty());
  machine_.set_s64(8, 0x40);
  ASSERT_TRUE(machine_.run("s_load_dwordx4 s[16:19], s[8:9], 0x0"));
  ASSERT_TRUE(machine_.faulted());
  EXPECT_EQ(machine_.counters.bytes_scalar, 16u);
  ASSERT_TRUE(machine_.run("s_store_dwordx2 s[16:17], s[8:9], 0x0"));
  ASSERT_TRUE(machine_.faulted());
  EXPECT_EQ(machine_.counters.bytes_scalar_store, 8u);
  EXPECT_EQ(machine_.counters.bytes_scalar, 16u);
}

TEST_F(NoteAccess, AScalarAccessMayLeaveItsBuffer) {
  machine_.set_s(10, 24);
  ASSERT_TRUE(machine_.run("s_buffer_load_dwordx4 s[16:19], s[8:11], 0x10"));
  ASSERT_EQ(list_.items.size(), 2u);
  EXPECT_EQ(list_.items[0].access.size_bytes, 8u);
  EXPECT_EQ(mask(0), 1u);
  EXPECT_EQ(list_.items[1].access.size_bytes, 8u);
  EXPECT_EQ(mask(1), 0u);
  EXPECT_EQ(outside(1), 1u);
  EXPECT_EQ(list_.items[1].address[0], kData + 24);
  EXPECT_EQ(machine_.counters.bytes_scalar, 8u);
  ASSERT_TRUE(machine_.run("s_buffer_store_dwordx4 s[16:19], s[8:11], 0x10"));
  ASSERT_EQ(list_.items.size(), 1u);
  EXPECT_EQ(outside(0), 1u);
  EXPECT_EQ(machine_.counters.bytes_scalar_store, 0u);
}

// The cases that went uncounted.
TEST_F(NoteAccess, AppendAndTwoOperandFormsCount) {
  machine_.set_s(isa::slot::kM0, 0);
  for (int lane = 0; lane < 64; ++lane) machine_.set_v(2, lane, static_cast<uint32_t>(lane) * 4);
  ASSERT_TRUE(machine_.run("ds_append v4 offset:8"));
  EXPECT_EQ(machine_.counters.bytes_lds, 4u);
  ASSERT_TRUE(machine_.run("ds_add_src2_u32 v2 offset:64"));
  EXPECT_EQ(machine_.counters.bytes_lds, 4u + 2 * 64 * 4);
}

// --- Values.

TEST_F(NoteAccess, RegistersHoldWhatMoved) {
  struct Case {
    const char* text;
    const char* operand;  // of the first access
    int byte;
  };
  for (const Case& c :
       std::initializer_list<Case>{{"global_load_dwordx3 v[4:6], v[2:3], off", "dst", 0},
                                   {"global_load_short_d16_hi v4, v[2:3], off", "dst", 2},
                                   {"global_store_byte_d16_hi v[2:3], v4, off", "src", 2},
                                   {"global_store_dwordx4 v[2:3], v[4:7], off", "src", 0},
                                   {"global_atomic_add v8, v[2:3], v4, off glc", "dst", 0},
                                   {"global_atomic_add v[2:3], v4, off", "src", 0},
                                   {"ds_read2_b64 v[4:7], v2 offset0:1 offset1:3", "dst", 0},
                                   {"ds_write2_b32 v2, v4, v6 offset0:1 offset1:3", "src", 0}}) {
    machine_.set_exec(0xffff);
    for (int lane = 0; lane < 64; ++lane) {
      machine_.set_v64(2, lane,
                       std::string(c.text).starts_with("ds") ? uint64_t(lane) * 32
                                                             : kData + uint64_t(lane) * 16);
      for (uint32_t reg = 4; reg < 8; ++reg)
        machine_.set_v(reg, lane, 0x01020304u * static_cast<uint32_t>(lane + 1) + reg);
    }
    class Compare final : public Watcher {
     public:
      Wants wants(const isa::Program&, int32_t) noexcept override { return {.accessed = true}; }
      void accessed(const WatchPoint& at, std::span<const MemoryAccess> all) noexcept override {
        for (const MemoryAccess& access : all) {
          const bool is_dst = access.data == &at.inst.dst;
          where.push_back(is_dst ? "dst" : "src");
          byte.push_back(access.data_byte);
          if (access.access != Access::kLoad && access.access != Access::kStore) continue;
          for_each_lane(access.mask, [&](int lane) {
            std::array<std::byte, 16> memory{}, registers{};
            EXPECT_TRUE(read_memory(at.wave, access, lane, memory.data()));
            EXPECT_TRUE(read_registers(at.wave, access, lane, registers.data()));
            EXPECT_EQ(memory, registers);
          });
        }
      }
      std::vector<std::string> where;
      std::vector<int> byte;
    } compare;
    TestMachine& machine = machine_;
    machine.watch(compare);
    ASSERT_TRUE(machine.run(c.text)) << c.text;
    ASSERT_FALSE(machine.faulted()) << c.text;
    ASSERT_FALSE(compare.where.empty()) << c.text;
    EXPECT_EQ(compare.where[0], c.operand) << c.text;
    EXPECT_EQ(compare.byte[0], c.byte) << c.text;
    machine.unwatch(compare);
  }
}

}  // namespace
}  // namespace wavetap::emu::note_access_test
