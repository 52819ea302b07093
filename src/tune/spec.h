// Spec: what a file for `wavetap tune` says (docs/tune.md), read and checked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replay/verify.h"
#include "sanitize/kinds.h"
#include "tune/expression.h"
#include "tune/space.h"
#include "tune/strategies.h"

namespace wavetap::tune {

enum class Subject {
  kCapture,  // a captured dispatch, replayed
  kKernel,   // a kernel of a program, by the counters of a run on a virtual GPU
  kMetric,   // a number that the program prints
};

struct Spec {
  std::string path;    // of the file
  std::string folder;  // it is in: commands run there
  std::string name;
  uint64_t hash = 0;  // of the text

  std::string build;  // command; {name} stands for values, {out} for the file to make; "": none
  double build_seconds = 120;

  std::vector<Parameter> parameters;
  std::vector<Expression> conditions;
  std::vector<std::pair<std::string, std::string>> environment;

  Subject subject = Subject::kCapture;
  std::string capture;  // file
  uint32_t capture_number = 1;
  std::string gpu;  // "": the captured one; the machine's own
  std::string program;
  std::string kernel;        // regular expression
  std::string metric;        // regular expression with one group: the number
  std::string output_check;  // regular expression that must be in a program's output; "": none
  uint32_t runs = 3;         // of a program, for its metric
  // Runs before those, that do not count. A program that is run once is not run twice for it.
  std::optional<uint32_t> warmup;
  uint32_t warmups() const { return warmup.value_or(runs > 1 ? 1 : 0); }
  double run_seconds = 120;
  std::string verify;
  replay::Tolerance tolerance;
  std::optional<sanitize::ToolSet> tools;
  std::vector<Expression> workgroup, workgroups;  // empty, or one to three

  std::string objective = "time";
  bool maximise = false;
  std::vector<Expression> constraints;
  Values baseline;  // of a program: what it is compared with; empty: nothing

  SearchSettings search;
  size_t batch = 4;   // points proposed at a time: more can run at once, fewer learn faster
  double budget = 0;  // evaluations; the reader sets it where the file does not

  // The winner needs another launch than the captured one, which a program has to be changed for.
  bool changes_launch() const { return !workgroup.empty() || !workgroups.empty(); }
  std::string full_path(const std::string& relative) const;
};

Result<Spec> parse_spec(const std::string& text, const std::string& path);
Result<Spec> read_spec(const std::string& path);

}  // namespace wavetap::tune
