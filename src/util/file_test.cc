#include "util/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/scoped_fd.h"

namespace wavetap::util {
namespace {

class FileTest : public ::testing::Test {
 protected:
  FileTest() : folder_(mkdtemp(template_)) {}
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }

  char template_[32] = "/tmp/file_test.XXXXXX";
  std::string folder_;
};

TEST_F(FileTest, ReplacesARegularFile) {
  ASSERT_TRUE(write_file(path("file"), "old").ok());
  ASSERT_TRUE(write_file(path("file"), "new").ok());
  const auto bytes = read_file(path("file"));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->size(), 3u);
  EXPECT_FALSE(is_special(path("file")));
  EXPECT_FALSE(is_special(path("missing")));
  EXPECT_FALSE(is_special(folder_));
}

TEST_F(FileTest, WritesNothingAsAnEmptyFile) {
  ASSERT_TRUE(write_file(path("file"), "old").ok());
  ASSERT_TRUE(write_file(path("file"), std::string_view()).ok());
  const auto bytes = read_file(path("file"));
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(bytes->empty());
}

// As root, /dev/null would have become a file.
TEST_F(FileTest, WritesIntoASpecialFileAndLeavesItOne) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const ScopedFd reader(open(path("pipe").c_str(), O_RDWR | O_NONBLOCK));
  ASSERT_TRUE(reader.valid());
  EXPECT_TRUE(is_special(path("pipe")));
  ASSERT_TRUE(write_file(path("pipe"), "text").ok());
  char text[8] = {};
  EXPECT_EQ(read(reader.get(), text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  EXPECT_TRUE(is_special(path("pipe")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, SaysWhatToDoWhereThereIsNoRoom) {
  const Status full = write_file("/dev/full", "text");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message,
            "/dev/full: No space left on device; free some space or choose another place");
  const Status nowhere = write_file(path("nowhere/file"), "text");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().message,
            path("nowhere/file") + ": No such file or directory; choose a writable place");
}

TEST_F(FileTest, KnowsBeforehandWhereAFileCannotBeWritten) {
  EXPECT_TRUE(check_writable(path("new")).ok());
  EXPECT_FALSE(std::filesystem::exists(path("new"))) << "it only asks";
  ASSERT_TRUE(write_file(path("file"), "old").ok());
  EXPECT_TRUE(check_writable(path("file")).ok());
  EXPECT_TRUE(check_writable("/dev/null").ok());
  EXPECT_FALSE(check_writable(folder_).ok());
  EXPECT_FALSE(check_writable(path("nowhere/file")).ok());
}

}  // namespace
}  // namespace wavetap::util
