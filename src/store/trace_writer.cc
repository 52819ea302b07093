#include "store/trace_writer.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>

#include "store/sqlite.h"
#include "util/file.h"

namespace wavetap::store {
namespace {

// Nobody reads the file before it is whole.
constexpr const char* kFastAndLoose =
    "pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -65536; "
    "pragma temp_store = memory";

Status create_file(const std::string& path, const std::function<Status(Db&)>& make) {
  Result<Db> db = Db::create(path);
  if (!db.ok()) return db.error();
  if (Status s = db->exec("pragma page_size = 4096; pragma encoding = 'UTF-8'"); !s.ok()) return s;
  if (Status s = db->exec(kFastAndLoose); !s.ok()) return s;
  if (Status s = db->exec("begin"); !s.ok()) return s;
  if (Status s = make(*db); !s.ok()) return s;
  return db->exec("commit");
}

}  // namespace

Status make_whole(const std::string& output, bool overwrite,
                  const std::function<Status(const std::string& path)>& fill) {
  if (!overwrite && access(output.c_str(), F_OK) == 0)
    return errorf("%s: exists already; name another file with -o", output.c_str());
  if (util::is_special(output))
    return errorf("%s: not a regular file; name another one with -o", output.c_str());
  const std::string part = output + ".part-" + std::to_string(getpid());
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  Status status = fill(part);
  if (status.ok() && std::rename(part.c_str(), output.c_str()) != 0)
    status = errorf("%s: cannot be put in place; name another file with -o", output.c_str());
  if (!status.ok()) std::filesystem::remove(part, ignored);
  return status;
}

// --- TraceWriter

Result<TraceWriter> TraceWriter::create(const std::string& path, bool wavetap_tables) {
  return create(path, [wavetap_tables](Db& db) -> Status {
    if (Status s = create_schema(db); !s.ok()) return s;
    if (wavetap_tables)
      if (Status s = create_wavetap_tables(db); !s.ok()) return s;
    return create_indexes(db);
  });
}

Result<TraceWriter> TraceWriter::create(const std::string& path,
                                        const std::function<Status(Db&)>& make) {
  if (Status s = create_file(path, make); !s.ok()) return s.error();
  Result<BulkWriter> bulk = BulkWriter::open(path);
  if (!bulk.ok()) return bulk.error();
  TraceWriter writer(path);
  writer.bulk_ = std::make_unique<BulkWriter>(std::move(*bulk));
  const std::span<const TableSpec> tables = all_tables();
  for (size_t i = 0; i < tables.size(); ++i)
    // Metadata are few, come from everywhere, and some are there already.
    if (static_cast<TableId>(i) != TableId::kMetadata)
      writer.tables_[i] = writer.bulk_->table(tables[i].name);
  return writer;
}

uint64_t TraceWriter::rows() const {
  uint64_t rows = 0;
  for (const BulkTable* table : tables_) rows += table == nullptr ? 0 : table->rows();
  return rows;
}

Status TraceWriter::finish(const std::vector<std::string>& later) {
  if (Status s = bulk_->finish(); !s.ok()) return s;
  tables_ = {};
  Result<Db> db = Db::open_read_write(path_);
  if (!db.ok()) return db.error();
  if (Status s = db->exec(kFastAndLoose); !s.ok()) return s;
  if (Status s = db->exec("begin"); !s.ok()) return s;
  for (const std::string& statement : later)
    if (Status s = db->exec(statement); !s.ok()) return s;
  if (!metadata_.empty()) {
    Result<Stmt> stmt = db->prepare("insert into rocpd_metadata (tag, value) values (?, ?)");
    if (!stmt.ok()) return stmt.error();
    for (const auto& [tag, value] : metadata_) {
      stmt->bind(1, std::string_view(tag));
      stmt->bind(2, std::string_view(value));
      if (!stmt->run()) return stmt->status();
    }
  }
  return db->exec("commit");
}

// --- SessionTexts

SessionTexts::SessionTexts(TraceWriter& writer, int64_t session)
    : writer_(writer), offset_(session << kSessionShift) {
  string("");
  text("");
}

int64_t SessionTexts::string(std::string_view text) {
  if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
  const int64_t id = offset_ + static_cast<int64_t>(strings_.size()) + 1;
  strings_.push_back(&ids_.emplace(text, id).first->first);
  return id;
}

int64_t SessionTexts::text(std::string_view text) {
  if (text.empty() && texts_ > 0) return no_text();
  writer_.put(rows::ArgText{.id = offset_ + ++texts_, .text = text});
  return offset_ + texts_;
}

void SessionTexts::finish() {
  for (size_t i = 0; i < strings_.size(); ++i)
    writer_.put(
        rows::StringText{.id = offset_ + static_cast<int64_t>(i) + 1, .text = *strings_[i]});
}

// --- detail

namespace detail {

HexText::HexText(uint64_t value) : text_{'0', 'x'} {
  length_ =
      static_cast<size_t>(std::to_chars(text_ + 2, text_ + sizeof text_, value, 16).ptr - text_);
}

}  // namespace detail

}  // namespace wavetap::store
