// CsvTable: a CSV file with a header (RFC 4180), row after row, columns by name.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wavetap::foreign {

class CsvTable {
 public:
  explicit CsvTable(std::string_view text) : rest_(text) {
    std::vector<std::string> head;
    if (read_row(head)) names_ = std::move(head);
    first_line_ = line_;
  }

  const std::vector<std::string>& names() const { return names_; }
  // The first column of one of these names; -1: none.
  int column(std::initializer_list<const char*> wanted) const {
    for (const char* const name : wanted)
      for (size_t i = 0; i < names_.size(); ++i)
        if (names_[i] == name) return static_cast<int>(i);
    return -1;
  }
  bool has(const char* name) const { return column({name}) >= 0; }

  // The next row; false at the end. Empty lines are skipped.
  bool next() {
    do {
      if (rest_.empty()) return false;
      row_line_ = line_ + 1;
      read_row(row_);
    } while (row_.size() == 1 && row_[0].empty());
    return true;
  }
  // Of the row: its first line, counting from 1; whether it has as many fields as the header.
  uint64_t line() const { return row_line_; }
  bool is_whole() const { return row_.size() == names_.size(); }
  size_t fields() const { return row_.size(); }

  std::string_view text(int column) const {
    return column >= 0 && static_cast<size_t>(column) < row_.size()
               ? std::string_view(row_[static_cast<size_t>(column)])
               : std::string_view();
  }
  // A whole number, also one written as 12.0; nothing where there is no column or another text.
  std::optional<int64_t> integer(int column) const {
    if (const std::optional<double> value = real(column)) {
      const std::string_view digits = text(column);
      int64_t exact = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), exact);
      if (error == std::errc() && end == digits.data() + digits.size()) return exact;
      if (*value >= -9.2e18 && *value <= 9.2e18) return static_cast<int64_t>(*value);
    }
    return std::nullopt;
  }
  std::optional<double> real(int column) const {
    const std::string_view digits = text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
      return std::nullopt;
    return value;
  }

 private:
  bool read_row(std::vector<std::string>& row) {
    row.clear();
    if (rest_.empty()) return false;
    row.emplace_back();
    bool is_quoted = false;
    size_t at = 0;
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (c == '\n') ++line_;
      if (is_quoted) {
        if (c != '"') row.back() += c;
        else if (at + 1 < rest_.size() && rest_[at + 1] == '"') row.back() += '"', ++at;
        else is_quoted = false;
      } else if (c == '"') {
        is_quoted = true;
      } else if (c == ',') {
        row.emplace_back();
      } else if (c == '\n') {
        ++at;
        rest_.remove_prefix(at);
        return true;
      } else if (c != '\r') {
        row.back() += c;
      }
    }
    ++line_;
    rest_ = {};
    return true;
  }

  std::string_view rest_;
  std::vector<std::string> names_, row_;
  uint64_t line_ = 0, first_line_ = 0, row_line_ = 0;
};

}  // namespace wavetap::foreign
