#include "cli/run_dir.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
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

}  // namespace
}  // namespace wavetap::cli
