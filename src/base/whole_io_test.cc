#include "base/whole_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace wavetap {
namespace {

TEST(WholeIo, GoesOnWhereThePipeIsFullOrEmpty) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string sent(1 << 20, 'x');  // a pipe holds 64 KiB
  bool written = false;
  std::thread writer([&] {
    written = sys::write_whole(ends[1], sent);
    ::close(ends[1]);
  });
  std::string got(sent.size(), ' ');
  EXPECT_TRUE(sys::read_whole(ends[0], got.data(), got.size()));
  writer.join();
  EXPECT_TRUE(written);
  EXPECT_EQ(got, sent);
  char more;
  EXPECT_FALSE(sys::read_whole(ends[0], &more, 1)) << "the end";
  ::close(ends[0]);
}

TEST(WholeIo, SaysWhatCannotBeWrittenOrRead) {
  const int fd = ::open("/dev/full", O_RDWR);
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(sys::write_whole(fd, "a"));
  ::close(fd);
  char byte;
  EXPECT_FALSE(sys::write_whole(-1, "a"));
  EXPECT_FALSE(sys::read_whole(-1, &byte, 1));
  EXPECT_TRUE(sys::write_whole(-1, "")) << "nothing is easily written";
}

}  // namespace
}  // namespace wavetap
