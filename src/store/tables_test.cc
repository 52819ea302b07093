// tables.inc, held against what depends on it without the compiler's knowing: RPD's contract, the rule
// by which other programs understand columns, and the page for people.
#include "store/tables.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "store/column_meaning.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Tables, RpdsTablesAreDeclaredAsRpdDeclaresThem) {
  // From RPD's schema, version 3: names, types and order of columns are its contract.
  const std::pair<const char*, const char*> expected[] = {
      {"rocpd_metadata", "id integer, tag varchar(4096), value varchar(4096)"},
      {"rocpd_string", "id integer, string varchar(4096)"},
      {"rocpd_ustring", "id integer, string varchar(4096)"},
      {"rocpd_api",
       "id integer, pid integer, tid integer, start integer, end integer, apiName_id bigint, "
       "category_id bigint, domain_id bigint, args_id bigint"},
      {"rocpd_copyapi",
       "api_ptr_id bigint, stream varchar(18), size integer, width integer, height integer, kind "
       "integer, dst varchar(18), src varchar(18), dstDevice integer, srcDevice integer, sync "
       "bool, pinned bool"},
      {"rocpd_kernelapi",
       "api_ptr_id bigint, stream varchar(18), gridX integer, gridY integer, gridZ integer, "
       "workgroupX integer, workgroupY integer, workgroupZ integer, groupSegmentSize integer, "
       "privateSegmentSize integer, kernelName_id bigint"},
      {"rocpd_op",
       "id integer, gpuId integer, queueId integer, sequenceId integer, start integer, end "
       "integer, description_id bigint, opType_id bigint"},
      {"rocpd_api_ops", "id integer, api_id bigint, op_id bigint"},
      {"rocpd_monitor",
       "id integer, deviceType varchar(16), deviceId integer, monitorType varchar(16), start "
       "integer, end integer, value varchar(255)"},
      {"rocpd_counter", "id integer, value real, op_id bigint, name_id bigint"},
      {"rocpd_stackframe", "id integer, api_ptr_id bigint, depth integer, name_id bigint"},
  };
  Result<Db> db = Db::open_memory();
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE(create_schema(*db).ok());
  size_t rpd_tables = 0;
  for (const TableSpec& table : all_tables()) rpd_tables += table.is_rpd() ? 1 : 0;
  EXPECT_EQ(rpd_tables, std::size(expected));
  for (const auto& [table, columns] : expected) {
    Result<Stmt> rows = db->prepare(
        "select group_concat(name || ' ' || lower(type), ', '), min(\"notnull\") from (select * "
        "from "
        "pragma_table_info(?) order by cid)");
    ASSERT_TRUE(rows.ok());
    rows->bind(1, std::string_view(table));
    ASSERT_TRUE(rows->step());
    EXPECT_EQ(rows->text(0), columns) << table;
    EXPECT_EQ(rows->int64(1), 1) << table << ": every column is not null";
  }
  EXPECT_EQ(table_sql(*find_table("rocpd_counter")),
            "create table rocpd_counter (id integer not null primary key autoincrement, value real "
            "not null, op_id bigint not null references rocpd_op (id) deferrable initially "
            "deferred, name_id bigint not null references rocpd_string (id) deferrable initially "
            "deferred)");
  EXPECT_EQ(table_sql(*find_table("rocpd_api_ops")).find("rocpd_api_ops (id integer not null "),
            std::string("create table ").size());
}

TEST(Tables, NamesOfColumnsSayWhatTheyMean) {
  for (const TableSpec& table : all_tables())
    for (const ColumnSpec& column : table.columns)
      EXPECT_EQ(static_cast<int>(meaning_of(table.name, column.name)),
                static_cast<int>(meaning_by_name(table.name, column.name)))
          << table.name << "." << column.name
          << ": programs that do not know the column would treat it as something else; name it "
             "by the rule in column_meaning.cc";
}

TEST(Tables, AreNamedOnceAndHaveTheirKeyFirst) {
  std::set<std::string> tables;
  for (const TableSpec& table : all_tables()) {
    EXPECT_TRUE(tables.insert(table.name).second) << table.name;
    EXPECT_TRUE(is_trace_table(table.name)) << table.name;
    std::set<std::string> columns;
    for (const ColumnSpec& column : table.columns) {
      EXPECT_TRUE(columns.insert(column.name).second) << table.name << "." << column.name;
      const bool is_key = column.role == ColumnRole::kKey || column.role == ColumnRole::kNumber ||
                          column.role == ColumnRole::kOwner;
      EXPECT_EQ(is_key, &column == &table.columns.front()) << table.name << "." << column.name;
      EXPECT_LE(column.since, table.is_rpd() ? kSchemaVersion : kWavetapTables);
      EXPECT_GE(column.since, table.since);
      // Older files lack it, so its absence must be a value.
      EXPECT_TRUE(table.is_rpd() || column.since == table.since ||
                  column.role == ColumnRole::kMaybe)
          << table.name << "." << column.name;
    }
  }
  EXPECT_EQ(find_table("rocpd_nothing"), nullptr);
}

const char* reference(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kNumber: return "number";
    case ColumnKind::kReal: return "real number";
    case ColumnKind::kFlag: return "0 or 1";
    case ColumnKind::kText: return "text";
    case ColumnKind::kAddress: return "address, as text";
    case ColumnKind::kBlob: return "bytes";
    case ColumnKind::kCall: return "`rocpd_api.id`";
    case ColumnKind::kOp: return "`rocpd_op.id`";
    case ColumnKind::kString: return "`rocpd_string.id`";
    case ColumnKind::kArgs: return "`rocpd_ustring.id`";
    case ColumnKind::kId: return "id";
    case ColumnKind::kProcess: return "process or thread";
    case ColumnKind::kGpu: return "GPU or queue";
    case ColumnKind::kTime: return "time, ns";
    case ColumnKind::kSession: return "session";
  }
  return "";
}

// docs/tables.md, from its first table on.
std::string tables_as_markdown() {
  std::string out;
  for (const TableSpec& table : all_tables()) {
    out += std::string("\n## ") + table.name + "\n\nOne row: " + table.text + ".";
    if (table.is_rpd() && table.since > 2) out += " Since schema 3.";
    out += "\n\n| column | holds | |\n|---|---|---|\n";
    for (const ColumnSpec& column : table.columns) {
      std::string text = column.text;
      if (column.role == ColumnRole::kMaybe && text.find("NULL") == std::string::npos)
        text += text.empty() ? "may be NULL" : "; may be NULL";
      if (column.since > table.since)
        text += std::string(text.empty() ? "" : "; ") +
                (table.is_rpd() ? "since schema " : "since tables ") + std::to_string(column.since);
      const bool is_itself = column.role == ColumnRole::kKey || column.role == ColumnRole::kNumber;
      out += std::string("| `") + column.name + "` | " +
             (is_itself ? "number of the row" : reference(column.kind)) + " | " + text + " |\n";
    }
  }
  return out;
}

TEST(Tables, ThePageForPeopleSaysTheSame) {
  const std::string path = std::string(WT_SOURCE_DIR) + "/docs/tables.md";
  const std::string page = file_text(path);
  const std::string head = page.substr(0, page.find("\n## "));
  const std::string wanted = head + tables_as_markdown();
  if (std::getenv("WT_UPDATE_DOCS") != nullptr) std::ofstream(path) << wanted;
  else
    EXPECT_TRUE(page == wanted)
        << "write it anew: WT_UPDATE_DOCS=1 store_test --gtest_filter=Tables.*";
}

}  // namespace
}  // namespace wavetap::store
