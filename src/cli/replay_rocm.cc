// The process that replays is this program once more, with the same arguments, the virtual GPU's
// library preloaded, and kChild in its environment. It comes with another layout of addresses each
// time, so where a library of its own or the runtime lies on captured memory the next one may do.
#include "cli/replay_rocm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "amd/gfx_target.h"
#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/engine_counters.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/run_dir.h"
#include "cli/run_environment.h"
#include "proof/difference.h"
#include "replay/describe_fault.h"
#include "replay/rocm_replay.h"
#include "replay/touched_memory.h"
#include "util/file.h"
#include "util/json.h"
#include "util/subprocess.h"
#include "util/text.h"
#include "vgpu/config.h"
#include "vgpu/run_directory.h"

namespace wavetap::cli {
namespace {

// "hold" or "free" (replay/rocm_memory.h) and which attempt it is; the last one tells of failures.
constexpr const char* kChild = "WAVETAP_REPLAY_CHILD";
constexpr int kAttempts = 4;

Status check_options(const ReplayCommand& options) {
  if (!options.is_under_rocm())
    return errorf("--reserve-check: is about AMD's runtime; add --gpu MODEL or --hsa");
  if (options.hsa && !options.gpus.empty())
    return errorf("replay: --gpu and --hsa exclude each other; leave out one of them");
  if (options.counters && options.hsa)
    return errorf(
        "--counters: a real GPU's counters belong to AMD's profiler, and what ours count it does "
        "not have; count on a virtual one with --gpu MODEL, or on the engine, without both");
  if (options.hsa && !machine_has_gpu())
    return errorf(
        "--hsa: this machine has no GPU that ROCm can use; take a virtual one with --gpu MODEL, "
        "or the engine, without both");
  if (options.sanitize)
    return errorf("--sanitize: works on the engine only; leave out --gpu and --hsa");
  if (options.reserve_check && (options.counters || options.changes_launch() || options.against))
    return errorf(
        "--reserve-check: runs nothing; leave out --counters, --grid, --swap and --against, or "
        "the check");
  const auto grid = parse_grid(options.grid);
  return grid.ok() ? Status() : Status(grid.error());
}

// This command line again.
Result<std::vector<std::string>> own_arguments() {
  const Result<std::vector<std::byte>> bytes = util::read_file("/proc/self/cmdline");
  if (!bytes.ok()) return bytes.error();
  std::vector<std::string> words;
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  for (size_t at = 0; at < text.size(); at = text.find('\0', at) + 1)
    words.emplace_back(text.substr(at, text.find('\0', at) - at));
  if (words.empty()) return errorf("replay: its own command line cannot be read");
  words[0] = util::executable_folder() + "/wavetap";
  return words;
}

// Counters on which the kernel's waves wait for each other, which another kernel has set up.
std::string wave_sync_of(const ReplayCommand& options, const replay::Capture& capture) {
  replay::WaveSyncCounters counters = replay::captured_wave_sync(capture);
  if (const auto workgroups = parse_grid(options.grid); workgroups.ok() && *workgroups)
    if (Result<replay::ChangedGrid> grid = replay::change_grid(capture, {}, **workgroups);
        grid.ok())
      counters = std::move(grid->wave_sync);
  std::string text;
  for (const auto& [number, value] : counters)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", number, value);
  return text;
}

// Where the virtual GPU of a replay writes what it counts.
std::string counters_path(const std::string& run_dir) { return run_dir + "/counters"; }

// The last run's: the file is emptied before each run, and copies come behind it.
std::optional<emu::Counters> read_counters(const std::string& path) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return {};
  const std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  for (const std::string& line : util::split(text, '\n'))
    if (const std::optional<emu::Counters> counters = counters_of_line(line)) return counters;
  return {};
}

Status add_virtual_gpu(const ReplayCommand& options, const replay::Capture& capture,
                       const RunDir& run_dir, util::Command& command) {
  Result<std::vector<model::Model>> models = find_models(options.gpus);
  if (!models.ok()) return models.error();
  vgpu::Config config;
#if defined(WT_SANITIZE_ADDRESS)
  config.low_va = true;  // as in cmd_run.cc
#endif
  config.models = std::move(*models);
  config.wave_sync = wave_sync_of(options, capture);
  if (options.counters) config.counters_file = counters_path(run_dir.path());
  config.threads = thread_count(options.engine);
  config.seed = options.engine.seed;
  const Result<std::string> jit = library_for_jit(options.engine.jit);
  if (!jit.ok()) return jit.error();
  config.jit_library = *jit;
  config.jit_verify = options.engine.jit == "verify";
  config.jit_cache = jit_cache_folder(options.engine.jit);
  config.compile_cache = compile_cache_folder();
  const Result<std::string> gpu = gpu_library();
  if (!gpu.ok()) return gpu.error();
  const Result<std::string> library = preloadable(*gpu, run_dir.path());
  if (!library.ok()) return library.error();
  const Status ready = vgpu::write_run_dir(run_dir.path(), config);
  if (!ready.ok()) return ready;
  command.environment.emplace_back(vgpu::kRunDirVariable, run_dir.path());
  command.environment.emplace_back("LD_PRELOAD", preload_list(*library, "", ""));
  command.environment.emplace_back("HSA_TOOLS_LIB", tools_with_gpu(*library, tools_asked_for()));
  return {};
}

// Not the kernel's doing: what a key or a kill sends, to both processes or to one that passes it on.
bool is_ended_by_user(int code) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    if (code == 128 + number) return true;
  return false;
}

