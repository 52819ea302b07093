#include "store/table_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

#include "base/check.h"

namespace wavetap::store {
namespace {

// File header: offset, meaning.
constexpr size_t kHeaderBytes = 100;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr size_t kPageSizeAt = 16, kWriteVersionAt = 18, kReadVersionAt = 19, kReservedAt = 20,
                 kEncodingAt = 56;
constexpr uint8_t kRollbackJournal = 1;
constexpr uint32_t kUtf8 = 1;

// B-tree page header.
constexpr uint8_t kInteriorTable = 0x05, kLeafTable = 0x0d;
constexpr size_t kCellCountAt = 3, kRightChildAt = 8, kLeafHeaderBytes = 8,
                 kInteriorHeaderBytes = 12;
constexpr int kDeepest = 20;  // SQLite's own limit on the depth of a b-tree

// Serial types of a record.
constexpr uint64_t kReal = 7, kOne = 9, kFirstBlob = 12;
constexpr uint8_t kSmallSizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
// Behind the bytes of a record, so that its last integer can be read as eight of them.
constexpr size_t kPaddingBytes = 8;

// Stands for a value that is not there, where null would mean the row's own number.
constexpr uint8_t kNothing[kPaddingBytes] = {};

constexpr size_t kRowsPerPart = 25'000;
constexpr size_t kMostParts = 8;

uint32_t big16(const uint8_t* p) { return static_cast<uint32_t>(p[0] << 8 | p[1]); }
uint32_t big32(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 |
         static_cast<uint32_t>(p[2]) << 8 | p[3];
}

// 1 to 9 bytes, most significant first, 7 bits each but 8 in the ninth. Returns the bytes used, 0
// when the text ends.
size_t read_varint(const uint8_t* p, const uint8_t* end, uint64_t& value) {
  if (p < end && *p < 0x80) {
    value = *p;
    return 1;
  }
  uint64_t out = 0;
  for (size_t i = 0; i < 9; ++i) {
    if (p + i >= end) return 0;
    if (i == 8) {
      value = out << 8 | p[i];
      return 9;
    }
    out = out << 7 | (p[i] & 0x7f);
    if ((p[i] & 0x80) == 0) {
      value = out;
      return i + 1;
    }
  }
  return 0;
}

int64_t big_endian(const uint8_t* p, uint64_t bytes) {
  int64_t value = static_cast<int8_t>(p[0]);
  for (uint64_t i = 1; i < bytes; ++i)
    value = static_cast<int64_t>(static_cast<uint64_t>(value) << 8 | p[i]);
  return value;
}

// As SQLite casts: towards zero, clamped.
int64_t integer_of(double value) {
  if (!(value > -9.2233720368547758e18)) return std::numeric_limits<int64_t>::min();
  if (value >= 9.2233720368547758e18) return std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value);
}

}  // namespace

uint64_t stored_bytes(uint64_t serial_type) {
  return serial_type < kFirstBlob ? kSmallSizes[serial_type] : (serial_type - kFirstBlob) / 2;
}

// --- ScanRow

bool ScanRow::is_integer(int column) const {
  const Value& v = value(column);
  return v.bytes == nullptr ||
         (v.serial_type != 0 && v.serial_type != kReal && v.serial_type <= kOne);
}

int64_t ScanRow::other_int64(int column) const {
  const Value& value = values_[static_cast<size_t>(column)];
  if (value.bytes == nullptr) return rowid_;
  if (value.serial_type == 0) return 0;
  if (value.serial_type < kReal) return big_endian(value.bytes, stored_bytes(value.serial_type));
  if (value.serial_type == kReal)
    return integer_of(std::bit_cast<double>(big_endian(value.bytes, 8)));
  if (value.serial_type < kFirstBlob) return value.serial_type == kOne ? 1 : 0;
  const std::string digits(text(column).substr(0, 40));
  return std::strtoll(digits.c_str(), nullptr, 10);
}

double ScanRow::real(int column) const {
  const Value& v = value(column);
  return v.bytes != nullptr && v.serial_type == kReal
             ? std::bit_cast<double>(big_endian(v.bytes, 8))
             : static_cast<double>(int64(column));
}

