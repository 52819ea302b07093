// The preloaded library in a program of its own: each case of preload_cases_main.cc under
// LD_PRELOAD.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/run_directory.h"
#include "vgpu/test_driver.h"

namespace wavetap::vgpu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLibrary[] = WT_BUILD_DIR "/lib/libwavetap_gpu.so";
#if defined(WT_SANITIZER_RUNTIME)
constexpr char kPreload[] = WT_SANITIZER_RUNTIME ":" WT_BUILD_DIR "/lib/libwavetap_gpu.so";
#else
constexpr const char* kPreload = kLibrary;
#endif
constexpr char kCases[] = WT_BUILD_DIR "/bin/preload_cases";

struct Outcome {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

// `run_dir` null: the variable is not set.
Outcome run_case(const char* what, const char* run_dir) {
  int pipe_fds[2];
  EXPECT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_fds[1], 1);
    ::dup2(pipe_fds[1], 2);
    ::close(pipe_fds[0]);
    ::close(pipe_fds[1]);
    ::setenv("LD_PRELOAD", kPreload, 1);
    if (run_dir != nullptr) ::setenv(kRunDirVariable, run_dir, 1);
    else ::unsetenv(kRunDirVariable);
    ::alarm(60);
    ::execl(kCases, kCases, what, nullptr);
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
  const Outcome outcome = run_case(GetParam(), dir.c_str());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Cases, PreloadTest,
                         ::testing::Values("paths", "pci-devices", "descriptors", "forks", "execs",
                                           "few-descriptors", "small-files", "clocks",
                                           "allocator-with-a-clock", "exit-from-thread",
                                           "use-at-exit"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Preload, KeepsGuardedReservationsApartWhateverIsInTheWay) {
#if defined(WT_SANITIZE_THREAD)
  // Who reserves in earnest is AMD's thunk, which is not instrumented.
  GTEST_SKIP()
      << "the thread sanitizer ends instrumented programs that map outside of its own places";
#endif
  const ScratchDirectory scratch;
  const std::string dir = scratch.path() + "/run";
  Config config = config_of({"rx6800xt"});
  config.guard_allocations = true;
  ASSERT_TRUE(write_run_dir(dir, config).ok());
  const Outcome outcome = run_case("guarded-reservations", dir.c_str());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, IsEmpty());
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (size_t count = 0; (count = ::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.append(buffer, count);
  ::pclose(pipe);
  return output;
}

TEST(Preload, ExportsWhatItInterposesAndNothingElse) {
  std::set<std::string> exported;
  std::istringstream symbols(output_of(std::string("nm -D --defined-only ") + kLibrary));
  for (std::string address, type, name; symbols >> address >> type >> name;) exported.insert(name);
  const std::string map =
      sys::read_file(WT_SOURCE_DIR "/src/vgpu/preload/exports.map").value_or("");
  std::set<std::string> meant;
  std::istringstream words(map.substr(0, map.find("local:")));
  for (std::string word; words >> word;)
    if (word.ends_with(";")) meant.insert(word.substr(0, word.size() - 1));
  ASSERT_GT(meant.size(), 50u);
#if defined(WT_SANITIZER_RUNTIME)
  meant.erase("dlsym");  // a sanitizer's runtime starts with it (CMakeLists.txt)
#endif
  EXPECT_EQ(exported, meant);
}

TEST(Preload, NeedsOnlyTheCLibrary) {
#if defined(WT_SANITIZER_RUNTIME)
  GTEST_SKIP() << "an instrumented library needs its sanitizer";
#endif
  std::istringstream lines(output_of(std::string("readelf -dW ") + kLibrary));
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    ++needed;
    const bool allowed = line.find("[libc.so") != std::string::npos ||
                         line.find("[libm.so") != std::string::npos ||
                         line.find("[ld-linux") != std::string::npos ||
                         line.find("[libdl.so") != std::string::npos ||
                         line.find("[libpthread.so") != std::string::npos;
    EXPECT_TRUE(allowed) << line;
  }
  EXPECT_GT(needed, 0);
}

TEST(Preload, IsInertWithoutARunDirectory) {
  const Outcome outcome = run_case("inert", nullptr);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, IsEmpty());
}

TEST(Preload, IsInertAndSaysSoOnceWithABrokenOne) {
  const ScratchDirectory scratch;
  const Outcome outcome = run_case("inert", scratch.path().c_str());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("not a run directory"));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
}

}  // namespace
}  // namespace wavetap::vgpu
