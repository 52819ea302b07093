#include "util/table.h"

#include <gtest/gtest.h>

#include "util/text.h"

namespace wavetap::util {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoTrailingSpaces) {
  Table table({{"NAME"}, {"CUs", Align::kRight}, {"NOTE"}});
  table.add({"rx6800xt", "72", ""});
  table.add({"mi300x", "304", "large"});
  EXPECT_EQ(table.text(80),
            "NAME      CUs  NOTE\n"
            "rx6800xt   72\n"
            "mi300x    304  large\n");
}

TEST(Table, ShrinksOnlyTheColumnThatMay) {
  Table table({{"KERNEL", Align::kLeft, true}, {"COUNT", Align::kRight}});
  table.add({std::string(200, 'k'), "7"});
  const std::string text = table.text(40);
  for (const std::string& line : split(text, '\n')) EXPECT_LE(display_width(line), 40u);
  EXPECT_NE(text.find("…"), std::string::npos);
  EXPECT_NE(text.find("      7\n"), std::string::npos);
}

TEST(Table, KeepsTheEndOfPlaces) {
  Table table({{"  WHERE", Align::kLeft, true}, {"COUNT", Align::kRight}});
  table.add({"  länge/kernels.hip:1234", "7"});
  table.add({"  a.hip:1", "70"});
  EXPECT_EQ(table.text(20),
            "  WHERE        COUNT\n"
            "  …s.hip:1234      7\n"
            "  a.hip:1         70\n");
}

TEST(Table, KeepsTheBeginOfSentencesThatEndWithAPlace) {
  Table table({{"MARKER", Align::kLeft, /*may_shrink=*/true}});
  table.add({"leak: 64 bytes were never freed; host.hip:12"});
  EXPECT_EQ(table.text(20), "MARKER\nleak: 64 bytes were…\n");
}

TEST(Table, MeasuresUtf8ByCells) {
  Table table({{"A"}, {"B"}});
  table.add({"ü", "x"});
  table.add({"uu", "y"});
  EXPECT_EQ(table.text(0), "A   B\nü   x\nuu  y\n");
}

}  // namespace
}  // namespace wavetap::util
