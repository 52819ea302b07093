#include <algorithm>

#include "analysis/analysis.h"

namespace wavetap::analysis {

Span trace_span(const store::Trace& trace) {
  Span span;
  bool any = false;
  const auto widen = [&](const std::vector<int64_t>& begins, const std::vector<int64_t>& ends) {
    if (begins.empty()) return;
    const int64_t begin = *std::min_element(begins.begin(), begins.end());
    const int64_t end = *std::max_element(ends.begin(), ends.end());
    span.begin = any ? std::min(span.begin, begin) : begin;
    span.end = any ? std::max(span.end, end) : end;
    any = true;
  };
  widen(trace.apis.start, trace.apis.end);
  widen(trace.ops.start, trace.ops.end);
  return span;
}

void cut_to_top(Table& table, const Options& options) {
  table.total_rows = table.rows.size();
  if (options.top != 0 && table.rows.size() > options.top) table.rows.resize(options.top);
}

}  // namespace wavetap::analysis