std::string_view ScanRow::text(int column) const {
  const Value& value = values_[static_cast<size_t>(column)];
  if (value.bytes != nullptr && value.serial_type >= kFirstBlob)
    return {reinterpret_cast<const char*>(value.bytes), stored_bytes(value.serial_type)};
  if (value.bytes != nullptr && value.serial_type == 0) return {};
  if (value.serial_type == kReal) {
    std::array<char, 40> digits{};
    std::snprintf(digits.data(), digits.size(), "%.15g",
                  std::bit_cast<double>(big_endian(value.bytes, 8)));
    converted_ = digits.data();
    // SQLite shows that a number is a real one: "2.0", "1.0e+30".
    if (converted_.find_first_of(".n") == std::string::npos)
      converted_.insert(std::min(converted_.size(), converted_.find('e')), ".0");
  } else {
    converted_ = std::to_string(int64(column));
  }
  return converted_;
}

// --- TableScan

Error TableScan::odd(const char* what) const {
  return errorf("%s: %s: %s", path_.c_str(), table_.c_str(), what);
}

Result<TableScan> TableScan::open(Db& db, const std::string& table,
                                  std::span<const char* const> columns) {
  TableScan scan;
  scan.path_ = db.path();
  scan.table_ = table;
  std::array<uint8_t, kHeaderBytes> header{};
  if (!db.read_file_bytes(0, header)) return scan.odd("no header");
  if (std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) return scan.odd("not SQLite");
  if (header[kWriteVersionAt] != kRollbackJournal || header[kReadVersionAt] != kRollbackJournal)
    return scan.odd("has a write-ahead log");
  if (big32(&header[kEncodingAt]) != kUtf8) return scan.odd("not UTF-8");
  scan.page_bytes_ = big16(&header[kPageSizeAt]) == 1 ? 65536 : big16(&header[kPageSizeAt]);
  if (scan.page_bytes_ < 512 || !std::has_single_bit(scan.page_bytes_))
    return scan.odd("odd page size");
  scan.usable_bytes_ = scan.page_bytes_ - header[kReservedAt];
  if (scan.usable_bytes_ < 480) return scan.odd("odd page size");
  scan.pages_ =
      static_cast<uint32_t>(std::min<uint64_t>(db.file_bytes() / scan.page_bytes_, 0xfffffffe));

  if (Status s = scan.read_columns(db, table, columns); !s.ok()) return s.error();
  Result<Stmt> root =
      db.prepare("select rootpage from sqlite_master where type = 'table' and name = ?");
  if (!root.ok()) return root.error();
  root->bind(1, std::string_view(table));
  if (!root->step()) return scan.odd("no such table");
  const int64_t page = root->int64(0);
  if (page < 2 || page > scan.pages_) return scan.odd("root page out of range");
  if (Status s = scan.collect_leaves(db, static_cast<uint32_t>(page)); !s.ok()) return s.error();

  // Equal shares of the leaves; their rows are numbered by what lies before them.
  const size_t parts = std::clamp<size_t>(
      std::min<size_t>(scan.rows_ / kRowsPerPart, std::thread::hardware_concurrency()), 1,
      kMostParts);
  size_t row = 0;
  for (size_t leaf = 0, part = 0; leaf < scan.leaves_.size() || part < parts; ++leaf) {
    while (part < parts && leaf == scan.leaves_.size() * part / parts) {
      scan.first_leaf_of_part_.push_back(leaf);
      scan.first_row_of_part_.push_back(row);
      ++part;
    }
    if (leaf < scan.leaves_.size()) row += scan.leaves_[leaf].cells;
  }
  return scan;
}

