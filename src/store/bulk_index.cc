#include "store/bulk_index.h"

#include <algorithm>

#include "store/bulk_writer.h"
#include "store/page_format.h"

namespace wavetap::store {
namespace {

constexpr uint8_t kIndexLeaf = 10;
constexpr uint8_t kIndexInterior = 2;
// A cell: size, three bytes of record header, two integers of at most eight bytes.
constexpr size_t kMaxCell = 1 + 3 + 16;
// A child takes a pointer, a page number and a cell.
constexpr size_t kMaxIndexChildren = (kPageBytes - kInteriorHeader) / (2 + 4 + kMaxCell) + 1;

size_t put_cell(uint8_t* at, int64_t key, int64_t rowid) {
  uint8_t bytes[8];
  size_t width = 0, body = 4;
  at[1] = 3;  // the header's own size
  at[2] = put_integer(key, bytes, width);
  std::memcpy(at + body, bytes, width);
  body += width;
  at[3] = put_integer(rowid, bytes, width);
  std::memcpy(at + body, bytes, width);
  body += width;
  at[0] = static_cast<uint8_t>(body - 1);
  return body;
}

// One page under construction; cells grow downwards from its end.
class IndexPage {
 public:
  explicit IndexPage(uint8_t kind)
      : kind_(kind), header_(kind == kIndexLeaf ? kLeafHeader : kInteriorHeader) {}

  bool add(const uint8_t* cell, size_t size) {
    if (content_ - header_ - 2 * cells_ < size + 2) return false;
    content_ -= size;
    std::memcpy(page_ + content_, cell, size);
    put16(page_ + header_ + 2 * cells_, content_);
    ++cells_;
    return true;
  }
  // Takes the last cell, of `size` bytes, away again.
  void drop_last(size_t size) {
    --cells_;
    std::memset(page_ + content_, 0, size);
    std::memset(page_ + header_ + 2 * cells_, 0, 2);
    content_ += size;
  }
  const uint8_t* finish(uint32_t right_child = 0) {
    page_[0] = kind_;
    put16(page_ + 3, cells_);
    put16(page_ + 5, content_);
    if (kind_ == kIndexInterior) put32(page_ + 8, right_child);
    return page_;
  }

 private:
  uint8_t kind_;
  size_t header_;
  size_t cells_ = 0;
  size_t content_ = kPageBytes;
  uint8_t page_[kPageBytes] = {};
};

}  // namespace

bool BulkIndex::finish(PageFile& file) {
  if (!std::is_sorted(entries_.begin(), entries_.end()))
    std::sort(entries_.begin(), entries_.end());
  const auto same_key = [](const Entry& a, const Entry& b) { return a.key == b.key; };
  if (unique_ && std::adjacent_find(entries_.begin(), entries_.end(), same_key) != entries_.end())
    return false;
  // Else SQLite's empty leaf is right as it is.
  if (!entries_.empty()) write_levels(file, write_leaves(file));
  entries_ = {};
  return true;
}

std::vector<BulkIndex::Child> BulkIndex::write_leaves(PageFile& file) const {
  std::vector<Child> children;
  IndexPage leaf(kIndexLeaf);
  uint8_t cell[kMaxCell];
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t size = put_cell(cell, entries_[i].key, entries_[i].rowid);
    if (leaf.add(cell, size)) continue;
    // The leaf is full. What does not fit goes between it and the next, unless nothing would be
    // left for that.
    size_t between = i;
    if (i + 1 == entries_.size()) {
      between = i - 1;
      leaf.drop_last(put_cell(cell, entries_[between].key, entries_[between].rowid));
    }
    children.push_back({file.append(leaf.finish()), entries_[between]});
    leaf = IndexPage(kIndexLeaf);
    if (between == i) continue;
    size = put_cell(cell, entries_[i].key, entries_[i].rowid);
    leaf.add(cell, size);
  }
  if (children.empty()) {
    file.overwrite(root_, leaf.finish());
    return {};
  }
  children.push_back({file.append(leaf.finish()), {}});
  return children;
}

void BulkIndex::write_levels(PageFile& file, std::vector<Child> children) const {
  while (!children.empty()) {
    const size_t count = children.size();
    const size_t pages = (count + kMaxIndexChildren - 1) / kMaxIndexChildren;
    std::vector<Child> above;
    for (size_t i = 0; i < pages; ++i) {
      // Evenly, so that none is left with a single child.
      const size_t first = count * i / pages, last = count * (i + 1) / pages - 1;
      IndexPage page(kIndexInterior);
      for (size_t c = first; c < last; ++c) {
        uint8_t cell[4 + kMaxCell];
        put32(cell, children[c].page);
        page.add(cell, 4 + put_cell(cell + 4, children[c].after.key, children[c].after.rowid));
      }
      const uint8_t* bytes = page.finish(children[last].page);
      if (pages == 1) file.overwrite(root_, bytes);
      else above.push_back({file.append(bytes), children[last].after});
    }
    children = std::move(above);
  }
}

}  // namespace wavetap::store
