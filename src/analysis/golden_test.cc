// autograd and graph against the outputs RPD's own tools made from the same files. Strings compare,
// never string ids; row order is not part of the contract.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "analysis/registry.h"
#include "store/sqlite.h"

namespace wavetap::analysis {
namespace {

using Row = std::vector<std::string>;

std::string golden_folder() {
  const char* named = std::getenv("WAVETAP_GOLDEN");
  return named != nullptr ? named : std::string(WT_SOURCE_DIR) + "/../shared/golden";
}

// RFC 4180 as far as the files use it.
std::multiset<Row> read_csv(const std::string& path, std::set<size_t> without = {}) {
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::multiset<Row> rows;
  Row row;
  std::string cell;
  bool quoted = false, header = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') cell += text[++i];
      else if (c == '"') quoted = false;
      else cell += c;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      row.push_back(std::exchange(cell, {}));
    } else if (c == '\n') {
      row.push_back(std::exchange(cell, {}));
      Row kept;
      for (size_t k = 0; k < row.size(); ++k)
        if (!without.contains(k)) kept.push_back(row[k]);
      if (!header) rows.insert(kept);
      header = false;
      row.clear();
    } else if (c != '\r') {
      cell += c;
    }
  }
  return rows;
}

std::string canonical(const std::string& cell) {
  char* rest = nullptr;
  const double value = std::strtod(cell.c_str(), &rest);
  if (cell.empty() || *rest != '\0') return cell;
  char text[64];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::multiset<Row> canonical(const std::multiset<Row>& rows) {
  std::multiset<Row> out;
  for (Row row : rows) {
    for (std::string& cell : row) cell = canonical(cell);
    out.insert(row);
  }
  return out;
}

std::multiset<Row> query(const std::string& path, const std::string& sql) {
  std::multiset<Row> rows;
  Result<store::Db> db = store::Db::open_read_only(path);
  EXPECT_TRUE(db.ok());
  Result<store::Stmt> stmt = db->prepare(sql);
  EXPECT_TRUE(stmt.ok()) << stmt.error().message;
  while (stmt->step()) {
    Row row;
    for (int i = 0; i < stmt->columns(); ++i) row.emplace_back(stmt->text(i));
    rows.insert(row);
  }
  return rows;
}

class Golden : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(golden_folder()))
      GTEST_SKIP() << "no reference traces at " << golden_folder();
  }
  void TearDown() override { std::filesystem::remove(copy_); }

  // Runs an analysis with --write on a copy of the named file.
  void write(const char* analysis, const std::string& file, bool compatible) {
    copy_ = (std::filesystem::temp_directory_path() /
             ("wavetap-golden-" + std::to_string(getpid()) + ".rpd"))
                .string();
    std::filesystem::copy_file(golden_folder() + "/" + file, copy_,
                               std::filesystem::copy_options::overwrite_existing);
    store::LoadOptions load;
    load.args = true;
    Result<store::Trace> trace = store::Trace::load(copy_, load);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    Options options;
    options.rpd_compatible = compatible;
    const Status status = (*find_analysis(analysis))->write(copy_, *trace, options);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  std::string copy_;
};

TEST_F(Golden, AutogradOperatorsAndKernels) {
  write("autograd", "vllm_part_v3.rpd", true);
  EXPECT_EQ(query(copy_, "select api_ptr_id, seq, op_id, sizes, input_op_ids from ext_autogradapi"),
            read_csv(golden_folder() + "/vllm_part_v3.ext_autogradapi.csv", {1}));
  EXPECT_EQ(
      canonical(query(
          copy_,
          "select autogradName, kernelName, sizes, calls, avg_gpu, total_gpu from autogradKernel")),
      canonical(read_csv(golden_folder() + "/vllm_part_v3.autogradKernel.csv")));
}

TEST_F(Golden, AutogradKernelsAreTheSameWithRootsPutRight) {
  write("autograd", "vllm_part_v3.rpd", false);
  EXPECT_EQ(
      canonical(query(
          copy_,
          "select autogradName, kernelName, sizes, calls, avg_gpu, total_gpu from autogradKernel")),
      canonical(read_csv(golden_folder() + "/vllm_part_v3.autogradKernel.csv")));
}

TEST_F(Golden, CallStackViews) {
  write("callstack", "vllm_part_v3.rpd", true);
  EXPECT_EQ(
      query(copy_,
            "select parent_id, apiName, args, cpu_time, gpu_time from callStack_inclusive_name"),
      read_csv(golden_folder() + "/vllm_part_v3.callStack_inclusive_name.csv"));
  EXPECT_EQ(
      query(copy_,
            "select parent_id, apiName, args, cpu_time, gpu_time from callStack_exclusive_name"),
      read_csv(golden_folder() + "/vllm_part_v3.callStack_exclusive_name.csv"));
}

TEST_F(Golden, GraphsOfSchemaTwoAndThree) {
  for (const char* file : {"graph_synth_v2.rpd", "graph_synth_v3_input.rpd"}) {
    write("graph", file, false);
    const std::string reference = golden_folder() + "/graph_synth_v2.";
    EXPECT_EQ(query(copy_, "select * from ext_graph"), read_csv(reference + "ext_graph.csv"))
        << file;
    EXPECT_EQ(query(copy_, "select * from ext_graph_kernelapis"),
              read_csv(reference + "ext_graph_kernelapis.csv"))
        << file;
    EXPECT_EQ(query(copy_, "select * from graphLaunch"), read_csv(reference + "graphLaunch.csv"))
        << file;
    EXPECT_EQ(query(copy_, "select * from graphKernel"), read_csv(reference + "graphKernel.csv"))
        << file;
  }
}

}  // namespace
}  // namespace wavetap::analysis
