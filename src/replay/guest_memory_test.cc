#include "replay/guest_memory.h"

#include <gtest/gtest.h>

#include "emu/wave.h"

namespace wavetap::replay {
namespace {

TEST(GuestMemory, AllocationsStandApartAtTheSameAddressesAlways) {
  GuestMemory first, second;
  uint64_t end = 0;
  for (const uint64_t size : {1u, 4096u, 5000u, 100u}) {
    const GpuAddr address = first.allocate(size);
    EXPECT_EQ(address.value, second.allocate(size).value);
    EXPECT_EQ(address.value % 4096, 0u);
    EXPECT_GE(address.value, end + 4096) << "an unmapped page between";
    end = address.value + size;
    EXPECT_EQ(first.bytes(address, size).size(), size);
    EXPECT_TRUE(first.bytes(address, size + 1).empty()) << "exactly as large as asked for";
    EXPECT_EQ(first.lookup({end}).begin, first.lookup({end}).end);
  }
}

TEST(GuestMemory, TheCallerMayChooseTheAddress) {
  GuestMemory memory;
  constexpr GpuAddr kPlace{0x7f1234567010};
  ASSERT_TRUE(memory.allocate_at(kPlace, 100, {.writable = false}).ok());
  const emu::MappedRange range = memory.lookup(kPlace + 99);
  EXPECT_EQ(range.begin, kPlace.value);
  EXPECT_EQ(range.end, kPlace.value + 100);
  EXPECT_TRUE(range.readable);
  EXPECT_FALSE(range.writable);
  EXPECT_TRUE(memory.allocate_at(kPlace + 100, 4).ok()) << "neighbours may touch";
  EXPECT_TRUE(memory.bytes(kPlace + 98, 4).empty()) << "and stay two";
}

TEST(GuestMemory, NoByteIsGivenTwice) {
  GuestMemory memory;
  ASSERT_TRUE(memory.allocate_at({0x10000}, 0x1000).ok());
  for (const auto& [address, size] : std::initializer_list<std::pair<uint64_t, uint64_t>>{
           {0x10000, 0x1000}, {0x10fff, 1}, {0xffff, 2}, {0xf000, 0x3000}, {0x10800, 4}}) {
    const Status status = memory.allocate_at({address}, size);
    ASSERT_FALSE(status.ok()) << std::hex << address;
    EXPECT_NE(status.error().message.find("another allocation"), std::string::npos);
  }
  EXPECT_TRUE(memory.allocate_at({0xffff}, 1).ok());
  EXPECT_TRUE(memory.allocate_at({0x11000}, 1).ok());
}

TEST(GuestMemory, RefusesRangesThatCannotBe) {
  GuestMemory memory;
  EXPECT_FALSE(memory.allocate_at({0x1000}, 0).ok());
  EXPECT_FALSE(memory.allocate_at({~uint64_t{0} - 10}, 20).ok());
  EXPECT_FALSE(memory.allocate_at({emu::kSharedAperture + 16}, 4).ok());
  EXPECT_FALSE(memory.allocate_at({emu::kPrivateAperture - 4}, 8).ok());
}

TEST(GuestMemory, FreePlacesAreFoundAroundChosenOnes) {
  GuestMemory memory;
  const GpuAddr usual = GuestMemory().allocate(4096);
  ASSERT_TRUE(memory.allocate_at(usual + 100, 10).ok());
  const GpuAddr found = memory.allocate(4096);
  EXPECT_GE(found.value, usual.value + 110 + 4096);
  size_t allocations = 0;
  memory.for_each([&](const emu::MappedRange&) { ++allocations; });
  EXPECT_EQ(allocations, 2u);
}

}  // namespace
}  // namespace wavetap::replay
