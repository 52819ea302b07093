#include "cli/optimize_timer.h"

#include "cli/capture_show.h"
#include "cli/run_dir.h"
#include "cli/run_environment.h"
#include "tune/clock_state.h"
#include "util/file.h"
#include "util/isolated.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;

// Pairs before those that count.
constexpr uint32_t kWarmups = 2;

std::string errors_in(const std::string& path) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return "";
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

Result<Json> replay_both(const TimerOptions& options, uint32_t capture, const std::string& before,
                         const std::string& after) {
  const Result<RunDir> scratch = RunDir::create();
  if (!scratch.ok()) return scratch.error();
  const std::string errors = scratch->path() + "/errors";
  std::vector<std::string> words = {"/bin/sh",
                                    "-c",
                                    "exec \"$@\" 2> \"$0\"",
                                    errors,
                                    util::executable_folder() + "/wavetap",
                                    "replay",
                                    options.file,
                                    "--capture",
                                    std::to_string(capture),
                                    "--swap",
                                    after,
                                    "--against",
                                    before,
                                    "-n",
                                    std::to_string(options.pairs),
                                    "--warmup",
                                    std::to_string(kWarmups),
                                    "--json"};
  if (options.where == "hsa") words.push_back("--hsa");
  else words.insert(words.end(), {"--gpu", options.gpu});
  if (options.is_verified) words.push_back("--verify");
  util::ShellOptions shell;
  shell.seconds = options.seconds;
  const Result<util::ShellResult> ran = util::run_words(words, shell);
  if (!ran.ok()) return ran.error();
  if (ran->timed_out) return errorf("timing it was not done after %g seconds", options.seconds);
  const Json json = util::read_json(ran->output);
  if (ran->status == kMismatch)
    return errorf("timed on the GPU, it leaves other values than the captured dispatch");
  if (ran->status == 0 && json.is_object() && json.contains("against")) return json;
  return errorf("it cannot be timed: exit status %d: %s", ran->status, errors_in(errors).c_str());
}

}  // namespace

Status check_timed(const std::string& where) {
  if (where == "hsa" && !machine_has_gpu())
    return errorf(
        "--timed hsa: this machine has no GPU that ROCm can use; with --timed none, times "
        "are left out");
  return {};
}

optimize::Timer make_timer(const TimerOptions& options) {
  return [options](const std::string& before, const std::string& after) -> Result<optimize::Timed> {
    optimize::Timed timed;
    const std::vector<tune::GpuClock> clocks =
        options.where == "hsa" ? tune::read_gpu_clocks() : std::vector<tune::GpuClock>();
    for (const uint32_t capture : options.captures) {
      const Result<Json> json = replay_both(options, capture, before, after);
      if (!json.ok()) return json.error();
      const Json& against = json->at("against");
      timed.place.gpu = json->value("gpu", "");
      timed.place.clock = against.value("clock", "");
      timed.runs.push_back({capture, against.value("seconds", std::vector<double>()),
                            json->value("seconds", std::vector<double>())});
    }
    if (options.where == "hsa")
      timed.place.note = tune::clock_note(clocks, tune::read_gpu_clocks());
    return timed;
  };
}

}  // namespace wavetap::cli
