#include "sanitize/kinds.h"

#include <gtest/gtest.h>

#include <set>

namespace wavetap::sanitize::kinds_test {
namespace {

TEST(ToolSet, TakesAListOfNamesAndRefusesOthers) {
  for (const ToolRow& row : tool_rows()) {
    const Result<ToolSet> one = ToolSet::parse(row.name);
    ASSERT_TRUE(one.ok());
    EXPECT_TRUE(one->has(row.tool));
    EXPECT_EQ(one->names(), row.name);
  }
  std::string all;
  for (const ToolRow& row : tool_rows()) all += (all.empty() ? "" : ",") + std::string(row.name);
  EXPECT_EQ(ToolSet::parse(all)->names(), all);
  EXPECT_EQ(ToolSet::parse("")->names(), ToolSet::defaults().names());
  for (const char* wrong :
       {"lintcheck", "memcheck,", ",memcheck", "memcheck, memcheck", "Memcheck"})
    EXPECT_FALSE(ToolSet::parse(wrong).ok()) << wrong;
}

TEST(ToolSet, ACaptureHasNoCallsToLookAt) {
  const ToolSet program = ToolSet::defaults();
  const ToolSet dispatch = ToolSet::dispatch_defaults();
  for (const ToolRow& row : tool_rows()) {
    EXPECT_EQ(program.has(row.tool), row.is_default) << row.name;
    EXPECT_EQ(dispatch.has(row.tool), row.is_default && row.watches_dispatches) << row.name;
  }
  EXPECT_TRUE(program.has(Tool::kLeakcheck));
  EXPECT_FALSE(program.has(Tool::kFpcheck));
}

TEST(Kinds, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const KindRow& row : kind_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&row_of(row.kind), &row);
  }
  EXPECT_EQ(names.size(), kKinds);
}

}  // namespace
}  // namespace wavetap::sanitize::kinds_test
