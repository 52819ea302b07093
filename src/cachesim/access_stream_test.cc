#include "cachesim/access_stream.h"

#include <gtest/gtest.h>

namespace wavetap::cachesim {
namespace {

// What is known of a row or of one element saves work and changes nothing.
TEST(WholeAccesses, AreCountedAsLaneByLane) {
  for (const uint32_t lanes : {32u, 64u})
    for (const uint32_t size : {1u, 2u, 4u, 8u, 12u, 16u})
      for (const bool is_row : {true, false})
        for (uint64_t first = 4096; first < 4096 + 192; ++first) {
          uint64_t address[64];
          for (uint32_t lane = 0; lane < lanes; ++lane)
            address[lane] = first + (is_row ? lane * size : 0);
          const uint64_t mask = lanes == 64 ? ~uint64_t{0} : 0xffffffff;
          SectorRun runs[kMaxRuns];
          ASSERT_EQ(find_runs(address, mask, size, runs), 1u);
          const SectorRun run = whole_run(first, size, lanes, is_row);
          EXPECT_EQ(run.first, runs[0].first);
          EXPECT_EQ(run.count, runs[0].count);
          EXPECT_EQ(run.bytes, runs[0].bytes) << first << " " << size << " " << is_row;
          const TagWork slow = tag_work(address, mask, size, static_cast<int>(lanes));
          const TagWork fast = whole_tag_work(first, size, lanes, is_row);
          EXPECT_EQ(fast.accesses, slow.accesses) << first << " " << size << " " << is_row;
          EXPECT_EQ(fast.tags, slow.tags) << first << " " << size << " " << is_row;
        }
}

}  // namespace
}  // namespace wavetap::cachesim
