// The preloaded library in a program of its own: each case of preload_probe_main.cc under LD_PRELOAD.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/vgpu_test_support.h"

namespace wavetap::vgpu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLibrary[] = WT_BUILD_DIR "/lib/libwavetap_gpu.so";
constexpr char kProbe[] = WT_BUILD_DIR "/bin/preload_probe";

struct Outcome {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

// `run_dir` null: the variable is not set.
Outcome probe(const char* what, const char* run_dir) {
  int pipe_fds[2];
  EXPECT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_fds[1], 1);
    ::dup2(pipe_fds[1], 2);
    ::close(pipe_fds[0]);
    ::close(pipe_fds[1]);
    ::setenv("LD_PRELOAD", kLibrary, 1);
    if (run_dir != nullptr)
      ::setenv(kRunDirVariable, run_dir, 1);
    else
      ::unsetenv(kRunDirVariable);
    ::alarm(60);
    ::execl(kProbe, kProbe, what, nullptr);
    ::_exit(127);
  }
  ::close(pipe_fds[1]);
  Outcome outcome;
  char buffer[1024];
  for (ssize_t count = 0; (count = ::read(pipe_fds[0], buffer, sizeof buffer)) > 0;)
    outcome.output.append(buffer, static_cast<size_t>(count));
  ::close(pipe_fds[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return outcome;
}

class PreloadTest : public ::testing::TestWithParam<const char*> {};

TEST_P(PreloadTest, BehavesLikeADevice) {
  const ScratchDirectory scratch;
  const std::string dir = scratch.path() + "/run";
  ASSERT_TRUE(write_run_dir(dir, config_of({"rx6800xt", "mi210"})).ok());
  const Outcome outcome = probe(GetParam(), dir.c_str());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Cases, PreloadTest,
                         ::testing::Values("paths", "descriptors", "forks", "execs", "few-descriptors", "small-files",
                                           "exit-from-thread", "use-at-exit"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Preload, IsInertWithoutARunDirectory) {
  const Outcome outcome = probe("inert", nullptr);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, IsEmpty());
}

TEST(Preload, IsInertAndSaysSoOnceWithABrokenOne) {
  const ScratchDirectory scratch;
  const Outcome outcome = probe("inert", scratch.path().c_str());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("not a run directory"));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
}

}  // namespace
}  // namespace wavetap::vgpu
