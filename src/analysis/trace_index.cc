#include "analysis/trace_index.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

template <class T>
std::vector<uint32_t> by_call(const store::Trace& trace, const std::vector<T>& rows) {
  std::vector<uint32_t> out(trace.apis.size(), kNoRow);
  for (uint32_t i = 0; i < rows.size(); ++i) out[rows[i].api] = i;
  return out;
}

}  // namespace

std::vector<uint32_t> call_of_op(const store::Trace& trace) {
  std::vector<uint32_t> out(trace.ops.size(), kNoRow);
  for (size_t i = 0; i < trace.links.size(); ++i)
    if (trace.links.op[i] != kNoRow && trace.links.api[i] != kNoRow)
      out[trace.links.op[i]] = trace.links.api[i];
  return out;
}

std::vector<uint32_t> launch_of_call(const store::Trace& trace) {
  return by_call(trace, trace.launches);
}
std::vector<uint32_t> copy_of_call(const store::Trace& trace) {
  return by_call(trace, trace.copies);
}

}  // namespace wavetap::analysis
