#include "emu/lds_banks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace wavetap::emu {
namespace {

struct Lds {
  uint64_t address[64] = {};
  MemoryAccess access;

  Lds(uint32_t size_bytes, uint64_t mask, const std::function<uint64_t(uint64_t)>& place,
      Access kind = Access::kLoad) {
    for (uint64_t lane = 0; lane < 64; ++lane) address[lane] = place(lane);
    access = {.space = Space::kLds,
              .access = kind,
              .size_bytes = size_bytes,
              .mask = mask,
              .address = address};
  }
  LdsCost cost(uint32_t banks = 32) const { return lds_cost(access, banks); }
};

constexpr uint64_t kWave32 = 0xffffffff;
constexpr uint64_t kWave64 = ~uint64_t{0};

TEST(LdsBanks, AreAsManyAsTheTargetHas) {
  EXPECT_EQ(lds_bank_count({9, 0, 10}), 32u);
  EXPECT_EQ(lds_bank_count({9, 4, 2}), 32u);
  EXPECT_EQ(lds_bank_count({9, 5, 0}), 64u);
  EXPECT_EQ(lds_bank_count({10, 3, 0}), 32u);
}

TEST(LdsBanks, ServeNeighboursInOnePhase) {
  const auto next = [](uint64_t lane) { return 4 * lane; };
  const LdsCost narrow = Lds(4, kWave32, next).cost();
  EXPECT_EQ(narrow.phases, 1u);
  EXPECT_EQ(narrow.cycles(), 1u);
  EXPECT_EQ(narrow.ways, 1u);
  EXPECT_EQ(narrow.conflicting, 0u);
  EXPECT_EQ(Lds(4, kWave64, next).cost().cycles(), 2u);
  EXPECT_EQ(Lds(4, kWave64, next).cost(64).cycles(), 1u);
}

// What the engine knows about the addresses saves work and changes nothing.
TEST(LdsBanks, CostTheSameWhetherTheRelationIsKnownOrNot) {
  for (const uint64_t mask : {kWave32, kWave64})
    for (const uint32_t banks : {32u, 64u})
      for (const uint32_t size : {1u, 2u, 4u, 8u, 12u, 16u})
        for (const uint64_t apart : {0u, 2u, 4u, 16u, 60u, 64u, 66u, 68u, 128u, 256u, 1024u})
          for (const Relation relation : {Relation::kConsecutive, Relation::kSame})
            for (const Access kind : {Access::kLoad, Access::kStore, Access::kAtomic}) {
              const uint64_t step = relation == Relation::kSame ? 0 : size;
              Lds lds(
                  size, mask,
                  [=](uint64_t lane) { return 8 + lane / 16 * apart + lane % 16 * step; }, kind);
              const LdsCost plain = lds.cost(banks);
              lds.access.relation = relation;
              const LdsCost known = lds.cost(banks);
              const auto text = ::testing::Message() << size << " bytes, " << apart << " apart";
              EXPECT_EQ(known.phases, plain.phases) << text;
              EXPECT_EQ(known.bank_conflicts, plain.bank_conflicts) << text;
              EXPECT_EQ(known.address_conflicts, plain.address_conflicts) << text;
              EXPECT_EQ(known.ways, plain.ways) << text;
              EXPECT_EQ(known.worst_bank, plain.worst_bank) << text;
              EXPECT_EQ(known.conflicting, plain.conflicting) << text;
            }
}

// The rules, word by word, for lanes that lie anywhere.
LdsCost count_one_by_one(const MemoryAccess& access, uint32_t banks) {
  const bool is_atomic = access.access == Access::kAtomic;
  LdsCost cost;
  uint64_t done = 0;
  for (int first = 0; first < 64; ++first) {
    const uint64_t lanes =
        access.mask & lds_phase_of(first, access.size_bytes, access.access == Access::kLoad, banks);
    if ((lanes >> first & 1) == 0 || (done & lanes) != 0) continue;
    done |= lanes;
    ++cost.phases;
    if (cost.ways == 0) cost.ways = 1, cost.worst_bank = access.address[first] / 4 % banks;
    std::map<uint32_t, std::set<uint64_t>> dwords;
    std::map<uint32_t, uint64_t> lanes_of;
    std::map<uint32_t, uint32_t> wishes;
    for (int lane = 0; lane < 64; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      const uint64_t at = access.address[lane];
      for (uint64_t dword = at / 4; dword <= (at + access.size_bytes - 1) / 4; ++dword) {
        const auto bank = static_cast<uint32_t>(dword % banks);
        dwords[bank].insert(dword);
        lanes_of[bank] |= uint64_t{1} << lane;
        ++wishes[bank];
      }
    }
    uint32_t most_dwords = 1, most_turns = 1;
    for (const auto& [bank, set] : dwords) {
      const auto count = static_cast<uint32_t>(set.size());
      if (count > 1) cost.conflicting |= lanes_of[bank];
      if (count > cost.ways) cost.ways = count, cost.worst_bank = bank;
      most_dwords = std::max(most_dwords, count);
      most_turns = std::max(most_turns, is_atomic ? wishes[bank] : count);
    }
    cost.bank_conflicts += most_dwords - 1;
    cost.address_conflicts += most_turns - most_dwords;
  }
  return cost;
}

void expect_counted(const Lds& lds, uint32_t banks, const ::testing::Message& text) {
  const LdsCost cost = lds.cost(banks);
  const LdsCost counted = count_one_by_one(lds.access, banks);
  EXPECT_EQ(cost.phases, counted.phases) << text;
  EXPECT_EQ(cost.bank_conflicts, counted.bank_conflicts) << text;
  EXPECT_EQ(cost.address_conflicts, counted.address_conflicts) << text;
  EXPECT_EQ(cost.ways, counted.ways) << text;
  EXPECT_EQ(cost.worst_bank, counted.worst_bank) << text;
  EXPECT_EQ(cost.conflicting, counted.conflicting) << text;
}

TEST(LdsBanks, CostWhatCountingOneByOneSays) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    const uint32_t size = std::array{1u, 2u, 4u, 4u, 4u, 8u, 12u, 16u}[random() % 8];
    const uint64_t mask = std::array{kWave32, kWave64, random(), random() & random()}[random() % 4];
    const uint64_t align = random() % 4 == 0 ? 1 : std::max(size, 4u);
    // As far as fits in a few banks, in the banks, in an array, and anywhere.
    const uint64_t reach = std::array{64u, 128u, 1024u, 8192u, 8196u, 65520u}[random() % 6];
    const uint64_t begin = random() % 4 == 0 ? 0 : random() % 4096 * 4;
    Lds lds(size, mask, [&](uint64_t) { return begin + random() % reach / align * align; });
    const auto text = ::testing::Message() << "round " << round;
    // What is asked about the same lanes next is no other question's answer.
    for (const Access kind : {Access::kLoad, Access::kStore, Access::kAtomic, Access::kAtomic}) {
      lds.access.access = kind;
      for (const uint32_t banks : {32u, 64u}) expect_counted(lds, banks, text);
    }
    lds.access.mask &= lds.access.mask - 1;
    expect_counted(lds, 64, text);
  }
}

