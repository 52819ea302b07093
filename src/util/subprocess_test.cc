#include "util/subprocess.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace wavetap::util {
namespace {

Command shell(const std::string& script) { return {{"sh", "-c", script}, {}}; }

TEST(Subprocess, HandsBackTheExitStatus) {
  EXPECT_EQ(*run_in_foreground(shell("exit 0")), 0);
  EXPECT_EQ(*run_in_foreground(shell("exit 42")), 42);
}

TEST(Subprocess, ReportsDeathBySignalAsTheShellDoes) {
  EXPECT_EQ(*run_in_foreground(shell("kill -SEGV $$")), 128 + SIGSEGV);
  EXPECT_EQ(*run_in_foreground(shell("kill -KILL $$")), 128 + SIGKILL);
}

TEST(Subprocess, NamesAProgramThatDoesNotExist) {
  const Result<int> missing = run_in_foreground({{"no-such-program-anywhere"}, {}});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("no-such-program-anywhere: not found in PATH"),
            std::string::npos);
  EXPECT_FALSE(run_in_foreground({{"/dev/null"}, {}}).ok());
}

TEST(Subprocess, AddsToTheEnvironmentOfTheChildOnly) {
  Command command = shell("test \"$WT_PROBE\" = yes");
  command.environment = {{"WT_PROBE", "yes"}};
  EXPECT_EQ(*run_in_foreground(command), 0);
  EXPECT_EQ(std::getenv("WT_PROBE"), nullptr);
}

TEST(Subprocess, PassesASignalOnAndWaitsForTheChildsAnswer) {
  // A helper process signals us while the child runs; the child turns the signal into status 7.
  const pid_t self = getpid();
  const pid_t helper = fork();
  if (helper == 0) {
    usleep(300'000);
    kill(self, SIGTERM);
    _exit(0);
  }
  const Result<int> status =
      run_in_foreground(shell("trap 'exit 7' TERM; while :; do sleep 0.05; done"));
  waitpid(helper, nullptr, 0);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(*status, 7);
}

// Whether the program, which holds the pipe open as long as it lives, is gone after its caller was killed.
bool ends_with_its_caller() {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t caller = fork();
  if (caller == 0) {
    close(ends[0]);
    Command command = shell("echo >&" + std::to_string(ends[1]) + "; exec sleep 30");
    command.ends_with_us = true;
    (void)run_in_foreground(command);
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  const bool has_started = read(ends[0], &byte, 1) == 1;
  kill(caller, SIGKILL);
  waitpid(caller, nullptr, 0);
  pollfd polled{ends[0], POLLIN, 0};
  const bool is_gone = has_started && poll(&polled, 1, 20'000) == 1;
  close(ends[0]);
  return is_gone;
}

TEST(Subprocess, EndsWithAKilledCallerWhenAskedTo) { EXPECT_TRUE(ends_with_its_caller()); }

// What the kernel says of a program's layout: 0 when its libraries lie elsewhere each time.
int fixed_layout_of(Command command) {
  const int before = personality(0xffffffff);
  personality(static_cast<unsigned>(before) | ADDR_NO_RANDOMIZE);
  const Result<int> status = run_in_foreground(command);
  personality(static_cast<unsigned>(before));
  return status.ok() ? *status : -1;
}

TEST(Subprocess, GivesALayoutOfItsOwnWhenAskedTo) {
  Command command = shell("exit $((0x$(cat /proc/self/personality) & 0x40000 ? 1 : 0))");
  EXPECT_EQ(fixed_layout_of(command), 1);
  command.random_layout = true;
  EXPECT_EQ(fixed_layout_of(command), 0);
}

TEST(Subprocess, LeavesTheSignalMaskAsItWas) {
  sigset_t before, after;
  sigprocmask(SIG_BLOCK, nullptr, &before);
  (void)run_in_foreground(shell(":"));
  sigprocmask(SIG_BLOCK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

TEST(Subprocess, CollectsOutputUpToTheLimit) {
  EXPECT_EQ(*output_of(shell("printf hello")), "hello");
  EXPECT_EQ(output_of(shell("yes | head -c 100000"), 10)->size(), 10u);
  EXPECT_FALSE(output_of(shell("exit 3")).ok());
}

}  // namespace
}  // namespace wavetap::util
