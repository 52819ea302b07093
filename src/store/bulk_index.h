// The index of one integer column, as pages: the companion of bulk_writer.h. Keys are collected
// while the table is filled, sorted once (they mostly are already) and written as full leaves from
// left to right. Unlike in a table's tree, the entry between two pages lives in the page above and
// nowhere else.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wavetap::store {

class PageFile;

class BulkIndex {
 public:
  BulkIndex(std::string name, uint32_t root, size_t column, bool unique)
      : name_(std::move(name)), root_(root), column_(column), unique_(unique) {}

  void add(int64_t key, int64_t rowid) { entries_.push_back({key, rowid}); }
  // A value that is no integer: the order of such keys is SQLite's business.
  void give_up() { plain_ = false; }

  const std::string& name() const { return name_; }
  size_t column() const { return column_; }
  // False: nothing was written and SQLite must fill the index.
  bool is_plain() const { return plain_; }
  // Writes the tree; the index is empty afterwards. False when a unique key occurs twice.
  bool finish(PageFile& file);

 private:
  struct Entry {
    int64_t key, rowid;
    auto operator<=>(const Entry&) const = default;
  };
  struct Child {
    uint32_t page;
    Entry after;  // lies between this page and the next
  };
  std::vector<Child> write_leaves(PageFile& file) const;
  void write_levels(PageFile& file, std::vector<Child> children) const;

  std::string name_;
  uint32_t root_;
  size_t column_;
  bool unique_;
  bool plain_ = true;
  std::vector<Entry> entries_;
};

}  // namespace wavetap::store