Status TableScan::read_columns(Db& db, const std::string& table,
                               std::span<const char* const> columns) {
  Result<Stmt> stmt =
      db.prepare("select name, hidden, pk, lower(type) from pragma_table_xinfo(?) order by cid");
  if (!stmt.ok()) return stmt.error();
  stmt->bind(1, std::string_view(table));
  columns_ = columns.size();
  size_t found = 0, missing = 0;
  for (const char* column : columns) missing += column == nullptr ? 1 : 0;
  int primary_keys = 0;
  while (stmt->step()) {
    if (stmt->int64(1) != 0) return odd("has generated columns");
    int wanted = -1;
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i] != nullptr && stmt->text(0) == columns[i]) wanted = static_cast<int>(i);
    found += wanted >= 0 ? 1 : 0;
    primary_keys += stmt->int64(2) != 0 ? 1 : 0;
    // Such a column is another name of the row's number, and stored as NULL.
    if (stmt->int64(2) != 0 && stmt->text(3) == "integer") rowid_column_ = wanted;
    wanted_.push_back(wanted);
  }
  if (!stmt->status().ok()) return stmt->status();
  if (found + missing != columns.size()) return odd("a column is missing");
  // What lies behind the last column asked for is not looked at.
  while (!wanted_.empty() && wanted_.back() < 0) wanted_.pop_back();
  if (primary_keys > 1) rowid_column_ = -1;
  return {};
}

Status TableScan::read_page(Db& db, uint32_t page, std::span<uint8_t> bytes) const {
  if (page < 2 || page > pages_) return odd("page out of range");
  if (!db.read_file_bytes(uint64_t{page - 1} * page_bytes_, bytes))
    return odd("page cannot be read");
  return {};
}

Status TableScan::collect_leaves(Db& db, uint32_t root) {
  // Depth first, left to right; `rest` holds pages still to visit, the next one last.
  struct Visit {
    uint32_t page;
    int depth;
  };
  std::vector<Visit> rest{{root, 0}};
  std::vector<uint8_t> bytes(page_bytes_);
  uint64_t visited = 0;
  // The kind of a page and its number of cells are all that is asked of a leaf here.
  std::array<uint8_t, kInteriorHeaderBytes> head{};
  while (!rest.empty()) {
    const Visit visit = rest.back();
    rest.pop_back();
    if (++visited > pages_ || visit.depth > kDeepest) return odd("pages form a loop");
    if (Status s = read_page(db, visit.page, head); !s.ok()) return s;
    const uint32_t cells = big16(&head[kCellCountAt]);
    if (head[0] == kLeafTable) {
      if (kLeafHeaderBytes + 2 * cells > usable_bytes_) return odd("page is damaged");
      leaves_.push_back({visit.page, cells});
      rows_ += cells;
      continue;
    }
    if (head[0] != kInteriorTable || kInteriorHeaderBytes + 2 * cells > usable_bytes_)
      return odd("page is damaged");
    if (Status s = read_page(db, visit.page, bytes); !s.ok()) return s;
    rest.push_back({big32(&bytes[kRightChildAt]), visit.depth + 1});
    for (size_t cell = cells; cell-- > 0;) {
      const uint32_t offset = big16(&bytes[kInteriorHeaderBytes + 2 * cell]);
      if (offset + 4 > usable_bytes_) return odd("page is damaged");
      rest.push_back({big32(&bytes[offset]), visit.depth + 1});
    }
  }
  if (rows_ > 0xfffffffe) return odd("more rows than this program counts");
  return {};
}

Status TableScan::read_overflow(Db& db, uint32_t page, uint64_t missing,
                                std::string& payload) const {
  std::vector<uint8_t> bytes(page_bytes_);
  while (missing > 0) {
    if (Status s = read_page(db, page, bytes); !s.ok()) return s;
    const uint64_t here = std::min<uint64_t>(missing, usable_bytes_ - 4);
    payload.append(reinterpret_cast<const char*>(bytes.data()) + 4, here);
    missing -= here;
    page = big32(bytes.data());
  }
  return {};
}

