// A table for the terminal: measured columns, two spaces between them, never wider than asked.
//
//   Table table({{"MODEL"}, {"CUs", Align::kRight}, {"NAME", Align::kLeft, /*may_shrink=*/true}});
//   table.add({"rx6800xt", "72", "AMD Radeon RX 6800 XT"});
//   fmt::print("{}", table.text(80));
#pragma once

#include <string>
#include <vector>

namespace wavetap::util {

enum class Align : unsigned char { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  // Loses characters from its end (… marks the cut) when the table would be too wide.
  bool may_shrink = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty; surplus ones are a bug of the caller and dropped.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // The whole table with its title row, one line per row, no trailing spaces. Only columns that may
  // shrink are cut to reach `columns`; 0 means as wide as it is.
  std::string text(size_t columns) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace wavetap::util
