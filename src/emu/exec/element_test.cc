// Elements of 8 and 16 bytes at their own alignment are moved whole: programs publish a flag and its
// value with one such store and read both with one load, without an atomic.
#include "emu/exec/element.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace wavetap::emu::element_test {
namespace {

constexpr int kLanes = 64;
constexpr uint32_t kRounds = 100000;

struct Memory {
  alignas(64) std::byte bytes[size_t{16} * kLanes] = {};
};

struct LaneByLane {
  template <class T>
  static void store(Memory& memory, const uint32_t* rows) {
    for (int lane = 0; lane < kLanes; ++lane)
      T::store(memory.bytes + size_t{T::kBytes} * lane, rows + lane, kLanes);
  }
  template <class T>
  static void load(const Memory& memory, uint32_t* rows) {
    for (int lane = 0; lane < kLanes; ++lane)
      T::load(memory.bytes + size_t{T::kBytes} * lane, rows + lane, kLanes);
  }
};

struct ByRows {
  template <class T>
  static void store(Memory& memory, const uint32_t* rows) {
    store_row<T, kLanes>(memory.bytes, rows);
  }
  template <class T>
  static void load(const Memory& memory, uint32_t* rows) {
    load_row<T, kLanes>(memory.bytes, rows);
  }
};

struct OneForAll {
  template <class T>
  static void store(Memory& memory, const uint32_t* rows) {
    T::store(memory.bytes, rows, kLanes);
  }
  template <class T>
  static void load(const Memory& memory, uint32_t* rows) {
    broadcast_row<T, kLanes>(memory.bytes, rows);
  }
};

// One thread stores elements whose registers are all alike, another loads them: how many were mixed.
template <class T, class How>
int torn_elements() {
  Memory memory;
  std::atomic<bool> stop = false;
  std::atomic<uint32_t> stored = 0;
  std::thread writer([&] {
    alignas(64) uint32_t rows[T::kRows * kLanes];
    for (uint32_t round = 0; !stop.load(std::memory_order_relaxed); ++round) {
      for (uint32_t& word : rows) word = round;
      How::template store<T>(memory, rows);
      stored.store(round, std::memory_order_relaxed);
    }
  });
  int torn = 0;
  alignas(64) uint32_t rows[T::kRows * kLanes];
  for (uint32_t round = 0; round < kRounds || stored.load(std::memory_order_relaxed) < kRounds;
       ++round) {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // memory is read again in every round
    How::template load<T>(memory, rows);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int row = 1; row < T::kRows; ++row)
        torn += rows[row * kLanes + lane] != rows[lane] ? 1 : 0;
  }
  stop = true;
  writer.join();
  return torn;
}

TEST(Element, IsNeverTorn) {
  EXPECT_EQ((torn_elements<Dwords<2>, LaneByLane>()), 0);
  EXPECT_EQ((torn_elements<Dwords<4>, LaneByLane>()), 0);
  EXPECT_EQ((torn_elements<Dwords<2>, ByRows>()), 0);
  EXPECT_EQ((torn_elements<Dwords<4>, ByRows>()), 0);
  EXPECT_EQ((torn_elements<Dwords<2>, OneForAll>()), 0);
  EXPECT_EQ((torn_elements<Dwords<4>, OneForAll>()), 0);
}

TEST(Element, LiesAtAnyAddress) {
  std::byte memory[64];
  for (size_t i = 0; i < sizeof memory; ++i) memory[i] = static_cast<std::byte>(i + 1);
  for (size_t shift = 0; shift < 16; ++shift) {
    uint32_t row[4];
    uint32_t expected[4];
    Dwords<4>::load(memory + shift, row, 1);
    std::memcpy(expected, memory + shift, sizeof expected);
    EXPECT_EQ(std::memcmp(row, expected, sizeof row), 0) << shift;
    std::byte copy[64] = {};
    Dwords<4>::store(copy + shift, row, 1);
    EXPECT_EQ(std::memcmp(copy + shift, expected, sizeof row), 0) << shift;
    EXPECT_EQ(copy[shift + 16], std::byte{0});
    Dwords<2>::store(copy + shift + 16, row, 1);
    EXPECT_EQ(std::memcmp(copy + shift + 16, expected, 8), 0) << shift;
  }
}

}  // namespace
}  // namespace wavetap::emu::element_test