int start(const ReplayCommand& options, const replay::Capture& capture) {
  const Result<RunDir> run_dir = RunDir::create(RunDir::Use::kSmallFiles);
  if (!run_dir.ok()) return fail(run_dir.error());
  Result<std::vector<std::string>> arguments = own_arguments();
  if (!arguments.ok()) return fail(arguments.error());
  util::Command command{std::move(*arguments), {}, /*ends_with_us=*/true, /*random_layout=*/true};
  if (!options.gpus.empty())
    if (const Status added = add_virtual_gpu(options, capture, *run_dir, command); !added.ok())
      return fail(added.error());
  const bool is_low = std::all_of(
      capture.regions.begin(), capture.regions.end(), [](const replay::CapturedRegion& region) {
        return !region.has_contents() || region.end() < replay::kThunkRangeEnd;
      });
  int code = kDone;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const bool hold = is_low ? attempt % 2 == 0 : attempt != 2;
    util::Command once = command;
    once.environment.emplace_back(kChild, (hold ? "hold " : "free ") + std::to_string(attempt));
    const Result<int> status = util::run_in_foreground(once);
    if (!status.ok()) return fail(status.error());
    code = *status;
    if (code != kCannotReserve) break;
  }
  if (is_ended_by_user(code)) return code;
  if (code == 128 + SIGKILL)
    return fail(errorf("%s: the process that replayed it was killed; if memory ran out, capture "
                       "with --only-touched",
                       options.file.c_str()),
                code);
  if (code > 128)
    return fail(errorf("%s: the process that replayed it was ended by signal %d; try it on the "
                       "engine, without --gpu",
                       options.file.c_str(), code - 128),
                kKernelFault);
  return code;
}

void print_check(const replay::RocmResult& result) {
  if (result.taken.empty()) {
    fmt::print("{}: {} of memory in {} can be had at the captured addresses ({})\n", result.gpu,
               util::human_bytes(result.placed_bytes), util::count_of(result.ranges, "range"),
               result.method);
  }
  for (const std::string& taken : result.taken) fmt::print("{}\n", util::escape_control(taken));
}

// Which of two kernels is faster, by runs that took turns.
struct Turns {
  const ReplayCommand& options;
  const std::vector<double>& against;
  proof::Difference difference;

  // On a virtual GPU, runs take what their emulation takes, which is another thing.
  const char* clock() const { return options.hsa ? "gpu" : "emulation"; }
  const char* verdict() const {
    if (difference.is_lower()) return "faster";
    return difference.is_higher() ? "slower" : "no difference";
  }
  nlohmann::ordered_json json() const {
    nlohmann::ordered_json made = times_json(against);
    made.update({{"kernel_from", *options.against},
                 {"clock", clock()},
                 {"verdict", verdict()},
                 {"pairs", difference.pairs},
                 {"ratio", difference.ratio},
                 {"low", difference.low},
                 {"high", difference.high}});
    return made;
  }
  std::string text(const std::string& where) const {
    return fmt::format("{}: {}\n{}{}: {}\n", util::escape_control(*options.against),
                       times_text(against, where), verdict(),
                       options.hsa ? "" : " (by the time of the emulation, which is not a GPU's)",
                       proof::to_text(difference));
  }
};

Turns turns_of(const ReplayCommand& options, const replay::RocmResult& result) {
  return {options, result.against, proof::compare_pairs(result.against, result.seconds)};
}

// What is told of a replay.
struct Outcome {
  const replay::Capture& capture;
  const replay::CapturedKernel& kernel;
  const replay::RocmResult& result;
  std::optional<replay::Verdict> verdict;
  std::optional<emu::Counters> counters;
  std::string printed;
  int attempt = 1;
};

