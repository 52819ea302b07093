#include "vgpu/queue_atomics.h"

#include <gtest/gtest.h>

namespace wavetap::vgpu {
namespace {

using amd::TcAtomic;

TEST(QueueAtomics, FollowTheIsaInBothWidths) {
  const auto a32 = [](TcAtomic op, uint32_t memory, uint32_t operand, uint32_t comparand = 0) {
    return apply_atomic<uint32_t>(op, memory, operand, comparand);
  };
  EXPECT_EQ(a32(TcAtomic::kSwap, 1, 2), 2u);
  EXPECT_EQ(a32(TcAtomic::kCompareSwap, 1, 2, 1), 2u);
  EXPECT_EQ(a32(TcAtomic::kCompareSwap, 1, 2, 3), 1u);
  EXPECT_EQ(a32(TcAtomic::kAdd, 0xffffffff, 2), 1u);
  EXPECT_EQ(a32(TcAtomic::kSub, 1, 2), 0xffffffffu);
  EXPECT_EQ(a32(TcAtomic::kSignedMin, 5, 0xffffffff), 0xffffffffu);
  EXPECT_EQ(a32(TcAtomic::kUnsignedMin, 5, 0xffffffff), 5u);
  EXPECT_EQ(a32(TcAtomic::kSignedMax, 5, 0xffffffff), 5u);
  EXPECT_EQ(a32(TcAtomic::kUnsignedMax, 5, 0xffffffff), 0xffffffffu);
  EXPECT_EQ(a32(TcAtomic::kAnd, 6, 3), 2u);
  EXPECT_EQ(a32(TcAtomic::kOr, 6, 3), 7u);
  EXPECT_EQ(a32(TcAtomic::kXor, 6, 3), 5u);
  // INC: memory >= operand ? 0 : memory + 1. DEC: memory == 0 || memory > operand ? operand :
  // memory - 1.
  EXPECT_EQ(a32(TcAtomic::kIncrementWrap, 6, 7), 7u);
  EXPECT_EQ(a32(TcAtomic::kIncrementWrap, 7, 7), 0u);
  EXPECT_EQ(a32(TcAtomic::kDecrementWrap, 0, 7), 7u);
  EXPECT_EQ(a32(TcAtomic::kDecrementWrap, 9, 7), 7u);
  EXPECT_EQ(a32(TcAtomic::kDecrementWrap, 3, 7), 2u);
  EXPECT_EQ(apply_atomic<uint64_t>(TcAtomic::kAdd, 0xffffffff, 1, 0), 0x100000000u);
  EXPECT_EQ(apply_atomic<uint64_t>(TcAtomic::kSignedMin, 5, ~uint64_t{0}, 0), ~uint64_t{0});
}

TEST(QueueAtomics, UnknownNumbersAreKnownAsUnknown) {
  int known = 0;
  for (uint32_t i = 0; i < 32; ++i) known += is_known_atomic(static_cast<TcAtomic>(i));
  EXPECT_EQ(known, 13);
}

TEST(QueueAtomics, ARepeatedCompareLooksAtItsOwnWidth) {
  const AtomicRequest narrow{8, {}, 0, 0x1'0000'0005};
  EXPECT_TRUE(compare_succeeded(narrow, 5));
  const AtomicRequest wide{8 | amd::kTcAtomic64, {}, 0, 0x1'0000'0005};
  EXPECT_FALSE(compare_succeeded(wide, 5));
  EXPECT_TRUE(compare_succeeded(AtomicRequest{15, {}, 0, 9}, 5)) << "only compare-and-swap repeats";
}

}  // namespace
}  // namespace wavetap::vgpu
