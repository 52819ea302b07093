#include "export/packed_columns.h"

#include <gtest/gtest.h>

namespace wavetap::exporter {
namespace {

std::string base64(std::string_view bytes) {
  Sink sink = Sink::in_memory();
  write_base64(bytes, sink);
  return std::string(sink.memory());
}

TEST(PackedColumns, Base64IsPadded) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xff\xfe"), "///+");
}

TEST(PackedColumns, NumbersTakeAsManyBytesAsTheyNeed) {
  PackedColumns columns;
  for (const uint64_t value : {0ull, 127ull, 128ull, 300ull, ~0ull}) columns.add(value);
  EXPECT_EQ(columns.bytes().size(), 1u + 1 + 2 + 2 + 10);
  EXPECT_EQ(columns.bytes().substr(2, 2), std::string("\x80\x01", 2));
}

}  // namespace
}  // namespace wavetap::exporter
