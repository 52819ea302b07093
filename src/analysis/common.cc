#include "analysis/analysis.h"

namespace wavetap::analysis {

void cut_to_top(Table& table, const Options& options) {
  table.total_rows = table.rows.size();
  if (options.top != 0 && table.rows.size() > options.top) table.rows.resize(options.top);
}

}  // namespace wavetap::analysis
