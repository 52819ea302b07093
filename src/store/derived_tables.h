// Tables that analyses leave in a trace's file (`analyze --write`), under the names RPD's tools give
// them: what they are called, how they are made, and how the file says that they are there. They
// follow from the rest of the file, so whoever changes that leaves them behind (trim.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/sqlite.h"
#include "store/trace.h"

namespace wavetap::store {

struct DerivedTables {
  // As rocpd_metadata knows them: tags "<tool>::Generated" and, with table_tag, "<tool>::Table".
  std::string_view tool;
  bool table_tag = true;
  std::span<const std::string_view> tables;
  std::span<const std::string_view> views;  // each before those it is made from
  std::string_view create;                  // SQL
  // Values of the tag "references::rocpd_string.id": columns of the tables that name a string.
  std::span<const std::string_view> string_columns = {};
};

extern const DerivedTables kCallstackTables;
extern const DerivedTables kAutogradTables;  // its views stand on those of the call stack
extern const DerivedTables kGraphTables;

// Whether `name` is one of all these tables and views.
bool is_derived(std::string_view name);
// Whether the trace's file says that it holds them.
bool has_derived(const Trace& trace, const DerivedTables& tables);

// Makes the tables afresh and fills them, in one transaction: a file holds all of them or what it
// held before.
class DerivedWriter {
 public:
  static Result<DerivedWriter> begin(const std::string& path, const DerivedTables& tables);
  Db& db() { return db_; }
  // Notes in the file that they are there. Statements prepared on db() must have been reset.
  Status commit();

 private:
  DerivedWriter(Db db, const DerivedTables& tables) : db_(std::move(db)), tables_(&tables) {}
  Db db_;
  const DerivedTables* tables_;
};

}  // namespace wavetap::store
