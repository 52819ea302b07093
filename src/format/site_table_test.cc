#include "format/site_table.h"

#include <gtest/gtest.h>

namespace wavetap::format {
namespace {

SiteKernel example() {
  SiteKernel kernel;
  kernel.name = "_Z4copyPKiPi";
  kernel.wave_size = 32;
  Site block;
  block.type = "entry";
  block.successors = {1, 0};
  Site load;
  load.kind = SiteKind::kMemory;
  load.space = SiteSpace::kLds;
  load.access = SiteAccess::kAtomicReturn;
  load.bytes = 16;
  load.type = "4xfloat";
  load.frames = {{"operator()", "/a folder/x.h", 12, 3}, {"copy", "/k.hip", 40, 1}};
  kernel.sites = {block, load};
  kernel.unseen = {"a call through a pointer"};
  return kernel;
}

TEST(SiteTable, ReadsWhatItWrote) {
  const auto read = read_site_tables(write_site_table({example()}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const SiteKernel& kernel = read->at("_Z4copyPKiPi");
  EXPECT_EQ(kernel.wave_size, 32u);
  ASSERT_EQ(kernel.sites.size(), 2u);
  const Site& load = kernel.sites[1];
  EXPECT_EQ(load.kind, SiteKind::kMemory);
  EXPECT_EQ(load.space, SiteSpace::kLds);
  EXPECT_EQ(load.access, SiteAccess::kAtomicReturn);
  EXPECT_EQ(load.bytes, 16u);
  EXPECT_EQ(load.type, "4xfloat");
  ASSERT_EQ(load.frames.size(), 2u);
  EXPECT_EQ(load.frames[0].function, "operator()");
  EXPECT_EQ(load.frames[0].file, "/a folder/x.h");
  EXPECT_EQ(load.frames[1].line, 40u);
  EXPECT_EQ(kernel.sites[0].successors, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(kernel.unseen, std::vector<std::string>{"a call through a pointer"});
}

TEST(SiteTable, TablesOfSeveralFilesStandBehindEachOther) {
  SiteKernel other = example();
  other.name = "other";
  const auto read = read_site_tables(write_site_table({example()}) + std::string(3, '\0') +
                                     write_site_table({other, example()}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->size(), 2u);
  EXPECT_EQ(read->at("_Z4copyPKiPi").sites.size(), 2u);
}

TEST(SiteTable, EveryChangedByteIsNoticed) {
  const std::string good = write_site_table({example()});
  for (size_t i = 0; i + 1 < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(read_site_tables(bad).ok()) << "byte " << i;
  }
}

TEST(SiteTable, EveryCutIsNoticed) {
  const std::string good = write_site_table({example()});
  for (size_t size = 1; size < good.size(); ++size)
    EXPECT_FALSE(read_site_tables(std::string_view(good).substr(0, size)).ok()) << size;
}

TEST(SiteTable, ReadsTheVersionBefore) {
  const std::string table = write_site_table({example()});
  std::string before = table.substr(0, table.find("\nend ") + 1);
  before[std::string("wavetap-sites ").size()] = '2';
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : before) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char end[32];
  std::snprintf(end, sizeof end, "end %016llx\n", static_cast<unsigned long long>(hash));
  const auto read = read_site_tables(before + end);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->begin()->second.sites.size(), example().sites.size());
}

TEST(SiteTable, SaysWhichVersionItIs) {
  std::string newer = write_site_table({example()});
  newer[std::string("wavetap-sites ").size()] = '7';
  const auto read = read_site_tables(newer);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("version 7"), std::string::npos);
}

}  // namespace
}  // namespace wavetap::format
