#include "store/bulk_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "format/test_writer.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

using format::test::TestFolder;

class Bulk : public testing::Test {
 protected:
  Bulk() : folder_("bulk"), path_(folder_.file("bulk.db")) {
    Result<Db> db = Db::create(path_);
    EXPECT_TRUE(db.ok());
    EXPECT_TRUE(
        db->exec(
              "create table t (id integer not null primary key autoincrement, n integer, s text);"
              "create table k (x bigint not null primary key, y real, b blob);"
              "create table untouched (id integer primary key)")
            .ok());
  }

  Db finish(BulkWriter& bulk) {
    const Status status = bulk.finish();
    EXPECT_TRUE(status.ok()) << status.error().message;
    Result<Db> db = Db::open_read_write(path_);
    EXPECT_TRUE(db.ok()) << db.error().message;
    Result<Stmt> check = db->prepare("pragma integrity_check");
    EXPECT_TRUE(check->step());
    EXPECT_EQ(check->text(0), "ok");
    return std::move(*db);
  }

  TestFolder folder_;
  std::string path_;
};

TEST_F(Bulk, EveryIntegerWidthComesBack) {
  const std::vector<int64_t> values = {0,
                                       1,
                                       -1,
                                       2,
                                       127,
                                       128,
                                       -128,
                                       -129,
                                       32767,
                                       32768,
                                       -32768,
                                       -32769,
                                       8388607,
                                       8388608,
                                       -8388608,
                                       -8388609,
                                       2147483647,
                                       2147483648,
                                       -2147483648LL,
                                       -2147483649LL,
                                       140737488355327,
                                       140737488355328,
                                       -140737488355328,
                                       -140737488355329,
                                       INT64_MAX,
                                       INT64_MIN};
  Result<BulkWriter> bulk = BulkWriter::open(path_);
  ASSERT_TRUE(bulk.ok());
  BulkTable* table = bulk->table("t");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(bulk->table("nothing"), nullptr);
  for (size_t i = 0; i < values.size(); ++i) {
    table->begin(static_cast<int64_t>(i) + 1);
    table->null();
    table->integer(values[i]);
    table->text(std::to_string(values[i]));
    table->end();
  }
  Db db = finish(*bulk);
  Result<Stmt> rows = db.prepare("select n, s from t order by id");
  for (const int64_t value : values) {
    ASSERT_TRUE(rows->step());
    EXPECT_EQ(rows->int64(0), value);
    EXPECT_EQ(rows->text(1), std::to_string(value));
  }
  EXPECT_FALSE(rows->step());
  // Numbering goes on behind the last row.
  ASSERT_TRUE(db.exec("insert into t (n) values (5)").ok());
  EXPECT_EQ(*db.query_int("select max(id) from t"), static_cast<int64_t>(values.size()) + 1);
}

// Three levels of pages, rowids of every length, a key column with an index of its own.
TEST_F(Bulk, ManyRowsMakeASoundTree) {
  Result<BulkWriter> bulk = BulkWriter::open(path_);
  ASSERT_TRUE(bulk.ok());
  BulkTable* t = bulk->table("t");
  BulkTable* k = bulk->table("k");
  constexpr int kRows = 200'000;
  for (int i = 0; i < kRows; ++i) {
    t->begin((int64_t{1} << (i * 40 / kRows)) + i);
    t->null();
    t->integer(i);
    t->text("a text that makes the row longer so that the tree gets deeper, with a number: " +
            std::to_string(i));
    t->end();
    k->begin(i + 1);
    k->integer(int64_t{i} << 20);
    k->real(i / 2.0);
    k->blob(&i, sizeof i);
    k->end();
  }
  EXPECT_EQ(t->rows(), uint64_t{kRows});
  Db db = finish(*bulk);
  EXPECT_EQ(*db.query_int("select count(*) from t"), kRows);
  EXPECT_EQ(*db.query_int("select sum(n) from t"), int64_t{kRows} * (kRows - 1) / 2);
  EXPECT_EQ(*db.query_int("select count(*) from t where s like '%: ' || n"), kRows);
  EXPECT_EQ(*db.query_int("select rowid from k where x = 77777 * 1048576"), 77778);
  EXPECT_EQ(*db.query_int("select sum(y * 2) from k"), int64_t{kRows} * (kRows - 1) / 2);
}

