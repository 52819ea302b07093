#include "cli/swap_verify_run.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "cli/command.h"
#include "cli/swap_verify.h"
#include "replay/verify.h"
#include "util/file.h"

namespace wavetap::cli {
namespace {

Status check(const RunOptions& options, const SwapVerifyRun& verify) {
  if (options.swap.source.empty())
    return errorf("run: --swap-verify compares what --swap would replace; add --swap DIR");
  if (options.gpus.empty())
    return errorf(
        "run: --swap-verify compares on virtual GPUs; add --gpu MODEL (see wavetap gpu list)");
  if (options.swap.turns)
    return errorf("run: --swap-ab and --swap-verify exclude each other; leave out one of them");
  if (options.swap.watch)
    return errorf("run: --swap-watch and --swap-verify exclude each other; leave out one of them");
  const auto tolerance = replay::parse_tolerance(verify.tolerance);
  return tolerance.ok() ? Status() : Status(tolerance.error());
}

// Beside the trace: what a GPU holds may not fit into the temporary folder.
Result<std::string> make_folder(const RunOptions& options) {
  const std::string beside =
      options.no_trace || options.recording.output.empty() ? "swap" : options.recording.output;
  std::string folder = std::filesystem::absolute(beside).string() + ".verify-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr)
    return errorf("%s: cannot be made: %s; run the program in a folder that can be written to",
                  folder.c_str(), std::strerror(errno));
  return folder;
}

class RemovedAtEnd {
 public:
  explicit RemovedAtEnd(std::string folder) : folder_(std::move(folder)) {}
  ~RemovedAtEnd() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;

 private:
  const std::string folder_;
};

}  // namespace

int run_and_verify(const RunOptions& options, const SwapVerifyRun& verify,
                   const std::vector<std::string>& program) {
  if (const Status good = check(options, verify); !good.ok()) return fail(good.error());
  Result<swap::Index> index = open_swap_index(options.swap.source);
  if (!index.ok()) return fail(index.error());
  const Result<std::string> folder = make_folder(options);
  if (!folder.ok()) return fail(folder.error());
  const RemovedAtEnd removed(*folder);

  RunOptions run = options;
  run.swap = {};
  run.capture.folder = *folder;
  run.capture.kernels = pattern_of(swap::Table(swap::candidates_of(*index, "")));
  run.capture.max = verify.launches;
  bool ran = false;
  const int status = run_program(run, program, &ran);
  if (!ran) return status;

  SwapVerifyOptions compared{
      .source = options.swap.source, .captures = {}, .tolerance = verify.tolerance};
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(*folder, ignored))
    compared.captures.push_back(entry.path().string());
  std::sort(compared.captures.begin(), compared.captures.end());
  const SwapVerification made = verify_swaps(compared);
  if (made.text.empty())
    say(stderr, fmt::format("wavetap: swap: no launch of a kernel that {} replaces was seen; see "
                            "wavetap swap check",
                            options.swap.source));
  else fmt::print(stderr, "{}", made.text);
  if (!verify.json.empty())
    if (const Status written = util::write_file(verify.json, made.json); !written.ok())
      return fail(written.error());
  return status != 0 ? status : made.exit_code;
}

}  // namespace wavetap::cli
