#include "agent/allocations.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>

#include "agent/hsa_load.h"
#include "agent/test_fake_hsa.h"

namespace wavetap::agent {
namespace {

LiveAllocation at(uint64_t address, uint64_t bytes) {
  LiveAllocation allocation;
  allocation.address = address;
  allocation.bytes = bytes;
  return allocation;
}

TEST(AllocationTable, FindsWhatHoldsAnAddress) {
  AllocationTable table;
  LiveAllocation found;
  EXPECT_FALSE(table.find(0x1000, &found));
  table.add(at(0x1000, 0x100));
  table.add(at(0x3000, 0x1000));
  EXPECT_FALSE(table.find(0xfff, &found));
  ASSERT_TRUE(table.find(0x1000, &found));
  EXPECT_EQ(found.bytes, 0x100u);
  ASSERT_TRUE(table.find(0x10ff, &found));
  EXPECT_FALSE(table.find(0x1100, &found));
  ASSERT_TRUE(table.find(0x3fff, &found));
  EXPECT_EQ(found.address, 0x3000u);
  EXPECT_FALSE(table.find(UINT64_MAX, &found));
  table.clear();
}

TEST(AllocationTable, AnAddressThatIsUsedAgainMeansTheNewOne) {
  AllocationTable table;
  table.add(at(0x1000, 0x100));
  table.add(at(0x1000, 0x200));
  LiveAllocation found;
  ASSERT_TRUE(table.find(0x11ff, &found));
  size_t count = 0;
  table.each([&](const LiveAllocation&) { ++count; });
  EXPECT_EQ(count, 1u);
  EXPECT_TRUE(table.remove(0x1000, &found));
  EXPECT_EQ(found.bytes, 0x200u);
  EXPECT_FALSE(table.remove(0x1000));
  table.clear();
}

TEST(AllocationTable, AgreesWithAMapOverManyChanges) {
  AllocationTable table;
  std::map<uint64_t, uint64_t> expected;
  std::mt19937_64 random(7);
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t address = (random() % 5000) * 0x1000;
    if (random() % 3 != 0) {
      const uint64_t bytes = 1 + random() % 0x1000;
      ASSERT_TRUE(table.add(at(address, bytes)));
      expected[address] = bytes;
    } else {
      ASSERT_EQ(table.remove(address), expected.erase(address) == 1);
    }
    const uint64_t asked = random() % (5001 * 0x1000);
    const auto after = expected.upper_bound(asked);
    const bool holds =
        after != expected.begin() && asked - std::prev(after)->first < std::prev(after)->second;
    LiveAllocation found;
    ASSERT_EQ(table.find(asked, &found), holds);
    if (holds) {
      ASSERT_EQ(found.address, std::prev(after)->first);
    }
  }
  std::vector<uint64_t> addresses;
  table.each([&](const LiveAllocation& allocation) { addresses.push_back(allocation.address); });
  ASSERT_EQ(addresses.size(), expected.size());
  EXPECT_TRUE(std::is_sorted(addresses.begin(), addresses.end()));
  table.clear();
}

class AllocationsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "allocations-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("WAVETAP_SESSION", folder_.c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    record::forget_session();
  }
  void TearDown() override {
    on_hsa_unload();
    record::finish_process();
    record::forget_session();
    g_allocations_wanted = false;
    for (const MemoryLayer layer :
         {MemoryLayer::kHip, MemoryLayer::kRuntime, MemoryLayer::kReserved})
      allocations(layer).clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void load() {
    on_hsa_load(&fake_.tables);
    program_.open(fake_.tables);
  }
  const Hsa& program() const { return program_.next(); }

  std::filesystem::path folder_;
  FakeHsa fake_;
  HsaTable program_{};
};

TEST_F(AllocationsTest, AreNotKeptUnlessSomebodyAsks) {
  load();
  void* memory = nullptr;
  ASSERT_EQ(program().hsa_amd_memory_pool_allocate(FakeHsa::kVramPool, 4096, 0, &memory),
            kHsaSuccess);
  LiveAllocation found;
  EXPECT_FALSE(find_allocation(reinterpret_cast<uint64_t>(memory), &found));
}

TEST_F(AllocationsTest, AreKnownFromAllocationToFree) {
  want_allocations();
  load();
  OpenCall call;
  ASSERT_TRUE(enter_call(call, 1));
  void* memory = nullptr;
  ASSERT_EQ(program().hsa_amd_memory_pool_allocate(FakeHsa::kVramPool, 4096, 5, &memory),
            kHsaSuccess);
  leave_call(call, 1, 0);
  const auto address = reinterpret_cast<uint64_t>(memory);
  LiveAllocation found;
  ASSERT_TRUE(find_allocation(address + 100, &found));
  EXPECT_EQ(found.address, address);
  EXPECT_EQ(found.bytes, 4096u);
  EXPECT_EQ(found.source, MemorySource::kPool);
  EXPECT_EQ(found.kind, format::MemoryKind::kDevice);
  EXPECT_EQ(found.agent, 1u);
  EXPECT_EQ(found.flags, 5u);
  EXPECT_EQ(found.owner.call, call.call);
  EXPECT_EQ(found.gpu_address, address);
  // A free that fails leaves it where it is.
  EXPECT_NE(program().hsa_amd_memory_pool_free(static_cast<char*>(memory) + 8), kHsaSuccess);
  EXPECT_TRUE(find_allocation(address, &found));
  ASSERT_EQ(program().hsa_amd_memory_pool_free(memory), kHsaSuccess);
  EXPECT_FALSE(find_allocation(address, &found));
}