TEST_F(Bulk, LongTextsGoToOverflowPages) {
  Result<BulkWriter> bulk = BulkWriter::open(path_);
  ASSERT_TRUE(bulk.ok());
  BulkTable* t = bulk->table("t");
  std::vector<size_t> sizes;
  for (size_t size : {0, 60, 4000, 4040, 4050, 4055, 4056, 4057, 4060, 4070, 4096, 4570, 8000, 8140,
                      8150, 12345, 100'000, 1'000'000})
    sizes.push_back(size);
  for (size_t i = 0; i < sizes.size(); ++i) {
    t->begin(static_cast<int64_t>(i) + 1);
    t->null();
    t->integer(static_cast<int64_t>(sizes[i]));
    t->text(std::string(sizes[i], static_cast<char>('a' + i)));
    t->end();
  }
  Db db = finish(*bulk);
  for (size_t i = 0; i < sizes.size(); ++i) {
    Result<Stmt> row = db.prepare("select s from t where id = " + std::to_string(i + 1));
    ASSERT_TRUE(row->step());
    EXPECT_EQ(row->text(0), std::string(sizes[i], static_cast<char>('a' + i)));
  }
}

TEST_F(Bulk, NothingWrittenLeavesTheDatabaseAsItWas) {
  Result<BulkWriter> bulk = BulkWriter::open(path_);
  ASSERT_TRUE(bulk.ok());
  (void)bulk->table("t");
  Db db = finish(*bulk);
  EXPECT_EQ(*db.query_int("select count(*) from t"), 0);
}

// The page of the lock byte, at 1 GiB, must be skipped; a sparse file gets there without writing so
// much.
TEST_F(Bulk, TheLockPageIsNeverUsed) {
  const uint32_t before_lock = (1u << 30) / kPageBytes - 20;
  ASSERT_EQ(truncate(path_.c_str(), off_t{before_lock} * static_cast<off_t>(kPageBytes)), 0);
  Result<BulkWriter> bulk = BulkWriter::open(path_);
  ASSERT_TRUE(bulk.ok());
  BulkTable* t = bulk->table("t");
  for (int i = 1; i <= 4000; ++i) {
    t->begin(i);
    t->null();
    t->integer(i);
    t->text("some text for row " + std::to_string(i));
    t->end();
  }
  ASSERT_TRUE(bulk->finish().ok());
  Result<Db> db = Db::open_read_only(path_);
  ASSERT_TRUE(db.ok());
  // The pages of the hole belong to nobody, which integrity_check would say; the rows must be
  // right.
  EXPECT_EQ(*db->query_int("select sum(n) from t"), 4000 * 4001 / 2);
  EXPECT_EQ(*db->query_int("select count(*) from t where s = 'some text for row ' || id"), 4000);
}

// Indexes of every size around the capacities of pages, keys in and out of order, equal keys.
TEST_F(Bulk, IndexesOfIntegersAreFilledToo) {
  for (const int rows : {0, 1, 2, 240, 255, 290, 291, 292, 293, 294, 500, 583, 584, 585, 586, 5000,
                         60'000, 200'000}) {
    SCOPED_TRACE(rows);
    std::filesystem::remove(path_);
    {
      Result<Db> db = Db::create(path_);
      ASSERT_TRUE(
          db->exec(
                "create table t (id integer primary key, up integer, down bigint, few int unique, "
                "s text);"
                "create index up on t (up); create index down on t (down); create index s on t (s);"
                "create index late on t (up) where up > 3; create index both on t (up, down)")
              .ok());
    }
    Result<BulkWriter> bulk = BulkWriter::open(path_);
    ASSERT_TRUE(bulk.ok()) << bulk.error().message;
    BulkTable* t = bulk->table("t");
    for (int i = 0; i < rows; ++i) {
      t->begin(i + 1);
      t->null();
      t->integer(i / 3);
      t->integer((int64_t{rows} - i) << (i % 40));
      t->integer(i * int64_t{7919} % 1'000'003);
      t->text(std::to_string(i));
      t->end();
    }
    ASSERT_TRUE(bulk->finish().ok());
    Result<Db> db = Db::open_read_only(path_);
    Result<Stmt> check = db->prepare("pragma integrity_check");
    ASSERT_TRUE(check->step());
    EXPECT_EQ(check->text(0), "ok");
    EXPECT_EQ(*db->query_int("select count(*) from t indexed by up where up >= 0"), rows);
    EXPECT_EQ(*db->query_int("select count(*) from t indexed by down where down > 0"), rows);
  }
}

TEST_F(Bulk, AnIndexOfOtherValuesIsSqlitesBusiness) {
  {
    Result<Db> db = Db::open_read_write(path_);
    ASSERT_TRUE(db->exec("create index n on t (n)").ok());
  }
  Result<BulkWriter> bulk = BulkWriter::open(path_);
  BulkTable* t = bulk->table("t");
  for (int i = 0; i < 1000; ++i) {
    t->begin(i + 1);
    t->null();
    if (i % 7 == 0) t->null();
    else if (i % 7 == 1) t->text("some text");
    else t->integer(i);
    t->text("");
    t->end();
  }
  Db db = finish(*bulk);
  EXPECT_EQ(*db.query_int("select count(*) from t indexed by n where n = 'some text'"), 143);
}

TEST_F(Bulk, RowsOutOfOrderAndKeysThatOccurTwiceAreRefused) {
  {
    Result<BulkWriter> bulk = BulkWriter::open(path_);
    BulkTable* k = bulk->table("k");
    for (int i = 0; i < 10; ++i) {
      k->begin(i + 1);
      k->integer(i / 2);
      k->real(0.5);
      k->null();
      k->end();
    }
    const Status status = bulk->finish();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("k: a key occurs twice"), std::string::npos)
        << status.error().message;
  }
  Result<BulkWriter> bulk = BulkWriter::open(path_);
  BulkTable* t = bulk->table("t");
  for (const int64_t id : {5, 5}) {
    t->begin(id);
    for (int i = 0; i < 3; ++i) t->null();
    t->end();
  }
  EXPECT_FALSE(bulk->finish().ok());
}

}  // namespace
}  // namespace wavetap::store
