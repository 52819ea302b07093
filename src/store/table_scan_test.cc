// Whatever SQLite stores in a plain table, the scan of its pages reads the same; what is not plain
// is refused.
#include "store/table_scan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace wavetap::store {
namespace {

class TableScanTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             ("table_scan_test." + std::to_string(getpid()) + ".db"))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Db make(const std::string& sql, const char* pragmas = "") {
    Result<Db> db = Db::create(path_);
    EXPECT_TRUE(db.ok());
    Status status = db->exec(pragmas);
    if (status.ok()) status = db->exec(sql);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return std::move(*db);
  }

  // Every row as text, by the scan and by SQLite.
  static std::string scanned(Db& db, std::span<const char* const> columns,
                             size_t* parts = nullptr) {
    Result<TableScan> scan = TableScan::open(db, "t", columns);
    if (!scan.ok()) return "refused: " + scan.error().message;
    std::string out;
    size_t expected = 0;
    for (size_t part = 0; part < scan->parts(); ++part) {
      EXPECT_EQ(scan->first_row_of_part(part), expected);
      const Status status = scan->run(part, [&](size_t number, const ScanRow& row) {
        EXPECT_EQ(number, expected++);
        for (int i = 0; i < static_cast<int>(columns.size()); ++i)
          out += std::to_string(row.int64(i)) + "=" + std::string(row.text(i)) + "|";
        out += "\n";
      });
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
    EXPECT_EQ(expected, scan->rows());
    if (parts != nullptr) *parts = scan->parts();
    return out;
  }
  static std::string asked(Db& db, std::span<const char* const> columns) {
    std::string list;
    for (const char* column : columns) list += (list.empty() ? "" : ", ") + std::string(column);
    Result<Stmt> stmt = db.prepare("select " + list + " from t order by rowid");
    EXPECT_TRUE(stmt.ok());
    std::string out;
    while (stmt->step()) {
      for (int i = 0; i < stmt->columns(); ++i)
        out += std::to_string(stmt->int64(i)) + "=" + std::string(stmt->text(i)) + "|";
      out += "\n";
    }
    return out;
  }

  std::string path_;
};

constexpr const char* kAll[] = {"id", "a", "b"};

TEST_F(TableScanTest, ReadsEveryKindOfValueAsSqliteDoes) {
  Db db = make(
      "create table t (id integer primary key, a, b text);"
      "insert into t values (1, 0, ''), (2, 1, 'x'), (3, -1, null), (4, 127, '12abc'), (5, 32768, "
      "'-7'), (6, "
      "-8388609, 'é'),"
      "(7, 2147483648, x'00ff'), (8, 140737488355328, '  9'), (9, 9223372036854775807, 'z'), (10, "
      "-9223372036854775807, 5),"
      "(11, null, 'n'), (12, 1.5, 2.5), (13, -2e30, 'e'), (14, 1e30, 'f'), (-5, 3, 'negative id'), "
      "(9223372036854775806, 1, 'big id')");
  EXPECT_EQ(scanned(db, kAll), asked(db, kAll));
}

TEST_F(TableScanTest, ReadsTextsThatNeedManyPages) {
  Db db = make(
      "create table t (id integer primary key, a, b text);"
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60)"
      "insert into t select i, i, printf('%.*c', i * i * 40, char(64 + i % 26)) from n",
      "pragma page_size = 512");
  EXPECT_EQ(scanned(db, kAll), asked(db, kAll));
}

TEST_F(TableScanTest, CutsLargeTablesIntoPartsAndKeepsTheOrder) {
  Db db = make(
      "create table t (id integer primary key, a, b text);"
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)"
      "insert into t select i * 3, i % 7, 'row ' || i from n");
  size_t parts = 0;
  EXPECT_EQ(scanned(db, kAll, &parts), asked(db, kAll));
  if (std::thread::hardware_concurrency() > 1) {
    EXPECT_GT(parts, 1u);
  }
}

TEST_F(TableScanTest, AKeyThatIsNotTheRowNumberIsReadFromTheRow) {
  Db db = make(
      "create table t (id bigint primary key, a, b text); insert into t values (50, 1, 'x'), (40, "
      "2, 'y')");
  EXPECT_EQ(scanned(db, kAll), asked(db, kAll));
}

TEST_F(TableScanTest, AnEmptyTableHasNoRows) {
  Db db = make("create table t (id integer primary key, a, b text)");
  EXPECT_EQ(scanned(db, kAll), "");
}

TEST_F(TableScanTest, RefusesWhatIsNotAPlainTable) {
  const std::pair<const char*, const char*> cases[] = {
      {"create table t (id integer primary key, a, b) without rowid; insert into t values (1, 2, "
       "3)",
       ""},
      {"create table t (id integer primary key, a, b as (a + 1)); insert into t values (1, 2)", ""},
      {"create view t as select 1 as id, 2 as a, 3 as b", ""},
      {"create table t (id integer primary key, a)", ""},
      {"create table t (id integer primary key, a, b)", "pragma encoding = 'UTF-16le'"},
      {"create table t (id integer primary key, a, b)", "pragma journal_mode = wal"},
  };
  for (const auto& [sql, pragmas] : cases) {
    Db db = make(sql, pragmas);
    EXPECT_TRUE(scanned(db, kAll).starts_with("refused: ")) << sql << pragmas;
    db = Db();
    TearDown();
  }
}

TEST_F(TableScanTest, RefusesRowsFromBeforeAColumnWasAdded) {
  Db db = make(
      "create table t (id integer primary key, a); insert into t values (1, 2); alter table t add "
      "column b "
      "default 9");
  Result<TableScan> scan = TableScan::open(db, "t", kAll);
  ASSERT_TRUE(scan.ok());
  EXPECT_FALSE(scan->run(0, [](size_t, const ScanRow&) {}).ok());
}

}  // namespace
}  // namespace wavetap::store
