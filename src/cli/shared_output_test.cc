#include "cli/shared_output.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace wavetap::cli {
namespace {

// While it lives no file takes a byte, as on a disk that is full.
class NoRoom {
 public:
  NoRoom() : on_signal_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoom() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, on_signal_);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  void (*on_signal_)(int);
  rlimit before_{};
};

class SharedOutputTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string trace() const { return std::string(folder_) + "/trace.rpd"; }
  bool has_lock() const { return std::filesystem::exists(trace() + ".lock"); }
  std::string text_of_lock() const {
    std::ifstream file(trace() + ".lock");
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  char folder_[32] = "/tmp/shared-output-XXXXXX";
};

TEST_F(SharedOutputTest, TheLockFileGoesWithTheLastRun) {
  {
    std::optional<SharedOutput> first = SharedOutput::join(trace(), false);
    const SharedOutput second = SharedOutput::join(trace(), false);
    EXPECT_EQ(first->problem() + second.problem(), "");
    first.reset();
    EXPECT_TRUE(has_lock());
  }
  EXPECT_FALSE(has_lock());
}

TEST_F(SharedOutputTest, AFullDiskLeavesNoLockFile) {
  const NoRoom full;
  const SharedOutput output = SharedOutput::join(trace(), false);
  EXPECT_NE(output.problem().find("trace.rpd.lock: cannot be locked"), std::string::npos);
  EXPECT_NE(output.problem().find("File too large"), std::string::npos) << output.problem();
  EXPECT_FALSE(has_lock());
}

TEST_F(SharedOutputTest, AFullDiskTakesNothingFromTheRunsThatAreUnderWay) {
  const SharedOutput first = SharedOutput::join(trace(), false);
  const std::string generation = text_of_lock();
  EXPECT_FALSE(generation.empty());
  {
    const NoRoom full;
    EXPECT_NE(SharedOutput::join(trace(), /*append=*/true).problem(), "");
  }
  EXPECT_EQ(text_of_lock(), generation);
}

}  // namespace
}  // namespace wavetap::cli
