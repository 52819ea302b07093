// Profile: what a program's kernels do, what limits each, and which of them matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "model/peaks.h"
#include "profile/limits.h"
#include "profile/roofline.h"
#include "profile/sample.h"
#include "profile/selection.h"
#include "profile/work_of.h"
#include "store/trace.h"
#include "timing/kernel_time.h"

namespace wavetap::profile {

// Dispatches of one kernel with one shape.
struct KernelProfile {
  Sample mean;  // shape and places of the first, counters on average
  uint64_t calls = 0;
  double total_ns = 0, mean_ns = 0, deviation_ns = 0;  // as recorded
  Work work;
  timing::KernelTime time;          // modelled
  std::vector<RankedLimit> limits;  // never empty
  Roofline roofline;
  // What rates are made of: measured where a real GPU ran the kernel, else modelled.
  double seconds = 0;
  bool is_measured = false;

  // From the trace's graph of work; nothing without one.
  std::optional<double> critical_share;  // of its dispatches, without slack
  std::optional<int64_t> least_slack_ns;

  double total_seconds() const { return seconds * static_cast<double>(calls); }
};

struct DagNode {
  int64_t id = 0;
  std::string name, kind;  // kernel, copy, call …
  int32_t gpu = -1, queue = -1;
  int64_t start_ns = 0, end_ns = 0, slack_ns = 0;
};
struct DagEdge {
  int64_t from = 0, to = 0;
  const char* kind = "";  // queue, stream, thread, launch, sync
  bool is_inferred = false;
};

struct Profile {
  model::Model model;
  model::Peaks peaks;
  std::string source;                  // what was profiled
  bool is_emulated = true;             // times of the trace are a virtual GPU's
  std::vector<KernelProfile> kernels;  // those that take longest first
  std::vector<DagNode> nodes;
  std::vector<DagEdge> edges;
  int64_t span_ns = 0;
  std::vector<std::string> notes;

  double total_seconds() const;
};

// Dispatches of one kernel with one shape, before anything is made of them.
struct SampleGroup {
  Sample mean;  // shape of the first, counters on average
  uint64_t calls = 0;
  double total_ns = 0, squares_ns = 0;  // sum of durations and of their squares
};

// Groups samples by kernel and shape. An error when nothing is left.
Result<Profile> make_profile(const model::Model& model, std::vector<Sample> samples,
                             const Selection& selection, bool is_emulated, std::string source);
// `counted`: dispatches there were before the selection.
Result<Profile> make_profile(const model::Model& model, std::vector<SampleGroup> groups,
                             uint64_t counted, bool is_emulated, std::string source);

// The dispatches of a trace that were counted. Loaded with `dispatches`.
std::vector<Sample> samples_of(const store::Trace& trace);
// The same by kernel and shape, without an object for each of millions.
Result<std::vector<SampleGroup>> groups_of(const store::Trace& trace, const Selection& selection,
                                           uint64_t& counted);
// Adds nodes, edges, and what they say of each kernel. A graph of more nodes than a document can hold is left
// out of it, with a note.
void add_graph(Profile& profile, const store::Trace& trace);
// Hot places that `run --counters` wrote, by kernel and shape. Damaged input adds nothing.
void add_places(std::vector<SampleGroup>& groups, const std::string& counters_json);

}  // namespace wavetap::profile