void tell_json(const ReplayCommand& options, const Outcome& outcome) {
  const replay::RocmResult& result = outcome.result;
  nlohmann::ordered_json told = {{"file", options.file},
                                 {"capture", outcome.capture.dispatch.capture},
                                 {"kernel", outcome.capture.kernel},
                                 {"target", amd::to_string(outcome.capture.target)},
                                 {"workgroups", result.workgroups},
                                 {"gpu", result.gpu},
                                 {"placed_bytes", result.placed_bytes},
                                 {"method", result.method},
                                 {"attempts", outcome.attempt},
                                 {"exact", result.moved_ranges == 0}};
  if (result.moved_ranges > 0)
    told["relocated"] = {{"ranges", result.moved_ranges},
                         {"bytes", result.moved_bytes},
                         {"changed_words", result.changed_words}};
  told.update(times_json(result.seconds));
  if (options.against) told["against"] = turns_of(options, result).json();
  if (outcome.verdict) told["verify"] = verdict_json(outcome.kernel, *outcome.verdict);
  if (outcome.counters) add_counters(told, *outcome.counters);
  if (!outcome.printed.empty()) told["printed"] = outcome.printed;
  fmt::print("{}", util::json_text(told));
}

void tell_text(const ReplayCommand& options, const Outcome& outcome) {
  const replay::RocmResult& result = outcome.result;
  const std::string where = "on " + result.gpu + " through ROCm";
  fmt::print("{}: {},{},{} workgroups, {}\n", util::escape_control(outcome.capture.kernel),
             result.workgroups[0], result.workgroups[1], result.workgroups[2],
             times_text(result.seconds, where));
  if (options.against) fmt::print("{}", turns_of(options, result).text(where));
  if (result.moved_ranges > 0)
    fmt::print(
        "inexact: {} of memory in {} lie elsewhere than captured, because not all places can be "
        "had; {} that look like pointers into it were changed\n",
        util::human_bytes(result.moved_bytes), util::count_of(result.moved_ranges, "range"),
        util::count_of(result.changed_words, "word"));
  if (outcome.verdict) print_verdict(outcome.kernel, *outcome.verdict);
  if (outcome.counters) print_counters(*outcome.counters);
}

// The code objects that take the captured kernel's place; "": itself.
std::vector<std::string> kernels_of(const ReplayCommand& options) {
  std::vector<std::string> kernels = {options.swap.value_or("")};
  if (options.against) kernels.push_back(*options.against == kCaptured ? "" : *options.against);
  return kernels;
}

// The ranges of memory that the dispatch touches, from the file or from runs on the engine: another
// kernel may touch other parts of it.
Result<std::vector<format::CaptureTouchedPage>> find_pages(
    const ReplayCommand& options, const std::optional<replay::Workgroups>& workgroups,
    const replay::Capture& capture, const replay::CapturedKernel& kernel,
    replay::CapturedMemory& memory, int* exit_code) {
  const std::vector<std::string> kernels = kernels_of(options);
  const bool as_captured =
      !workgroups && std::all_of(kernels.begin(), kernels.end(),
                                 [](const std::string& swap) { return swap.empty(); });
  if (!capture.touched.empty() && as_captured) return capture.touched;
  replay::ReplayOptions run;
  run.threads = options.engine.threads;
  run.seed = options.engine.seed;
  run.watchdog_instructions = options.engine.watchdog;
  run.workgroups = workgroups;
  replay::TouchedMemory touched;
  for (const std::string& swap : kernels) {
    run.swap = swap;
    const replay::ReplayResult ran = replay::find_touched(capture, kernel, memory, run, touched);
    *exit_code = exit_code_of(ran.refusal);
    if (ran.refusal != replay::Refusal::kNone) return Error{ran.why};
    // Memory that was not kept would be zeros there.
    if (ran.fault && capture.is_only_touched()) {
      *exit_code = kKernelFault;
      return errorf("%s: %s; capture without --only-touched for launches of another kind",
                    util::escape_control(capture.kernel).c_str(),
                    replay::describe_fault(capture, kernel, memory, *ran.fault).c_str());
    }
    memory.restore();
  }
  return touched.pages();
}

// Says what there is to say of a replay that did not come to an end. The exit code; kDone: it did.
int tell_failure(const ReplayCommand& options, const replay::Capture& capture,
                 const replay::RocmResult& result, bool is_last) {
  const bool is_taken = !result.taken.empty();
  if (is_taken && !is_last) return kCannotReserve;
  if (options.reserve_check && (is_taken || result.refusal == replay::Refusal::kNone)) {
    print_check(result);
    return is_taken ? kCannotReserve : kDone;
  }
  if (is_taken)
    return fail(errorf("%s: %s; replay on the engine, without --gpu and --hsa, or let memory lie "
                       "elsewhere with --relocate, which is not exact",
                       options.file.c_str(), result.why.c_str()),
                kCannotReserve);
  if (result.refusal != replay::Refusal::kNone)
    return fail({result.why}, exit_code_of(result.refusal));
  if (!result.fault.empty())
    return fail({util::escape_control(capture.kernel) + ": " + result.fault +
                 "; run it on the engine, without --gpu, to see where"},
                kKernelFault);
  return kDone;
}

