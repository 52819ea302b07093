#include "util/process_tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/isolated.h"

namespace wavetap::util {
namespace {

TEST(ProcessTree, CountsChildrenAndTheirChildren) {
  int ends[2], ready[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t second = fork();
    const pid_t third = second == 0 ? fork() : -1;
    char byte = 0;
    close(ends[1]);
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    (void)!read(ends[0], &byte, 1);  // until the test has closed its end
    if (third > 0) waitpid(third, nullptr, 0);
    if (second > 0) waitpid(second, nullptr, 0);
    _exit(0);
  }
  char bytes[3];
  for (char& byte : bytes) ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(has_more_descendants(child, 1));
  EXPECT_FALSE(has_more_descendants(child, 2));
  EXPECT_TRUE(has_more_descendants(getpid(), 2));
  close(ends[1]);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(has_more_descendants(child, 0));
  for (const int fd : {ends[0], ready[0], ready[1]}) close(fd);
}

TEST(ProcessTree, ACommandWithTooManyProcessesIsEnded) {
  ShellOptions options;
  options.processes = 20;
  const Result<ShellResult> ran =
      run_shell("i=0; while test $i -lt 40; do sleep 1000 & i=$((i+1)); done; wait", options);
  ASSERT_TRUE(ran.ok());
  EXPECT_TRUE(ran->is_crowd);
  EXPECT_FALSE(ran->timed_out);
  options.processes = 200;
  EXPECT_FALSE(run_shell("sleep 0.01 & sleep 0.01 & wait", options)->is_crowd);
}

}  // namespace
}  // namespace wavetap::util
