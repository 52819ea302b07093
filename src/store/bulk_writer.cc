#include "store/bulk_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cctype>
#include <cerrno>

#include "store/sqlite.h"

namespace wavetap::store {
namespace {

constexpr size_t kBufferedPages = 256;
// The page that holds byte 2^30 is where SQLite keeps its locks; it never holds data.
constexpr uint32_t kLockPage = (uint32_t{1} << 30) / kPageBytes + 1;

// Payload sizes of table leaves, by the rules of the file format with no reserved bytes.
constexpr size_t kMaxLocal = kPageBytes - 35;
constexpr size_t kMinLocal = (kPageBytes - 12) * 32 / 255 - 23;

constexpr uint8_t kTableLeaf = 13;
constexpr uint8_t kTableInterior = 5;
// A child takes a pointer, a page number and a key of at most nine bytes.
constexpr size_t kMaxTableChildren = (kPageBytes - kInteriorHeader) / (2 + 4 + 9) + 1;

// Space in the file's header.
constexpr off_t kChangeCounter = 24;
constexpr off_t kPageCount = 28;
constexpr off_t kValidFor = 92;

}  // namespace

// --- PageFile

void PageFile::write_at(const void* data, size_t size, uint64_t offset) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0 && status_.ok()) {
    const ssize_t wrote = pwrite(fd_.get(), at, size, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      status_ = errorf("cannot be written: %s; make room or name another file",
                       std::strerror(wrote < 0 ? errno : ENOSPC));
      return;
    }
    at += wrote;
    size -= static_cast<size_t>(wrote);
    offset += static_cast<uint64_t>(wrote);
  }
}

uint32_t PageFile::append(const uint8_t* page) {
  const std::lock_guard lock(mutex_);
  if (next_ == kLockPage) {
    flush_locked();
    const uint8_t nothing[kPageBytes] = {};
    write_at(nothing, sizeof nothing, uint64_t{next_ - 1} * kPageBytes);
    ++next_;
  }
  if (buffer_.empty()) buffered_from_ = next_;
  buffer_.insert(buffer_.end(), page, page + kPageBytes);
  if (buffer_.size() >= kBufferedPages * kPageBytes) {
    ++next_;
    flush_locked();
    return next_ - 1;
  }
  return next_++;
}

void PageFile::overwrite(uint32_t number, const uint8_t* page) {
  const std::lock_guard lock(mutex_);
  write_at(page, kPageBytes, uint64_t{number - 1} * kPageBytes);
}

void PageFile::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void PageFile::flush_locked() {
  if (buffer_.empty()) return;
  write_at(buffer_.data(), buffer_.size(), uint64_t{buffered_from_ - 1} * kPageBytes);
  buffer_.clear();
}

// --- BulkTable

BulkTable::BulkTable(PageFile& file, uint32_t root) : file_(file), root_(root) {}

void BulkTable::note_key(const int64_t* value) {
  for (BulkIndex& index : indexes_) {
    if (index.column() != column_ || !index.is_plain()) continue;
    if (value != nullptr) index.add(*value, rowid_);
    else index.give_up();
  }
}

void BulkTable::integer(int64_t value) {
  next_column(&value);
  uint8_t big[8];
  size_t width;
  header_[header_bytes_++] = put_integer(value, big, width);
  body_.insert(body_.end(), big, big + width);
}

void BulkTable::real(double value) {
  next_column();
  header_[header_bytes_++] = 7;
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) body_.push_back(static_cast<uint8_t>(bits >> shift));
}

void BulkTable::stored(uint64_t serial_type, const uint8_t* data, size_t size) {
  next_column();
  header_bytes_ += put_varint(header_ + header_bytes_, serial_type);
  body_.insert(body_.end(), data, data + size);
}

void BulkTable::bytes(const void* data, size_t size, uint64_t base) {
  next_column();
  header_bytes_ += put_varint(header_ + header_bytes_, base + 2 * size);
  const auto* from = static_cast<const uint8_t*>(data);
  body_.insert(body_.end(), from, from + size);
}

