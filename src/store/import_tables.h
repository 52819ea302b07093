// The file import writes: the tables of schema 3 and our own beside them. Large tables are filled
// page by page (bulk_writer.h) while the raw trace is read, small ones by SQL at the end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/bulk_writer.h"

namespace wavetap::store {

// Makes the empty tables of a new file.
Status create_import_file(const std::string& path);

class ImportFile {
 public:
  using Cell = std::variant<std::monostate, int64_t, std::string>;

  static Result<std::unique_ptr<ImportFile>> open(const std::string& path);

  // Filled in order of their ids.
  BulkTable* string = nullptr;
  BulkTable* ustring = nullptr;
  BulkTable* api = nullptr;
  BulkTable* kernelapi = nullptr;
  BulkTable* copyapi = nullptr;
  BulkTable* op = nullptr;
  BulkTable* api_ops = nullptr;
  BulkTable* monitor = nullptr;
  BulkTable* stackframe = nullptr;
  BulkTable* dispatch = nullptr;
  BulkTable* allocation = nullptr;

  // A row of a small table, all columns.
  void add(const char* table, std::vector<Cell> cells) { rows_[table].push_back(std::move(cells)); }
  void set_metadata(const std::string& tag, const std::string& value) { metadata_[tag] = value; }

  uint64_t rows() const;
  // Small tables and metadata. The object is of no use afterwards.
  Status finish();

 private:
  std::string path_;
  BulkWriter bulk_;
  std::map<std::string, std::vector<std::vector<Cell>>> rows_;
  std::map<std::string, std::string> metadata_;
};

// The strings of one session: equal texts get one id, "" is the first.
class SessionStrings {
 public:
  explicit SessionStrings(int64_t offset) : offset_(offset) { id(""); }
  int64_t id(std::string_view text);
  void write(BulkTable& table) const;

 private:
  int64_t offset_;
  std::unordered_map<std::string, int64_t> ids_;
  std::vector<const std::string*> texts_;
};

}  // namespace wavetap::store
