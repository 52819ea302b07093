// wavetap replay: runs a captured dispatch again, on the engine, with no ROCm and no GPU, and says
// whether it does what it did.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "amd/gfx_target.h"
#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/engine_counters.h"
#include "cli/engine_options.h"
#include "cli/replay_command.h"
#include "cli/replay_rocm.h"
#include "cli/sanitize_kernel.h"
#include "proof/captured_map.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/describe_fault.h"
#include "replay/kernel_argument.h"
#include "replay/replay_run.h"
#include "replay/verify.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using replay::Capture;
using replay::CapturedArgument;
using replay::CapturedKernel;
using replay::CapturedMemory;
using replay::CaptureFile;

void print_text(const ReplayCommand& options, const Capture& capture, const CapturedKernel& kernel,
                const replay::ReplayResult& result, const replay::Verdict* verdict) {
  fmt::print("{} on {}: {},{},{} workgroups, {}\n", util::escape_control(capture.kernel),
             amd::to_string(capture.target), result.workgroups[0], result.workgroups[1],
             result.workgroups[2], times_text(result.seconds, "on the engine"));
  if (verdict != nullptr) print_verdict(kernel, *verdict);
  if (options.counters) print_counters(result.counters);
}

void print_json(const ReplayCommand& options, const Capture& capture, const CapturedKernel& kernel,
                const replay::ReplayResult& result, const replay::Verdict* verdict,
                const std::string& printed, const std::optional<SanitizeReport>& report) {
  nlohmann::ordered_json json = {{"file", options.file},
                                 {"capture", capture.dispatch.capture},
                                 {"kernel", capture.kernel},
                                 {"target", amd::to_string(capture.target)},
                                 {"workgroups", result.workgroups},
                                 {"exact", true}};
  json.update(times_json(result.seconds));
  if (verdict != nullptr) json["verify"] = verdict_json(kernel, *verdict);
  if (options.counters) add_counters(json, result.counters);
  if (!printed.empty()) json["printed"] = printed;
  if (report) json["sanitize"] = sanitize_json(*report, kDone);
  fmt::print("{}", util::json_text(json));
}

Status check_against(const ReplayCommand& options) {
  if (!options.against) return {};
  if (options.against->empty())
    return errorf("--against: names no file; write --against FILE or --against captured");
  if (!options.is_under_rocm())
    return errorf(
        "--against: compares times, which the engine alone does not have; add --hsa, or "
        "--gpu MODEL");
  if (options.no_recopy)
    return errorf("replay: --against and --no-recopy exclude each other; leave out one of them");
  if (options.iterations < 2)
    return errorf(
        "--against: one pair of runs says nothing about their scatter; ask for more with "
        "-n, as in -n 20 --warmup 2");
  return {};
}

Status check_choices(const ReplayCommand& options) {
  const auto exclude = [](const char* what) {
    return errorf("replay: %s exclude each other; leave out one of them", what);
  };
  if (options.on_engine && options.hsa) return exclude("--engine and --hsa");
  if (options.on_engine && !options.gpus.empty()) return exclude("--engine and --gpu");
  if (options.recopy && options.no_recopy) return exclude("--recopy and --no-recopy");
  // As an unset variable of a script gives it: the captured kernel must not pass for the new one.
  if (options.swap && options.swap->empty())
    return errorf("--swap: names no file; write --swap FILE, or leave it out");
  if (options.dump && options.dump->empty())
    return errorf("--dump: names no folder; write --dump DIR, or leave it out");
  return check_against(options);
}