bool TableScan::parse_record(std::string_view payload, ScanRow& row) const {
  const auto* begin = reinterpret_cast<const uint8_t*>(payload.data());
  const uint8_t* const end = begin + payload.size();
  uint64_t header_bytes = 0;
  const size_t used = read_varint(begin, end, header_bytes);
  if (used == 0 || header_bytes < used || header_bytes > payload.size()) return false;
  const uint8_t* type = begin + used;
  const uint8_t* const types_end = begin + header_bytes;
  const uint8_t* body = types_end;
  ScanRow::Value* const values = row.values_.data();
  // A record may be shorter than its table when columns were added later; SQLite knows their
  // defaults.
  for (const int wanted : wanted_) {
    if (type >= types_end) return false;
    uint64_t serial_type = *type++;
    uint64_t bytes;
    if (serial_type < kFirstBlob) {
      bytes = kSmallSizes[serial_type];
    } else {
      if (serial_type >= 0x80) {
        const size_t length = read_varint(type - 1, types_end, serial_type);
        if (length == 0) return false;
        type += length - 1;
      }
      bytes = stored_bytes(serial_type);
    }
    if (bytes > static_cast<uint64_t>(end - body)) return false;
    if (wanted >= 0) values[wanted] = {serial_type, body};
    body += bytes;
  }
  if (rowid_column_ >= 0 && values[rowid_column_].serial_type == 0)
    values[rowid_column_].bytes = nullptr;
  return true;
}

Status TableScan::run(size_t part, const std::function<void(size_t, const ScanRow&)>& visit) const {
  Result<Db> db = Db::open_read_only(path_);
  if (!db.ok()) return db.error();
  return run(part, *db, visit);
}

Status TableScan::run(size_t part, Db& db,
                      const std::function<void(size_t, const ScanRow&)>& visit) const {
  WT_CHECK(part < parts(), "a part of the table is asked for");
  const size_t last = part + 1 < parts() ? first_leaf_of_part_[part + 1] : leaves_.size();
  const uint64_t most_local = usable_bytes_ - 35,
                 least_local = (usable_bytes_ - 12) * 32 / 255 - 23;
  std::vector<uint8_t> buffer(page_bytes_ + kPaddingBytes);
  const std::span<uint8_t> bytes(buffer.data(), page_bytes_);
  std::string joined;
  ScanRow row;
  row.values_.assign(columns_, {0, kNothing});
  size_t number = first_row_of_part_[part];
  for (size_t leaf = first_leaf_of_part_[part]; leaf < last; ++leaf) {
    if (Status s = read_page(db, leaves_[leaf].page, bytes); !s.ok()) return s;
    if (bytes[0] != kLeafTable || big16(&bytes[kCellCountAt]) != leaves_[leaf].cells)
      return odd("page is damaged");
    const uint8_t* const end = bytes.data() + usable_bytes_;
    for (size_t cell = 0; cell < leaves_[leaf].cells; ++cell) {
      const uint32_t offset = big16(&bytes[kLeafHeaderBytes + 2 * cell]);
      if (offset >= usable_bytes_) return odd("page is damaged");
      const uint8_t* at = bytes.data() + offset;
      uint64_t size = 0, rowid = 0;
      size_t used = read_varint(at, end, size);
      if (used == 0) return odd("page is damaged");
      at += used;
      used = read_varint(at, end, rowid);
      if (used == 0) return odd("page is damaged");
      at += used;
      uint64_t local = size;
      if (size > most_local) {
        const uint64_t fits = least_local + (size - least_local) % (usable_bytes_ - 4);
        local = fits <= most_local ? fits : least_local;
      }
      if (local + (local < size ? 4 : 0) > static_cast<uint64_t>(end - at))
        return odd("page is damaged");
      std::string_view payload(reinterpret_cast<const char*>(at), local);
      if (local < size) {
        if (size > uint64_t{pages_} * page_bytes_) return odd("page is damaged");
        joined = payload;
        if (Status s = read_overflow(db, big32(at + local), size - local, joined); !s.ok())
          return s;
        joined.append(kPaddingBytes, '\0');
        payload = std::string_view(joined).substr(0, size);
      }
      row.rowid_ = static_cast<int64_t>(rowid);
      if (!parse_record(payload, row)) return odd("record is damaged");
      visit(number++, row);
    }
  }
  WT_CHECK(number == (part + 1 < parts() ? first_row_of_part_[part + 1] : rows_),
           "a part has as many rows as it was counted to have");
  return {};
}

}  // namespace wavetap::store
