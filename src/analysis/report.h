// The first screen a user sees of a trace.
#pragma once

#include "analysis/analysis.h"

namespace wavetap::analysis {

enum class ReportBy : uint8_t { kOverview, kKernel, kApi, kMarker, kStream, kCounter };

// By name, as a user asks for them.
struct ReportView {
  std::string_view name;
  ReportBy by;
};
inline constexpr ReportView kReportViews[] = {
    {"overview", ReportBy::kOverview}, {"kernel", ReportBy::kKernel},
    {"api", ReportBy::kApi},           {"marker", ReportBy::kMarker},
    {"stream", ReportBy::kStream},     {"counter", ReportBy::kCounter}};

// Needs calls, ops, launches, copies and, for memory and markers, argument texts.
Report build_report(const store::Trace& trace, const Options& options, ReportBy by);

}  // namespace wavetap::analysis