// Kernels of other files that the options name.
struct OtherKernels {
  std::optional<replay::SwappedKernel> swapped, against;

  std::optional<const replay::SwappedKernel*> taking_turns(const ReplayCommand& options) const {
    if (!options.against) return {};
    return against ? &*against : nullptr;
  }
};

OtherKernels open_others(const ReplayCommand& options, const replay::Capture& capture,
                         const replay::CapturedKernel& kernel) {
  OtherKernels others;
  if (options.swap) others.swapped = replay::open_swapped(capture, kernel, *options.swap);
  if (options.against && *options.against != kCaptured)
    others.against = replay::open_swapped(capture, kernel, *options.against);
  return others;
}

int replay_here(const ReplayCommand& options, const replay::CaptureFile& file,
                const replay::Capture& capture, std::string_view how) {
  const int attempt = how.empty() ? 1 : how.back() - '0';
  const bool is_last = attempt >= kAttempts;
  const bool hold = how.starts_with("hold");
  replay::HeldRanges all;
  std::vector<replay::AddressRange> regions;
  for (const replay::CapturedRegion& region : capture.regions)
    if (region.has_contents()) regions.push_back({region.begin(), region.end(), &region});
  if (hold) all.hold(regions);
  const replay::CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  const Result<replay::Tolerance> tolerance = check_verify(options, capture, kernel);
  if (!tolerance.ok()) return fail(tolerance.error());
  const auto grid = parse_grid(options.grid);
  if (!grid.ok()) return fail(grid.error());
  const auto memory = replay::CapturedMemory::load(file, capture);
  if (!memory.ok()) return fail(memory.error(), kCannotReserve);
  int exit_code = kDone;
  const auto pages = find_pages(options, *grid, capture, kernel, **memory, &exit_code);
  if (!pages.ok()) return fail(pages.error(), exit_code);
  const OtherKernels others = open_others(options, capture, kernel);
  for (const auto* other : {&others.swapped, &others.against})
    if (*other && (*other)->refusal != replay::Refusal::kNone)
      return fail({(*other)->why}, exit_code_of((*other)->refusal));
  const char* run_dir = std::getenv(vgpu::kRunDirVariable);
  const std::string counters = counters_path(run_dir == nullptr ? "" : run_dir);
  std::string printed;
  const replay::RocmResult result =
      replay::replay_on_rocm(capture, kernel, **memory, *pages, all,
                             {.iterations = options.iterations,
                              .warmup = options.warmup,
                              .recopy = !options.no_recopy,
                              .hold = hold,
                              .check_only = options.reserve_check,
                              .relocate = options.relocate && is_last && !options.reserve_check,
                              .workgroups = *grid,
                              .swapped = others.swapped ? &*others.swapped : nullptr,
                              .against = others.taking_turns(options),
                              .before_run =
                                  [&] {
                                    if (options.counters) (void)::truncate(counters.c_str(), 0);
                                  },
                              .printed = kernel_output(options, printed)});
  const int failure = tell_failure(options, capture, result, is_last);
  if (failure != kDone || options.reserve_check) return failure;
  Outcome outcome{capture, kernel, result, {}, {}, std::move(printed), attempt};
  if (options.verify)
    outcome.verdict = replay::verify(file, capture, kernel, **memory, *tolerance, result.heap);
  if (options.counters) outcome.counters = read_counters(counters);
  if (options.counters && !outcome.counters)
    return fail(errorf("%s: the virtual GPU has counted nothing; replay it on the engine",
                       options.file.c_str()));
  if (options.dump)
    if (const Status dumped = dump_buffers(*options.dump, kernel, **memory); !dumped.ok())
      return fail(dumped.error());
  options.json ? tell_json(options, outcome) : tell_text(options, outcome);
  return outcome.verdict && !outcome.verdict->equal() ? kMismatch : kDone;
}

}  // namespace

int replay_under_rocm(const ReplayCommand& options, const replay::CaptureFile& file,
                      const replay::Capture& capture) {
  const Status good = check_options(options);
  if (!good.ok()) return fail(good.error());
  if (const auto grid = parse_grid(options.grid); *grid)
    if (const auto changed = replay::change_grid(capture, {}, **grid); !changed.ok())
      return fail(changed.error(), exit_code_of(replay::Refusal::kArgument));
  if (options.hsa && !replay::captured_wave_sync(capture).empty())
    return fail(
        errorf("%s: its waves wait for each other through the GPU's global wave sync, which "
               "cannot be set up from outside; replay it without --hsa",
               util::escape_control(capture.kernel).c_str()),
        exit_code_of(replay::Refusal::kArgument));
  const char* how = std::getenv(kChild);
  return how == nullptr ? start(options, capture) : replay_here(options, file, capture, how);
}

}  // namespace wavetap::cli
