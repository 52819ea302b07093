// The .rpd schema: version 3, the tables, columns and column order RPD defined (tables.inc), so that
// every tool that reads its files reads ours. The views answer the same columns without RPD's
// mistakes; what differs is listed in docs/rpd-differences.md.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "store/sqlite.h"

namespace wavetap::store {

// Rule: bumped only when a table or column RPD knows changes its meaning. Additions are metadata
// keys and tables named wavetap_*, which other readers ignore.
inline constexpr int kSchemaVersion = 3;

// Ids of one recording session start here: session n uses [n << 32, (n + 1) << 32).
inline constexpr int kSessionShift = 32;
// Marker rows are numbered from here within their session, API calls below.
inline constexpr int64_t kFirstMarkerId = (int64_t{1} << 31) + 1;

// The function of a marker's row.
inline constexpr const char* kMarkerName = "UserMarker";

// Creates tables, string indexes, views and the version keys in an empty database.
Status create_schema(Db& db);
// The tables wavetap_*, which only our own recordings have.
Status create_wavetap_tables(Db& db);
// The indexes analyses and views want; made before a BulkWriter fills the tables, or once all rows
// are in.
Status create_indexes(Db& db);

// What to say of a file whose metadata name a version that this build does not know; "" otherwise.
std::string newer_schema_warning(const std::multimap<std::string, std::string>& metadata);
std::string newer_schema_warning(Db& db);

// 2 or 3; an error that says what is missing when the file is no trace.
Result<int> schema_version(Db& db);

}  // namespace wavetap::store