// n-way: a stride of n dwords leaves 32/n banks for 32 lanes, an odd one all of them.
TEST(LdsBanks, ConflictAsTheStrideSays) {
  const auto conflicts = [](uint64_t stride, uint64_t mask) {
    return Lds(4, mask, [=](uint64_t lane) { return 4 * stride * lane; }).cost();
  };
  for (const uint32_t stride : {2u, 4u, 8u, 16u, 32u}) {
    const LdsCost wave32 = conflicts(stride, kWave32);
    EXPECT_EQ(wave32.bank_conflicts, stride - 1) << stride;
    EXPECT_EQ(wave32.ways, stride);
    EXPECT_EQ(wave32.conflicting, kWave32);
    EXPECT_EQ(conflicts(stride, kWave64).bank_conflicts, 2 * (stride - 1)) << stride;
  }
  for (const uint32_t stride : {1u, 3u, 33u})
    EXPECT_EQ(conflicts(stride, kWave64).bank_conflicts, 0u) << stride;
  EXPECT_EQ(conflicts(64, kWave32).bank_conflicts, 31u) << "as many ways as lanes, at most";
}

TEST(LdsBanks, ShareADwordThatSeveralLanesRead) {
  const LdsCost one = Lds(4, kWave64, [](uint64_t) { return 40; }).cost();
  EXPECT_EQ(one.cycles(), 2u);
  // Bytes of one dword are one dword.
  EXPECT_EQ(Lds(1, kWave32, [](uint64_t lane) { return lane; }).cost().cycles(), 1u);
  // Lane 5 asks bank 0 for another dword than lanes 0 to 4 share.
  const LdsCost mixed = Lds(4, 0x3f, [](uint64_t lane) { return lane == 5 ? 128 : 0; }).cost();
  EXPECT_EQ(mixed.bank_conflicts, 1u);
  EXPECT_EQ(mixed.conflicting, 0x3fu);
  EXPECT_EQ(mixed.worst_bank, 0u);
}