int replay_capture(const ReplayCommand& options) {
  if (const Status good = check_choices(options); !good.ok()) return fail(good.error());
  int exit_code = kDone;
  const std::unique_ptr<CaptureFile> opened = open_captures(options.file, &exit_code);
  if (opened == nullptr) return exit_code;
  const CaptureFile& file = *opened;
  const Capture* chosen = usable_capture(file, options.capture, &exit_code);
  if (chosen == nullptr) return exit_code;
  const Capture& capture = *chosen;
  if (options.is_under_rocm() || options.reserve_check)
    return replay_under_rocm(options, file, capture);
  const auto grid = parse_grid(options.grid);
  if (!grid.ok()) return fail(grid.error());
  const CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  const Result<replay::Tolerance> tolerance = check_verify(options, capture, kernel);
  if (!tolerance.ok()) return fail(tolerance.error());
  const Result<std::optional<sanitize::ToolSet>> tools = parse_sanitize(options.sanitize);
  if (!tools.ok()) return fail(tools.error());
  const Result<std::unique_ptr<CapturedMemory>> memory = CapturedMemory::load(file, capture);
  if (!memory.ok()) return fail(memory.error(), kCannotReserve);

  std::string printed;
  std::optional<KernelSanitizer> sanitizer;
  if (*tools) sanitizer.emplace(**tools, proof::memory_map(capture));
  const Result<std::unique_ptr<jit::Compiler>> compiler = make_compiler(options.engine);
  if (!compiler.ok()) return fail(compiler.error());
  const replay::ReplayResult result = replay::run_replay(
      capture, kernel, **memory,
      {.iterations = options.iterations,
       .warmup = options.warmup,
       .recopy = !options.no_recopy,
       .count = options.counters,
       .threads = thread_count(options.engine),
       .seed = options.engine.seed,
       .watchdog_instructions = options.engine.watchdog,
       .compiler = compiler->get(),
       .workgroups = *grid,
       .swap = options.swap.value_or(""),
       .watchers = sanitizer ? sanitizer->watchers() : std::span<emu::Watcher* const>(),
       .printed = kernel_output(options, printed)});
  if (result.refusal != replay::Refusal::kNone)
    return fail({result.why}, exit_code_of(result.refusal));
  std::optional<SanitizeReport> report;
  if (sanitizer)
    report = sanitizer->report(names_of(capture, kernel, **memory, result), result.seconds.size(),
                               result.fault.has_value());
  if (report) fmt::print(stderr, "{}", sanitize_text(*report, kMostShown));
  if (result.fault) {
    return fail({fmt::format("{}: {}; add --sanitize to see which access was wrong first",
                             util::escape_control(capture.kernel),
                             replay::describe_fault(capture, kernel, **memory, *result.fault))},
                kKernelFault);
  }
  std::optional<replay::Verdict> verdict;
  if (options.verify) verdict = replay::verify(file, capture, kernel, **memory, *tolerance);
  if (options.dump)
    if (const Status dumped = dump_buffers(*options.dump, kernel, **memory); !dumped.ok())
      return fail(dumped.error());
  const replay::Verdict* shown = verdict ? &*verdict : nullptr;
  const int status = verdict && !verdict->equal() ? kMismatch : kDone;
  if (options.json) print_json(options, capture, kernel, result, shown, printed, report);
  else print_text(options, capture, kernel, result, shown);
  return report && report->errors() != 0 ? static_cast<int>(kIncomplete) : status;
}

}  // namespace

void add_replay(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<ReplayCommand>();
  std::string codes = "\nExit status of a replay:\n";
  for (const ReplayExit& exit : kReplayExits)
    codes += fmt::format("  {}  {}\n", exit.code, exit.meaning);
  Command& command = parent.add_command(
      "replay",
      "run a captured dispatch again: on the engine, without ROCm or a GPU, or through ROCm; exit "
      "status 15 if --verify finds a difference",
      "replay FILE.wtcap [OPTIONS]",
      "  wavetap replay saxpy.wtcap --verify\n"
      "  wavetap replay gemm.wtcap -n 10 --verify=rel=1e-5 --swap gemm_new.hsaco\n"
      "  wavetap replay saxpy.wtcap --counters --json\n"
      "  wavetap replay saxpy.wtcap --gpu rx6800xt -n 100 --warmup 5 --verify\n" +
          codes);
  command.add_option("FILE", options->file, "a file of wavetap capture")->required();
  command.add_option("--capture", options->capture, "which one, when the file has several (1)")
      ->type_name("N");
  command
      .add_option("--iterations,-n", options->iterations,
                  "how often; the captured memory is restored in between")
      ->type_name("N")
      ->between(1, 1e6);
  command.add_option("--warmup", options->warmup, "runs before those, without times (0)")
      ->type_name("N")
      ->between(0, 1e6);
  command.add_flag("--no-recopy", options->no_recopy, "each run begins where the last one ended");
  command.add_flag("--recopy", options->recopy, "restore the captured memory (the default)");
  command
      .add_option("--gpu", options->gpus,
                  "run it through AMD's runtime on a virtual GPU, in a process of its own")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  command.add_flag("--engine", options->on_engine,
                   "run it on the engine alone, without ROCm (the default)");
  command.add_flag("--hsa", options->hsa, "the same on a GPU of this machine");
  command.add_flag("--reserve-check", options->reserve_check,
                   "with --gpu or --hsa: only say whether its memory can be had at its addresses");
  command.add_flag(
      "--relocate", options->relocate,
      "with --gpu or --hsa: if not all places can be had, memory lies elsewhere; words that "
      "look like pointers into it are changed, so the replay is not exact and says so");
  command
      .add_option("--verify", options->verify,
                  "compare every byte written with what the captured dispatch left: bit by bit, or "
                  "floating-point buffers within abs=X, rel=X or ulp=N; arg2:f16:abs=X for "
                  "argument 2 and what its numbers are; several with commas")
      ->type_name("[bits|TOLERANCE]")
      ->expected(0, 1);
  command.add_option("--dump", options->dump, "write the buffers of the arguments there: argN.bin")
      ->type_name("DIR");
  command.add_option("--grid", options->grid, "another number of workgroups")
      ->type_name("X[,Y[,Z]]");
  command
      .add_option("--swap", options->swap,
                  "take the kernel of the same name from this program or code object")
      ->type_name("FILE");
  command
      .add_option("--against", options->against,
                  "with --gpu or --hsa: take turns with the kernel of this file, or with the "
                  "captured one, and say which is faster, with the 95 % interval")
      ->type_name("FILE|captured");
  command.add_flag("--counters", options->counters, "count what the dispatch does");
  add_sanitize_option(command, options->sanitize);
  add_engine_options(command, options->engine);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = replay_capture(*options); });
}

}  // namespace wavetap::cli
