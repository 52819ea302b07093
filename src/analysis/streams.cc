// streams: what each queue of each GPU did, with the HIP streams seen on it.
#include "analysis/analysis.h"
#include "analysis/queue_table.h"

namespace wavetap::analysis {
namespace {

Result<Report> analyze_streams(const store::Trace& trace, const Options& options) {
  Report report;
  report.tables.push_back(queue_table(trace, options));
  if (trace.ops.size() == 0) report.warnings.push_back("no GPU activity in the trace");
  return report;
}

}  // namespace

extern const Analysis kStreams{
    .name = "streams", .help = "what each queue and stream did", .run = analyze_streams};

}  // namespace wavetap::analysis
