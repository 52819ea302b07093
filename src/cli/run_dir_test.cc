#include "cli/run_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace wavetap::cli {
namespace {

// TMPDIR for the time of a test; null: without one.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const char* path) {
    if (const char* old = getenv("TMPDIR"); old != nullptr) old_ = old;
    if (path != nullptr) setenv("TMPDIR", path, 1);
    else unsetenv("TMPDIR");
  }
  ~TemporaryFolder() {
    if (old_) setenv("TMPDIR", old_->c_str(), 1);
    else unsetenv("TMPDIR");
  }

 private:
  std::optional<std::string> old_;
};

// The folder in which a run directory is made. It must be gone afterwards.
std::string folder_of(RunDir::Use use) {
  std::string path;
  {
    const Result<RunDir> made = RunDir::create(use);
    if (!made.ok()) return made.error().message;
    path = made->path();
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  return path.substr(0, path.rfind('/'));
}

TEST(RunDir, SmallFilesAreInMemoryWhereThereIsAny) {
  const TemporaryFolder none(nullptr);
  EXPECT_EQ(folder_of(RunDir::Use::kAnyFiles), "/tmp");
  const std::string small = folder_of(RunDir::Use::kSmallFiles);
  if (access("/dev/shm", W_OK) == 0) EXPECT_TRUE(small == "/dev/shm" || small == "/tmp") << small;
  else EXPECT_EQ(small, "/tmp");
}

TEST(RunDir, TmpdirDecides) {
  char folder[] = "/tmp/run-dir-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  {
    const TemporaryFolder own(folder);
    EXPECT_EQ(folder_of(RunDir::Use::kAnyFiles), folder);
    EXPECT_EQ(folder_of(RunDir::Use::kSmallFiles), folder);
  }
  rmdir(folder);
}

TEST(RunDir, ProgramsThatGoElsewhereFindIt) {
  char folder[] = "/tmp/run-dir-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path("/tmp");
  {
    const TemporaryFolder own(folder + 5);
    EXPECT_EQ(folder_of(RunDir::Use::kAnyFiles), folder);
  }
  rmdir(folder);
  // Where it stands is gone: nothing is made in a place that nobody named.
  ASSERT_NE(mkdtemp(std::strcpy(folder, "/tmp/run-dir-test-XXXXXX")), nullptr);
  std::filesystem::current_path(folder);
  rmdir(folder);
  {
    const TemporaryFolder own("below");
    EXPECT_FALSE(RunDir::create().ok());
  }
  std::filesystem::current_path(before);
}

// A folder with a file in it, last touched a minute ago.
std::string folder_left_at(const std::string& path, mode_t mode) {
  std::filesystem::create_directory(path);
  std::ofstream(path + "/file") << "kept?";
  chmod(path.c_str(), mode);
  const timespec times[2] = {{time(nullptr) - 60, 0}, {time(nullptr) - 60, 0}};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
  return path;
}

TEST(RunDir, OnlyWhatADeadRunLeftIsRemoved) {
  char folder[] = "/tmp/run-dir-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string in = std::string(folder) + "/";
  const std::string left = folder_left_at(in + "wavetap-4711-aB3xYz", 0700);
  const std::string kept[] = {
      folder_left_at(in + "wavetap-results", 0700),       // somebody's own
      folder_left_at(in + "wavetap-2026-results", 0700),  //
      folder_left_at(in + "wavetap-4711-ab-xyz", 0700),   //
      folder_left_at(in + "wavetap--aB3xYz", 0700),       //
      folder_left_at(in + "wavetap-4711-aB3xY2", 0755),   // not how a run makes it
      folder_left_at(in + "wavetap-0", 0700),             // sockets of programs that are traced
  };
  {
    const TemporaryFolder own(folder);
    ASSERT_TRUE(RunDir::create().ok());
  }
  EXPECT_FALSE(std::filesystem::exists(left));
  for (const std::string& path : kept) EXPECT_TRUE(std::filesystem::exists(path + "/file")) << path;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wavetap::cli