TEST(LdsBanks, NameTheBankAndTheLanesThatMeetThere) {
  // Lanes 3 and 7 meet at bank 9; the others have banks of their own.
  const LdsCost cost = Lds(4, 0xff, [](uint64_t lane) {
                         return lane == 3 ? 4u * 9 : lane == 7 ? 4u * 41 : 4 * lane;
                       }).cost();
  EXPECT_EQ(cost.bank_conflicts, 1u);
  EXPECT_EQ(cost.worst_bank, 9u);
  EXPECT_EQ(cost.conflicting, uint64_t{1} << 3 | uint64_t{1} << 7);
}

TEST(LdsBanks, ConflictOnlyInsideAPhase) {
  // Lanes 0 and 32 want different dwords of one bank, in different phases.
  EXPECT_EQ(Lds(4, uint64_t{1} << 32 | 1, [](uint64_t lane) { return 128 * lane; }).cost().cycles(),
            2u);
  // 8 bytes: lanes 0 and 16; 16 bytes stored: lanes 0 and 8.
  const auto same_bank = [](uint64_t lane) { return 128 * lane; };
  EXPECT_EQ(Lds(8, 0x10001, same_bank).cost().bank_conflicts, 0u);
  EXPECT_EQ(Lds(8, 0x8001, same_bank).cost().bank_conflicts, 1u);
  EXPECT_EQ(Lds(16, 0x101, same_bank, Access::kStore).cost().bank_conflicts, 0u);
  EXPECT_EQ(Lds(16, 0x81, same_bank, Access::kStore).cost().bank_conflicts, 1u);
}

TEST(LdsBanks, ServeWideLoadsInTheirOwnOrder) {
  const auto same_bank = [](uint64_t lane) { return 128 * lane; };
  const auto meet = [&](int a, int b) {
    return Lds(16, uint64_t{1} << a | uint64_t{1} << b, same_bank).cost().bank_conflicts == 1;
  };
  EXPECT_TRUE(meet(0, 3));
  EXPECT_TRUE(meet(0, 20));
  EXPECT_TRUE(meet(5, 19));
  EXPECT_TRUE(meet(11, 28));
  EXPECT_TRUE(meet(12, 27));
  EXPECT_TRUE(meet(32, 55));
  EXPECT_FALSE(meet(0, 4));
  EXPECT_FALSE(meet(0, 16));
  EXPECT_FALSE(meet(0, 32));
  for (int lane = 0; lane < 64; ++lane) {  // phases are a partition
    const uint64_t phase = lds_phase_of(lane, 16, true, 32);
    EXPECT_EQ(std::popcount(phase), 8);
    EXPECT_TRUE(phase >> lane & 1);
    for (int other = 0; other < 64; ++other) {
      if ((phase >> other & 1) == 0) continue;
      EXPECT_EQ(lds_phase_of(other, 16, true, 32), phase);
    }
  }
  EXPECT_EQ(Lds(16, kWave64, [](uint64_t lane) { return 16 * lane; }).cost().cycles(), 8u);
}

TEST(LdsBanks, CountAtomicsOnOneDwordApart) {
  const LdsCost same = Lds(
                           4, kWave32, [](uint64_t) { return 0; }, Access::kAtomic)
                           .cost();
  EXPECT_EQ(same.bank_conflicts, 0u);
  EXPECT_EQ(same.address_conflicts, 31u);
  // Four lanes on each of two dwords of one bank: two dwords, eight turns.
  const LdsCost both =
      Lds(
          4, 0xff, [](uint64_t lane) { return 128 * (lane % 2); }, Access::kAtomicReturn)
          .cost();
  EXPECT_EQ(both.bank_conflicts, 1u);
  EXPECT_EQ(both.address_conflicts, 6u);
  EXPECT_EQ(both.cycles(), 8u);
}

TEST(LdsBanks, LeaveOutPhasesWithoutLanes) {
  EXPECT_EQ(Lds(4, 0, [](uint64_t) { return 0; }).cost().cycles(), 0u);
  EXPECT_EQ(Lds(4, uint64_t{0xff} << 40, [](uint64_t lane) { return 4 * lane; }).cost().cycles(),
            1u);
}

TEST(LdsBanks, SpendACycleOnWhatAnUnalignedPhaseLeavesOver) {
  // 33 dwords for 32 lanes.
  EXPECT_EQ(Lds(4, kWave32, [](uint64_t lane) { return 4 * lane + 2; }).cost().bank_conflicts, 1u);
}

