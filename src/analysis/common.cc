#include "analysis/analysis.h"

#include <algorithm>

namespace wavetap::analysis {

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

void sort_rows(Table& table, size_t column) {
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    return std::get<int64_t>(a[column]) > std::get<int64_t>(b[column]);
  });
}

void cut_to_top(Table& table, const Options& options) {
  table.total_rows = table.rows.size();
  if (options.top != 0 && table.rows.size() > options.top) table.rows.resize(options.top);
}

}  // namespace wavetap::analysis
