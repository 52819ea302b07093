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

// Numbers of every length, runs from none to as many as there can be, and a stream that is used again.
TEST(AccessStream, GivesBackWhatItWasGiven) {
  AccessStream stream;
  for (int round = 0; round < 2; ++round) {
    stream.clear();
    AccessStream::Item item;
    EXPECT_FALSE(stream.next(item));
    std::vector<SectorRun> runs;
    for (uint32_t i = 0; i < kMaxRuns; ++i)
      runs.push_back({i % 2 != 0 ? ~uint64_t{0} >> i % 64 : i, (i + 1) << i % 24, i << i % 25});
    for (const Request request : {Request::kLoad, Request::kStore, Request::kAtomic})
      for (size_t count = 0; count <= kMaxRuns; ++count)
        stream.add(request, count % 2 != 0, count % 3 != 0, static_cast<uint32_t>(count) << 25,
                   {runs.data(), count});
    for (const Request request : {Request::kLoad, Request::kStore, Request::kAtomic})
      for (size_t count = 0; count <= kMaxRuns; ++count) {
        ASSERT_TRUE(stream.next(item));
        EXPECT_EQ(item.request, request);
        EXPECT_EQ(item.bypass_l1, count % 2 != 0);
        EXPECT_EQ(item.bypass_gl1, count % 3 != 0);
        EXPECT_EQ(item.site, static_cast<uint32_t>(count) << 25);
        ASSERT_EQ(item.run_count, count);
        for (size_t i = 0; i < count; ++i) {
          EXPECT_EQ(item.runs[i].first, runs[i].first);
          EXPECT_EQ(item.runs[i].count, runs[i].count);
          EXPECT_EQ(item.runs[i].bytes, request == Request::kLoad ? 0 : runs[i].bytes);
        }
      }
    EXPECT_FALSE(stream.next(item));
  }
}

}  // namespace
}  // namespace wavetap::cachesim
