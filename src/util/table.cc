#include "util/table.h"

#include <algorithm>

#include "util/text.h"

namespace wavetap::util {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kMinimumShrunk = 8;

// The first `cells` cells of the text, the last one an ellipsis when something was cut.
std::string cut(const std::string& text, size_t cells) {
  if (display_width(text) <= cells) return text;
  std::string out;
  size_t used = 0;
  for (size_t i = 0; i < text.size() && used + 1 < cells;) {
    size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0) == 0x80) ++next;
    out += text.substr(i, next - i);
    i = next;
    ++used;
  }
  return out + "…";
}

// FILE:LINE or FILE:LINE-LINE, of which the end says most. A sentence that ends with one begins with what it says.
bool is_place(const std::string& text) {
  const size_t colon = text.rfind(':');
  const size_t begin = text.find_first_not_of(' ');
  return begin != std::string::npos && text.find(' ', begin) == std::string::npos &&
         colon != std::string::npos && colon + 1 < text.size() &&
         text.find_first_not_of("0123456789-", colon + 1) == std::string::npos;
}

// Blanks at the begin, an ellipsis, and as many of the last cells as there is room for.
std::string cut_begin(const std::string& text, size_t cells) {
  size_t width = display_width(text);
  if (width <= cells) return text;
  const size_t blanks = std::min(text.find_first_not_of(' '), cells - 1);
  width -= blanks;
  size_t at = blanks;
  while (width + blanks + 1 > cells && at < text.size()) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
    --width;
  }
  return text.substr(0, blanks) + "…" + text.substr(at);
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(size_t columns) const {
  std::vector<size_t> widths;
  size_t total = 0;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
    total += width + (c == 0 ? 0 : kGap);
  }
  // Take the surplus from the widest column that may give, until it fits or none is left.
  while (columns != 0 && total > columns) {
    size_t widest = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (!columns_[c].may_shrink || widths[c] <= kMinimumShrunk) continue;
      if (widest == columns_.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns_.size()) break;
    const size_t give = std::min(total - columns, widths[widest] - kMinimumShrunk);
    widths[widest] -= give;
    total -= give;
  }

  std::string out;
  const auto append_row = [&](const auto& cell_of) {
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const std::string text = cell_of(c);
      const std::string cell = is_place(text) ? cut_begin(text, widths[c]) : cut(text, widths[c]);
      const std::string padding(widths[c] - display_width(cell), ' ');
      if (c != 0) line.append(kGap, ' ');
      line += columns_[c].align == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  append_row([&](size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) append_row([&](size_t c) { return row[c]; });
  return out;
}

}  // namespace wavetap::util
