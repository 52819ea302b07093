#include "analysis/analysis.h"

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

const Analysis* find_analysis(std::string_view name) {
  for (const Analysis& analysis : all_analyses())
    if (analysis.name == name) return &analysis;
  return nullptr;
}

}  // namespace wavetap::analysis
