#include "analysis/registry.h"

#include "analysis/render.h"
#include "util/text.h"

namespace wavetap::analysis {

// Each analysis is defined in the file of its name.
extern const Analysis kCallstack;
extern const Analysis kAutograd;
extern const Analysis kGraph;
extern const Analysis kGaps;
extern const Analysis kOverlap;
extern const Analysis kBusy;
extern const Analysis kVariability;
extern const Analysis kCriticalPath;
extern const Analysis kMemory;
extern const Analysis kLaunchDelay;
extern const Analysis kQueueDepth;
extern const Analysis kStreams;
extern const Analysis kRedirects;

const std::vector<Analysis>& all_analyses() {
  static const std::vector<Analysis>* const all = new std::vector<Analysis>{
      kCallstack,    kAutograd, kGraph,       kGaps,       kOverlap, kBusy,      kVariability,
      kCriticalPath, kMemory,   kLaunchDelay, kQueueDepth, kStreams, kRedirects,
  };
  return *all;
}

Result<const Analysis*> find_analysis(std::string_view name) {
  std::vector<std::string> names;
  for (const Analysis& analysis : all_analyses()) {
    if (analysis.name == name) return &analysis;
    names.emplace_back(analysis.name);
  }
  const std::string near = util::nearest_name(name, names);
  return Error{
      util::escape_control(name) + ": no such analysis; " +
      (near.empty() ? "choose one of " + util::join(names, ", ") : "did you mean " + near + "?")};
}

Result<Report> run_analysis(const Analysis& analysis, const store::Trace& trace,
                            const Options& options) {
  Result<Report> report = analysis.run(trace, options);
  if (!report.ok()) return report;
  report->analysis = analysis.name;
  for (std::string& warning : trace_warnings(trace)) report->warnings.push_back(std::move(warning));
  return report;
}

}  // namespace wavetap::analysis
