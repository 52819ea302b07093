#include "cli/elf_needs.h"

#include <gtest/gtest.h>

#include <random>

#include "util/file.h"

namespace wavetap::cli {
namespace {

TEST(ElfNeeds, ReadsTheLibrariesOfThisProgram) {
  const Result<std::vector<std::byte>> self = util::read_file("/proc/self/exe");
  ASSERT_TRUE(self.ok());
  const std::optional<ElfNeeds> needs = elf_needs(*self, "/some/where/program");
  ASSERT_TRUE(needs);
  EXPECT_EQ(needs->find("libc.so"), "libc.so.6");
  EXPECT_EQ(needs->find("libnothing.so"), "");
}

TEST(ElfNeeds, IsNothingForAScript) {
  const std::string script = "#!/bin/sh\nexit 0\n";
  EXPECT_FALSE(elf_needs(std::as_bytes(std::span(script)), "x"));
  EXPECT_FALSE(elf_needs({}, "x"));
}

TEST(ElfNeeds, SurvivesDamagedFiles) {
  const Result<std::vector<std::byte>> self = util::read_file("/proc/self/exe");
  ASSERT_TRUE(self.ok());
  std::vector<std::byte> head(self->begin(), self->begin() + 16384);
  std::mt19937 generator(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> damaged = head;
    for (int i = 0; i < 8; ++i) damaged[generator() % 1024] = static_cast<std::byte>(generator());
    (void)elf_needs(std::span(damaged).first(generator() % damaged.size()), "x");
  }
}

}  // namespace
}  // namespace wavetap::cli
