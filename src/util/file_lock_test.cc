#include "util/file_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace wavetap::util {
namespace {

TEST(FileLock, IsOneProcesssAndEndsWithIt) {
  std::string folder = std::filesystem::temp_directory_path() / "wavetap.lock.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/lock";
  EXPECT_FALSE(is_locked_file(path));
  EXPECT_FALSE(std::filesystem::exists(path));
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Result<std::optional<ScopedFd>> lock = lock_file(path);
    const char byte = lock.ok() && lock->has_value() ? 1 : 0;
    (void)!write(ready[1], &byte, 1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 1);
  EXPECT_TRUE(is_locked_file(path));
  const Result<std::optional<ScopedFd>> second = lock_file(path);
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->has_value());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_locked_file(path));
  EXPECT_TRUE(lock_file(path)->has_value());
  EXPECT_FALSE(lock_file(folder + "/no/lock").ok());
  close(ready[0]);
  close(ready[1]);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wavetap::util