void BulkTable::end() {
  if (rows_ > 0 && rowid_ <= last_rowid_) {
    out_of_order_ = true;
    return;
  }
  header_[0] = static_cast<uint8_t>(header_bytes_);
  const size_t payload = header_bytes_ + body_.size();
  size_t local = payload;
  if (payload > kMaxLocal) {
    local = kMinLocal + (payload - kMinLocal) % (kPageBytes - 4);
    if (local > kMaxLocal) local = kMinLocal;
  }
  uint8_t lead[18];
  size_t lead_bytes = put_varint(lead, payload);
  lead_bytes += put_varint(lead + lead_bytes, static_cast<uint64_t>(rowid_));
  const size_t cell = lead_bytes + local + (local < payload ? 4 : 0);
  if (content_ - kLeafHeader - 2 * cells_ < cell + 2) flush_leaf();

  content_ -= cell;
  uint8_t* at = leaf_ + content_;
  std::memcpy(at, lead, lead_bytes);
  at += lead_bytes;
  if (local == payload) {
    std::memcpy(at, header_, header_bytes_);
    if (!body_.empty()) std::memcpy(at + header_bytes_, body_.data(), body_.size());
  } else {
    record_.assign(header_, header_ + header_bytes_);
    record_.insert(record_.end(), body_.begin(), body_.end());
    std::memcpy(at, record_.data(), local);
    put32(at + local, write_overflow(record_.data() + local, payload - local));
  }
  put16(leaf_ + kLeafHeader + 2 * cells_, content_);
  ++cells_;
  last_rowid_ = rowid_;
  ++rows_;
}

uint32_t BulkTable::write_overflow(const uint8_t* data, size_t size) {
  // A chain is linked forwards; written from its end, every page knows its successor's number.
  uint32_t next = 0;
  const size_t piece = kPageBytes - 4;
  for (size_t pages = (size + piece - 1) / piece; pages-- > 0;) {
    uint8_t page[kPageBytes] = {};
    put32(page, next);
    const size_t from = pages * piece;
    std::memcpy(page + 4, data + from, std::min(piece, size - from));
    next = file_.append(page);
  }
  return next;
}

void BulkTable::close_leaf() {
  leaf_[0] = kTableLeaf;
  put16(leaf_ + 1, 0);
  put16(leaf_ + 3, cells_);
  put16(leaf_ + 5, content_);
  leaf_[7] = 0;
  std::memset(leaf_ + kLeafHeader + 2 * cells_, 0, content_ - kLeafHeader - 2 * cells_);
}

void BulkTable::flush_leaf() {
  close_leaf();
  children_.push_back({file_.append(leaf_), last_rowid_});
  cells_ = 0;
  content_ = kPageBytes;
}

void BulkTable::finish() {
  if (rows_ == 0) return;  // the empty leaf SQLite made is right as it is
  if (children_.empty()) {
    close_leaf();
    file_.overwrite(root_, leaf_);
    return;
  }
  if (cells_ > 0) flush_leaf();
  while (true) {
    const size_t count = children_.size();
    const size_t pages = (count + kMaxTableChildren - 1) / kMaxTableChildren;
    std::vector<Child> above;
    for (size_t i = 0; i < pages; ++i) {
      // Evenly, so that none is left with a single child.
      const size_t first = count * i / pages, last = count * (i + 1) / pages - 1;
      uint8_t page[kPageBytes] = {};
      size_t content = kPageBytes;
      size_t cells = 0;
      for (size_t c = first; c < last; ++c, ++cells) {
        uint8_t cell[13];
        put32(cell, children_[c].page);
        const size_t size =
            4 + put_varint(cell + 4, static_cast<uint64_t>(children_[c].last_rowid));
        content -= size;
        std::memcpy(page + content, cell, size);
        put16(page + kInteriorHeader + 2 * cells, content);
      }
      page[0] = kTableInterior;
      put16(page + 3, cells);
      put16(page + 5, content);
      put32(page + 8, children_[last].page);
      if (pages == 1) {
        file_.overwrite(root_, page);
        return;
      }
      above.push_back({file_.append(page), children_[last].last_rowid});
    }
    children_ = std::move(above);
  }
}

// --- BulkWriter

Result<BulkWriter> BulkWriter::open(const std::string& path) {
  BulkWriter writer;
  writer.path_ = path;
  {
    Result<Db> db = Db::open_read_only(path);
    if (!db.ok()) return db.error();
    Result<int64_t> page = db->query_int("pragma page_size");
    if (!page.ok()) return page.error();
    if (*page != static_cast<int64_t>(kPageBytes))
      return errorf("%s: pages of %lld bytes; make it with 4096", path.c_str(),
                    static_cast<long long>(*page));
    Result<Stmt> tables = db->prepare(
        "select name, rootpage from sqlite_master where type = 'table' and rootpage > 0");
    if (!tables.ok()) return tables.error();
    while (tables->step())
      writer.roots_[std::string(tables->text(0))] = static_cast<uint32_t>(tables->int64(1));
    if (Status s = writer.find_indexes(*db); !s.ok()) return s.error();
  }
  ScopedFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0)
    return errorf("%s: cannot be written: %s", path.c_str(), std::strerror(errno));
  writer.file_ = std::make_unique<PageFile>(
      std::move(fd), static_cast<uint32_t>(static_cast<size_t>(info.st_size) / kPageBytes));
  return writer;
}

