#include "replay/host_services.h"

#include <gtest/gtest.h>

namespace wavetap::replay {
namespace {

constexpr uint64_t kTop = uint64_t{1} << 47;  // where a process's addresses end on amd64

Capture capture_with(const std::vector<std::pair<uint64_t, uint64_t>>& regions) {
  Capture capture;
  for (const auto& [begin, size] : regions) {
    CapturedRegion region;
    region.record.address = begin;
    region.record.size_bytes = size;
    capture.regions.push_back(region);
  }
  return capture;
}

void expect_free(const Capture& capture) {
  for (const HostRange& own : {hostcall_range(capture), fresh_heap_range(capture)}) {
    EXPECT_NE(own.begin, 0u);
    EXPECT_LT(own.begin + own.size_bytes, kTop);
    for (const CapturedRegion& region : capture.regions)
      EXPECT_TRUE(own.begin + own.size_bytes <= region.begin() || region.end() <= own.begin)
          << std::hex << own.begin << " in " << region.begin();
  }
}

TEST(HostServices, HaveAddressesBehindTheCapturedOnes) {
  const Capture capture = capture_with({{0x7e00'0000'0000, 0x1000}, {0x7e01'0000'0000, 0x20'0000}});
  expect_free(capture);
  EXPECT_GT(hostcall_range(capture).begin, 0x7e01'0020'0000u);
}

// A debugger turns the random placement of memory off: libraries then end just below the highest address.
TEST(HostServices, HaveAddressesBelowMemoryThatEndsAtTheTop) {
  expect_free(capture_with({{0x7fff'cfc8'0000, 0x1000}, {0x7fff'f6a0'0000, 0x1000}}));
  expect_free(capture_with({{0x4100'0000'0000, 0x1000}, {kTop - 0x1000, 0x1000}}));
  expect_free(capture_with({{0x10'0000, 0x1000}, {0x8'0000'0000, kTop - 0x9'0000'0000}}));
}

TEST(HostServices, HaveAddressesBesideNothing) { expect_free(capture_with({})); }

}  // namespace
}  // namespace wavetap::replay
