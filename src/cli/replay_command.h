// What `wavetap replay` was asked for, and what its back ends share: times, verdicts, dumps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/engine_options.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/changed_launch.h"
#include "replay/verify.h"
#include "util/json_library.h"

namespace wavetap::cli {

// For --against: the captured kernel.
inline constexpr char kCaptured[] = "captured";

struct ReplayCommand {
  std::string file;
  uint32_t capture = 1;
  uint32_t iterations = 1;
  uint32_t warmup = 0;
  bool recopy = false;  // the default, said aloud
  bool no_recopy = false;
  std::optional<std::string> verify;
  std::optional<std::string> dump;
  std::optional<std::string> grid;
  std::optional<std::string> swap;
  std::optional<std::string> against;  // another code object, or kCaptured
  bool counters = false;
  bool json = false;
  std::optional<std::string> sanitize;
  EngineOptions engine;

  // Through AMD's runtime instead of on the engine alone.
  std::vector<std::string> gpus;  // virtual ones
  bool hsa = false;               // one of this machine
  bool on_engine = false;         // the default, said aloud
  bool reserve_check = false;
  bool relocate = false;
  bool is_under_rocm() const { return hsa || !gpus.empty(); }
  bool changes_launch() const { return grid || swap; }
};

// --grid: nothing when it is not given.
Result<std::optional<replay::Workgroups>> parse_grid(const std::optional<std::string>& option);

// The spread of fewer says too little to call one of them an outlier.
inline constexpr size_t kFewestForOutliers = 10;

struct ReplayTimes {
  double least = 0, median = 0, most = 0;
  double spread = 0;    // median of the distances to the median
  size_t outliers = 0;  // further than five spreads from it
};
ReplayTimes times_of(std::vector<double> seconds);
// "0.412 ms on the engine", "10 times on the engine: median 0.412 ms, …".
std::string times_text(const std::vector<double>& seconds, const std::string& where);
nlohmann::ordered_json times_json(const std::vector<double>& seconds);

// What a kernel prints goes where the program's printf goes, or with --json into `text`, for "printed".
std::function<void(std::string_view, bool)> kernel_output(const ReplayCommand& options,
                                                          std::string& text);

// How to compare, checked against what the capture has.
Result<replay::Tolerance> check_verify(const ReplayCommand& options, const replay::Capture& capture,
                                       const replay::CapturedKernel& kernel);
void print_verdict(const replay::CapturedKernel& kernel, const replay::Verdict& verdict);
nlohmann::ordered_json verdict_json(const replay::CapturedKernel& kernel,
                                    const replay::Verdict& verdict);

// The memory behind each pointer, as it is after the replay: DIR/arg0.bin and so on.
Status dump_buffers(const std::string& folder, const replay::CapturedKernel& kernel,
                    const replay::CapturedMemory& memory);

}  // namespace wavetap::cli