// Six ways to transpose 65536 × 256 halves through LDS, by tiles of 64 × 32 and workgroups of four waves:
// the layouts of Composable Kernel's tutorial on bank conflicts, whose authors measured
// SQ_LDS_BANK_CONFLICT on MI300.
struct Transpose {
  using Place = std::function<uint64_t(uint64_t m, uint64_t k)>;  // bytes
  using At = std::function<uint64_t(uint64_t wave, uint64_t lane, uint64_t step)>;

  Place place;
  uint32_t banks = 32;
  uint64_t conflicts = 0;

  void add(Access kind, uint32_t size_bytes, uint64_t steps, const At& at) {
    constexpr uint64_t kTiles = 65536 / 64 * (256 / 32);
    for (uint64_t wave = 0; wave < 4; ++wave)
      for (uint64_t step = 0; step < steps; ++step) {
        const auto where = [&](uint64_t lane) { return at(wave, lane, step); };
        conflicts += kTiles * Lds(size_bytes, kWave64, where, kind).cost(banks).bank_conflicts;
      }
  }
  // A lane has eight halves of one row; four lanes a row.
  void write_rows(uint32_t size_bytes) {
    add(Access::kStore, size_bytes, 16 / size_bytes,
        [&](uint64_t wave, uint64_t lane, uint64_t step) {
          return place(wave * 16 + lane / 4, lane % 4 * 8 + step * (size_bytes / 2));
        });
  }
  // A lane has eight halves of one column, eight lanes a column.
  void read_columns(uint32_t size_bytes) {
    add(Access::kLoad, size_bytes, 16 / size_bytes,
        [&](uint64_t wave, uint64_t lane, uint64_t step) {
          return place(lane % 8 * 8 + step * (size_bytes / 2), wave * 8 + lane / 8);
        });
  }
};

// Rows share a line of the banks, and their packs of eight halves are exchanged by an exclusive or.
Transpose::Place swizzled(uint64_t rows_per_line, uint64_t line_halves) {
  return [=](uint64_t m, uint64_t k) {
    const uint64_t line = m / rows_per_line;
    const uint64_t packs = rows_per_line * 4;
    const uint64_t pack = (m % rows_per_line * 4 + k / 8) ^ line % packs;
    return 2 * (line * line_halves + pack * 8 + k % 8);
  };
}

TEST(LdsBanks, ConflictAsMeasuredInSixWaysToTranspose) {
  Transpose rows{.place = [](uint64_t m, uint64_t k) { return 2 * (m * 32 + k); }};
  rows.write_rows(16);
  rows.read_columns(2);
  EXPECT_EQ(rows.conflicts, 3670016u);

  Transpose columns{.place = [](uint64_t m, uint64_t k) { return 2 * (k * 64 + m); }};
  columns.write_rows(2);
  columns.read_columns(16);
  EXPECT_EQ(columns.conflicts, 1572864u);

  // A dword more per row: no row begins at 16 bytes any more, and stores are two of two dwords.
  Transpose padded{.place = [](uint64_t m, uint64_t k) { return 2 * (m * 34 + k); }};
  padded.write_rows(4);
  padded.read_columns(2);
  EXPECT_EQ(padded.conflicts, 786432u);

  Transpose swizzled_and_padded{.place = swizzled(2, 66)};
  swizzled_and_padded.write_rows(16);
  swizzled_and_padded.read_columns(2);
  EXPECT_EQ(swizzled_and_padded.conflicts, 0u);

  // Each lane reads eight halves of one row, the lanes of a wave one column of packs.
  Transpose packs{.place = swizzled(2, 64)};
  packs.write_rows(16);
  packs.add(Access::kLoad, 16, 1,
            [&](uint64_t wave, uint64_t lane, uint64_t) { return packs.place(lane, wave * 8); });
  EXPECT_EQ(packs.conflicts, 0u);
}

// The sixth layout: as the fifth, read in halves, eight lanes to a row. With 64 banks, four rows
// share a line, and it is free, as was measured. With 32 banks the 64 lanes of a load ask eight banks
// for 32 dwords: four cycles, where two are free. The zero that is published for MI300 cannot be.
TEST(LdsBanks, AreFreeInTheSixthWayToTransposeWhereThereAre64) {
  for (const uint32_t banks : {32u, 64u}) {
    Transpose lanes_of_rows{.place = swizzled(banks / 16, banks * 2), .banks = banks};
    lanes_of_rows.write_rows(16);
    lanes_of_rows.add(Access::kLoad, 2, 8, [&](uint64_t wave, uint64_t lane, uint64_t step) {
      return lanes_of_rows.place(lane / 8 * 8 + step, wave * 8 + lane % 8);
    });
    EXPECT_EQ(lanes_of_rows.conflicts, banks == 64 ? 0u : 262144u * 2);
  }
}

}  // namespace
}  // namespace wavetap::emu
