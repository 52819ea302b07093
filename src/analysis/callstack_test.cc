#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "analysis/callstack_tables.h"
#include "analysis/callstack_tree.h"
#include "analysis/registry.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::analysis {
namespace {

std::string golden_folder() {
  const char* named = std::getenv("WAVETAP_GOLDEN");
  return named != nullptr ? named : std::string(WT_SOURCE_DIR) + "/../shared/golden";
}

store::Trace calls(std::initializer_list<std::array<int64_t, 2>> spans) {
  store::Trace trace;
  trace.threads.push_back({1, 1});
  const store::Str name = trace.strings.intern("f");
  for (const auto& [start, end] : spans) {
    trace.apis.id.push_back(static_cast<int64_t>(trace.apis.id.size()) + 1);
    trace.apis.start.push_back(start);
    trace.apis.end.push_back(end);
    trace.apis.thread.push_back(0);
    trace.apis.name.push_back(name);
    trace.apis.domain.push_back(0);
    trace.apis.category.push_back(0);
  }
  return trace;
}

TEST(CallTree, ChargesTheRootForItsCallees) {
  const CallTree tree = build_call_tree(calls({{0, 20}, {5, 15}}));
  EXPECT_EQ(tree.parent[1], 0u);
  EXPECT_EQ(tree.cpu_self[0], 10);
  EXPECT_EQ(tree.cpu_self[1], 10);
}

TEST(CallTree, CallsThatTouchAreSiblings) {
  const CallTree tree = build_call_tree(calls({{0, 10}, {10, 20}}));
  EXPECT_EQ(tree.parent[1], store::kNoRow);
  EXPECT_EQ(tree.cpu_self[0], 10);
  EXPECT_EQ(tree.cpu_self[1], 10);
}

TEST(CallTree, CallsThatEndTogetherNest) {
  const CallTree tree = build_call_tree(calls({{0, 20}, {5, 20}}));
  EXPECT_EQ(tree.parent[1], 0u);
  EXPECT_EQ(tree.cpu_self[0], 5);
}

TEST(CallTree, OverlapWithoutNestingIsCountedAndKeptApart) {
  const CallTree tree = build_call_tree(calls({{0, 10}, {5, 15}}));
  EXPECT_EQ(tree.crossing, 1u);
  EXPECT_EQ(tree.parent[1], store::kNoRow);
  EXPECT_EQ(tree.cpu_self[0], 10);
}

TEST(CallTree, ZeroLengthCallInsideAnotherIsItsCallee) {
  const CallTree tree = build_call_tree(calls({{0, 10}, {4, 4}, {0, 0}}));
  EXPECT_EQ(tree.parent[1], 0u);
  EXPECT_EQ(tree.parent[2], 0u);
}

TEST(Callstack, DoesNotWriteATableThatGrowsWithTheSquareOfTheDepth) {
  store::Trace trace = calls({});
  const store::Str name = trace.strings.intern("f");
  constexpr int64_t kDepth = 40'000;
  for (int64_t i = 0; i < kDepth; ++i) {
    trace.apis.id.push_back(i + 1);
    trace.apis.start.push_back(i);
    trace.apis.end.push_back(3 * kDepth - i);
    trace.apis.thread.push_back(0);
    trace.apis.name.push_back(name);
    trace.apis.domain.push_back(0);
    trace.apis.category.push_back(0);
  }
  for (const bool compatible : {false, true}) {
    Options options;
    options.rpd_compatible = compatible;
    const Status written = write_callstack("no-such.rpd", trace, options);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().message.find("no-such.rpd: calls are nested so deeply that "
                                           "ext_callstack would have 800 020 000 rows"),
              0u)
        << written.error().message;
    // What needs no table is answered all the same.
    const Result<Report> report = (*find_analysis("callstack"))->run(trace, options);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(std::get<int64_t>(report->tables[0].rows[0][1]), kDepth);
  }
}

// (parent, child, depth, cpu, gpu) of ext_callstack.
using Pair = std::array<int64_t, 5>;

std::multiset<Pair> pairs_of(const std::string& path) {
  std::multiset<Pair> out;
  Result<store::Db> db = store::Db::open_read_only(path);
  if (!db.ok()) return out;
  Result<store::Stmt> stmt =
      db->prepare("select parent_id, child_id, depth, cpu_time, gpu_time from ext_callstack");
  if (!stmt.ok()) return out;
  while (stmt->step())
    out.insert({stmt->int64(0), stmt->int64(1), stmt->int64(2), stmt->int64(3), stmt->int64(4)});
  return out;
}

std::multiset<Pair> pairs_of_csv(const std::string& path) {
  std::multiset<Pair> out;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::vector<int64_t> values;
    while (std::getline(cells, cell, ',')) values.push_back(std::stoll(cell));
    out.insert({values[1], values[2], values[3], values[4], values[5]});
  }
  return out;
}

class GoldenCallstack : public testing::TestWithParam<const char*> {};

TEST_P(GoldenCallstack, EqualsTheReference) {
  const std::string source = golden_folder() + "/" + GetParam() + ".rpd";
  if (!std::filesystem::exists(source))
    GTEST_SKIP() << "no reference traces at " << golden_folder();
  const std::string copy = (std::filesystem::temp_directory_path() /
                            ("wavetap-callstack-" + std::to_string(getpid()) + ".rpd"))
                               .string();
  const std::multiset<Pair> expected =
      pairs_of_csv(golden_folder() + "/" + GetParam() + ".ext_callstack.csv");
  ASSERT_FALSE(expected.empty());

  std::filesystem::copy_file(source, copy, std::filesystem::copy_options::overwrite_existing);
  Result<store::Trace> trace = store::Trace::load(copy);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const Result<const Analysis*> found = find_analysis("callstack");
  ASSERT_TRUE(found.ok());
  const Analysis* callstack = *found;

  // Compatible: every row as RPD writes it.
  Options options;
  options.rpd_compatible = true;
  Status written = callstack->write(copy, *trace, options);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(pairs_of(copy), expected);

  // Right: the same but for the exclusive time of roots, so compare the rows of calls that have a
  // caller.
  options.rpd_compatible = false;
  written = callstack->write(copy, *trace, options);
  ASSERT_TRUE(written.ok()) << written.error().message;
  const CallTree tree = build_call_tree(*trace);
  const auto without_roots = [&](const std::multiset<Pair>& pairs) {
    std::multiset<Pair> out;
    for (const Pair& pair : pairs)
      if (tree.parent[trace->api_row(pair[1])] != store::kNoRow) out.insert(pair);
    return out;
  };
  EXPECT_EQ(without_roots(pairs_of(copy)), without_roots(expected));
  std::filesystem::remove(copy);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenCallstack,
                         testing::Values("matmul_result_v3", "matmul_result_large_v3",
                                         "vllm_part_v3"));

}  // namespace
}  // namespace wavetap::analysis