// Indexes of one plain column are candidates for bulk_index.h; keys that are no integers rule one
// out later.
Status BulkWriter::find_indexes(Db& db) {
  Result<Stmt> rows = db.prepare(
      "select m.tbl_name, m.name, m.rootpage, l.\"unique\", l.partial, count(*), min(x.cid), "
      "max(x.desc), min(x.coll), "
      "(select min(type) from pragma_table_info(m.tbl_name) t where t.cid = x.cid) "
      "from sqlite_master m join pragma_index_list(m.tbl_name) l on l.name = m.name join "
      "pragma_index_xinfo(m.name) x "
      "where m.type = 'index' and x.key = 1 group by m.name");
  if (!rows.ok()) return rows.error();
  while (rows->step()) {
    const std::string table(rows->text(0)), name(rows->text(1));
    std::string type(rows->text(9));
    for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool plain = rows->int64(4) == 0 && rows->int64(5) == 1 && rows->int64(6) >= 0 &&
                       rows->int64(7) == 0 && rows->text(8) == "BINARY" &&
                       type.find("int") != std::string::npos;
    if (plain)
      indexes_.emplace(table, BulkIndex(name, static_cast<uint32_t>(rows->int64(2)),
                                        static_cast<size_t>(rows->int64(6)), rows->int64(3) != 0));
    else other_indexes_.emplace(table, name);
  }
  return rows->status();
}

BulkTable* BulkWriter::table(const std::string& name) {
  WT_CHECK(file_ != nullptr, "a writer that has finished is asked for no tables");
  std::unique_ptr<BulkTable>& table = tables_[name];
  if (table != nullptr) return table.get();
  const auto root = roots_.find(name);
  if (root == roots_.end()) return nullptr;
  table = std::make_unique<BulkTable>(*file_, root->second);
  for (auto [at, end] = indexes_.equal_range(name); at != end; ++at)
    table->indexes_.push_back(at->second);
  return table.get();
}

Status BulkWriter::finish() {
  std::map<std::string, int64_t> last;  // rowid, by table
  std::vector<std::string> unfilled;    // indexes
  for (auto& [name, table] : tables_) {
    if (table == nullptr || table->rows() == 0) continue;
    if (table->out_of_order_)
      return errorf("%s: %s: rows are not in order; the file they come from is damaged",
                    path_.c_str(), name.c_str());
    table->finish();
    for (BulkIndex& index : table->indexes_) {
      if (!index.is_plain()) unfilled.push_back(index.name());
      else if (!index.finish(*file_))
        return errorf("%s: %s: a key occurs twice; the file it comes from is damaged",
                      path_.c_str(), name.c_str());
    }
    for (auto [at, end] = other_indexes_.equal_range(name); at != end; ++at)
      unfilled.push_back(at->second);
    last[name] = table->last_rowid();
  }
  file_->flush();
  uint8_t header[100];
  if (pread(file_->fd(), header, sizeof header, 0) != ssize_t{sizeof header})
    return errorf("%s: cannot be read back", path_.c_str());
  // The page count counts only when the change counter equals the one it was valid for.
  const uint32_t change = get32(header + kChangeCounter) + 1;
  put32(header + kChangeCounter, change);
  put32(header + kPageCount, file_->pages());
  put32(header + kValidFor, change);
  if (pwrite(file_->fd(), header, sizeof header, 0) != ssize_t{sizeof header})
    return errorf("%s: cannot be written", path_.c_str());
  if (!file_->status().ok())
    return errorf("%s: %s", path_.c_str(), file_->status().error().message.c_str());
  tables_.clear();
  file_.reset();

  Result<Db> db = Db::open_read_write(path_);
  if (!db.ok()) return db.error();
  if (Status s = db->exec("pragma journal_mode = off; pragma synchronous = off; pragma cache_size "
                          "= -65536; pragma temp_store = memory");
      !s.ok())
    return s;
  for (const std::string& index : unfilled)
    if (Status s = db->exec("reindex " + quoted_name(index)); !s.ok()) return s;
  // Where `autoincrement` continues.
  if (!db->has_table_or_view("sqlite_sequence")) return {};
  Result<Stmt> stmt = db->prepare(
      "insert into sqlite_sequence (name, seq) select ?1, ?2 where exists "
      "(select 1 from sqlite_master where name = ?1 and lower(sql) like '%autoincrement%')");
  if (!stmt.ok()) return stmt.error();
  for (const auto& [name, rowid] : last) {
    stmt->bind(1, std::string_view(name));
    stmt->bind(2, rowid);
    if (!stmt->run()) return stmt->status();
  }
  return {};
}

}  // namespace wavetap::store