TEST_F(AllocationsTest, TheProgramsOwnRequestIsFoundBeforeThePieceItLiesIn) {
  want_allocations();
  load();
  void* piece = nullptr;
  ASSERT_EQ(program().hsa_amd_memory_pool_allocate(FakeHsa::kVramPool, 1 << 16, 0, &piece),
            kHsaSuccess);
  char* const part = static_cast<char*>(piece) + 4096;
  note_hip_allocation(part, 100, format::MemoryKind::kDevice, 0);
  LiveAllocation found;
  ASSERT_TRUE(find_allocation(reinterpret_cast<uint64_t>(part + 50), &found));
  EXPECT_EQ(found.source, MemorySource::kHip);
  EXPECT_EQ(found.bytes, 100u);
  ASSERT_TRUE(find_allocation(reinterpret_cast<uint64_t>(part + 100), &found));
  EXPECT_EQ(found.source, MemorySource::kPool);
}

TEST_F(AllocationsTest, ReservedAddressesAreKnownBehindWhatIsMappedThere) {
  want_allocations();
  fake_.add_memory_functions();
  load();
  void* address = nullptr;
  ASSERT_EQ(program().hsa_amd_vmem_address_reserve(&address, 1 << 20, 0, 0), kHsaSuccess);
  const auto base = reinterpret_cast<uint64_t>(address);
  LiveAllocation found;
  ASSERT_TRUE(find_allocation(base, &found));
  EXPECT_EQ(found.source, MemorySource::kReserved);
  ASSERT_EQ(program().hsa_amd_vmem_map(address, 4096, 0, 1, 0), kHsaSuccess);
  ASSERT_TRUE(find_allocation(base, &found));
  EXPECT_EQ(found.source, MemorySource::kMapped);
  EXPECT_EQ(found.bytes, 4096u);
  ASSERT_TRUE(find_allocation(base + 4096, &found));
  EXPECT_EQ(found.source, MemorySource::kReserved);
  ASSERT_EQ(program().hsa_amd_vmem_unmap(address, 4096), kHsaSuccess);
  ASSERT_EQ(program().hsa_amd_vmem_address_free(address, 1 << 20), kHsaSuccess);
  EXPECT_FALSE(find_allocation(base, &found));
}

TEST_F(AllocationsTest, HostMemoryIsKnownWhileItIsLockedAndWhereTheGpuSeesIt) {
  want_allocations();
  fake_.add_memory_functions();
  load();
  char bytes[64];
  void* gpu = nullptr;
  ASSERT_EQ(program().hsa_amd_memory_lock(bytes, sizeof bytes, nullptr, 0, &gpu), kHsaSuccess);
  LiveAllocation found;
  ASSERT_TRUE(find_allocation(reinterpret_cast<uint64_t>(bytes + 63), &found));
  EXPECT_EQ(found.source, MemorySource::kLocked);
  EXPECT_EQ(found.gpu_address, reinterpret_cast<uint64_t>(gpu));
  ASSERT_EQ(program().hsa_amd_memory_unlock(bytes), kHsaSuccess);
  EXPECT_FALSE(find_allocation(reinterpret_cast<uint64_t>(bytes), &found));
}

TEST_F(AllocationsTest, MemoryOfOtherProcessesAndOfTheSystemIsKnown) {
  want_allocations();
  fake_.add_memory_functions();
  load();
  void* pointer = nullptr;
  ASSERT_EQ(program().hsa_amd_ipc_memory_attach("handle", 512, 0, nullptr, &pointer), kHsaSuccess);
  LiveAllocation found;
  ASSERT_TRUE(find_allocation(reinterpret_cast<uint64_t>(pointer), &found));
  EXPECT_EQ(found.source, MemorySource::kImported);
  ASSERT_EQ(program().hsa_amd_ipc_memory_detach(pointer), kHsaSuccess);
  EXPECT_FALSE(find_allocation(reinterpret_cast<uint64_t>(pointer), &found));
  char bytes[64];
  ASSERT_EQ(program().hsa_amd_svm_attributes_set(bytes, sizeof bytes, nullptr, 0), kHsaSuccess);
  ASSERT_TRUE(find_allocation(reinterpret_cast<uint64_t>(bytes), &found));
  EXPECT_EQ(found.source, MemorySource::kShared);
}

}  // namespace
}  // namespace wavetap::agent
