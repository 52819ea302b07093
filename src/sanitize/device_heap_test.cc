// DeviceHeap and HeapWatch with an allocator made up for the purpose; tests/sanitize/memory_kinds.hip has the real one.
#include "sanitize/device_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "emu/testing/kernel.h"

namespace wavetap::sanitize::device_heap_test {
namespace {

using emu::TestKernel;
using Blocks = std::map<uint64_t, uint64_t>;

class Heap {
 public:
  Heap()
      : heap({[this](uint64_t slab, uint64_t address, uint64_t size) {
                slabs.insert(slab);
                blocks[address] = size;
              },
              [this](uint64_t address) { blocks.erase(address); }}) {}

  std::set<uint64_t> slabs;
  Blocks blocks;
  DeviceHeap heap;
};

TEST(DeviceHeap, KnowsTheAllocatorByItsNames) {
  EXPECT_EQ(heap_code_of("__ockl_dm_alloc"), HeapCode::kAllocate);
  EXPECT_EQ(heap_code_of("__ockl_dm_dealloc"), HeapCode::kFree);
  EXPECT_EQ(heap_code_of("malloc"), HeapCode::kWraps);
  EXPECT_EQ(heap_code_of("__ockl_hostcall_internal"), HeapCode::kLibrary);
  EXPECT_EQ(heap_code_of("main"), HeapCode::kNone);
}

TEST(DeviceHeap, TellsOfBlocksInSlabsAndKnowsWhoHoldsThem) {
  Heap of;
  Place place;
  place.pc = {0x500};
  of.heap.took(0x4000010, 40, 7, place);
  of.heap.took(0x4000050, 24, 7, place);
  of.heap.took(0x7001000, 5000, 7, place);  // an allocation of its own
  EXPECT_EQ(of.blocks, (Blocks{{0x4000010, 40}, {0x4000050, 24}}));
  EXPECT_EQ(of.slabs, std::set<uint64_t>{0x4000000});
  EXPECT_EQ(of.heap.gave_back(0x4000010), DeviceHeap::Freed::kRight);
  EXPECT_EQ(of.heap.gave_back(0x4000010), DeviceHeap::Freed::kTwice);
  EXPECT_EQ(of.heap.gave_back(0x4000058), DeviceHeap::Freed::kNowhere);
  EXPECT_EQ(of.blocks, (Blocks{{0x4000050, 24}}));
  const std::vector<HeapSite> sites = of.heap.changed_sites();
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].blocks, 2u);
  EXPECT_EQ(sites[0].bytes, 5024u);
  EXPECT_EQ(sites[0].kernel_object, 7u);
  EXPECT_TRUE(of.heap.changed_sites().empty());
}

TEST(DeviceHeap, BoundsAreNotToldOnceCodeWithoutSymbolsIsThere) {
  Heap of;
  of.heap.add_unseen_code();
  of.heap.took(0x4000010, 40, 7, {});
  EXPECT_TRUE(of.blocks.empty());
}

class HeapMap final : public MemoryMap {
 public:
  explicit HeapMap(DeviceHeap& heap) : heap_(heap) {}
  uint64_t epoch() const noexcept override { return 1; }
  void list(std::vector<Block>&) const noexcept override {}
  Neighbour neighbour(GpuAddr) const noexcept override { return {}; }
  DeviceHeap* heap() const noexcept override { return &heap_; }

 private:
  DeviceHeap& heap_;
};

// A function that gives each lane the 64 bytes at 0x4000000 + 64 times what it asks for, and one that does nothing.
TEST(HeapWatch, SeesSizesAndAddressesOfEveryLane) {
  constexpr uint64_t kTake = TestKernel::kObject + 0x1000;
  constexpr uint64_t kGive = TestKernel::kObject + 0x2000;
  TestKernel kernel({},
                    "s_mov_b64 exec, 0x15\nv_add_u32 v0, 16, v0\nv_mov_b32 v1, 0\n"
                    "s_mov_b32 s10, 0x201000\ns_mov_b32 s11, 0\ns_swappc_b64 s[30:31], s[10:11]\n"
                    "s_mov_b64 exec, 4\ns_mov_b32 s10, 0x202000\n"
                    "s_swappc_b64 s[30:31], s[10:11]\n"
                    "s_swappc_b64 s[30:31], s[10:11]\ns_endpgm\n");
  ASSERT_TRUE(kernel.set_code(
      "v_lshlrev_b32 v0, 6, v0\nv_add_u32 v0, 0x4000000, v0\ns_setpc_b64 s[30:31]\n", kTake));
  ASSERT_TRUE(kernel.set_code("s_setpc_b64 s[30:31]\n", kGive));
  Heap of;
  HeapMap map(of.heap);
  of.heap.add_code(HeapCode::kAllocate, kTake, kTake + 0x100);
  of.heap.add_code(HeapCode::kFree, kGive, kGive + 0x100);
  kernel.set_size(64, 64);
  HeapWatch watch;
  watch.begin(map);
  EXPECT_TRUE(watch.is_needed(map, false));
  emu::Watcher* watchers[] = {&watch};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1});
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  EXPECT_EQ(of.blocks, (Blocks{{0x4000400, 16}, {0x4000500, 20}}));
  uint64_t dropped = 0;
  const std::vector<Finding> findings = watch.findings().take(&dropped);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kHeapDoubleFree);
  EXPECT_EQ(findings[0].place.lanes, 4u);
  EXPECT_EQ(findings[0].detail, "0x4000480 was freed before");
}

}  // namespace
}  // namespace wavetap::sanitize::device_heap_test
