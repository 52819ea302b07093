#include "optimize/rules.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace wavetap::optimize {
namespace {

std::string apply(const std::string& name, const std::string& source, const RuleFacts& facts) {
  for (const Rule& rule : rules())
    if (name == rule.name) return rule.apply(source, facts).value_or("");
  return "no such rule";
}

std::string transpose(const std::string& statement, const std::string& type = "float") {
  return "__global__ void transpose(" + type + "* out, const " + type +
         "* in, int n) {\n"
         "  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;\n  " +
         statement + "\n}\n";
}

const RuleFacts kSquare{"transpose", {16, 16, 1}};

TEST(Rules, ATileIsReadAndWrittenUnderTheConditionOfEachSide) {
  const std::string guarded =
      R"(__shared__ double tile[16][16 + 1];
  if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  {
    const int x = blockIdx.x * 16 + threadIdx.y, y = blockIdx.y * 16 + threadIdx.x;
    if (x < n && y < n) out[x * n + y] = tile[threadIdx.x][threadIdx.y];
  })";
  for (const char* statement : {"if (x < n && y < n) out[x * n + y] = in[y * n + x];",
                                "if (x < n && y < n) { out[x * n + y] = in[y * n + x]; }"})
    EXPECT_EQ(apply("tile", transpose(statement, "double"), kSquare), transpose(guarded, "double"));
}

TEST(Rules, ATileWithoutACondition) {
  const std::string made = apply("tile", transpose("out[x * n + y] = in[y * n + x];"), kSquare);
  EXPECT_NE(made.find("  tile[threadIdx.y][threadIdx.x] = in[y * n + x];\n"), std::string::npos);
  EXPECT_EQ(std::count(made.begin(), made.end(), '{'), std::count(made.begin(), made.end(), '}'));
}

TEST(Rules, ATileIsForTransposesOfSquareWorkgroups) {
  EXPECT_EQ(apply("tile", transpose("out[x * n + y] = in[x * n + y];"), kSquare), "");
  EXPECT_EQ(apply("tile", transpose("out[x * n + y] = in[y * n + x];"),
                  RuleFacts{"transpose", {32, 8, 1}}),
            "");
}

}  // namespace
}  // namespace wavetap::optimize
