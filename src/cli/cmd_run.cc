// wavetap run: starts a program, recorded, on virtual GPUs when --gpu says so, and hands back its
// exit status.
//
// The program runs as a child with libwavetap.so preloaded, which records into a session folder
// that becomes the trace when the program has ended (recording.h). With --gpu libwavetap_gpu.so is
// preloaded as well; a run folder tells it which GPUs to be. Standard streams, signals and exit
// status are the program's own. With --no-trace and without --gpu this process simply becomes the
// program.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <variant>

#include "cli/command.h"
#include "cli/counters_report.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/live_process.h"
#include "cli/preflight.h"
#include "cli/recording.h"
#include "cli/run_dir.h"
#include "cli/run_environment.h"
#include "cli/usage.h"
#include "format/session.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"
#include "vgpu/config.h"
#include "vgpu/run_directory.h"

namespace wavetap::cli {
namespace {

struct Options {
  std::vector<std::string> gpus;
  bool no_trace = false;
  bool require_gpu = false;
  RecordingOptions recording;
  bool no_checks = false;
  RunEnvironment environment;
  std::string correct_library;  // from the above; "" for none
  uint64_t seed = 0;
  uint32_t threads = 0;
  uint64_t watchdog = 0;
  std::string counters;
  std::vector<std::string> gpu_options;
};

Result<vgpu::Config> make_config(const Options& options, std::vector<model::Model> models,
                                 const std::string& counters_file) {
  vgpu::Config config;
#if defined(WT_SANITIZE_ADDRESS)
  // The thunk looks for its terabyte of addresses where the sanitizer's shadow is, two megabytes at
  // a time.
  config.low_va = true;
#endif
  if (!options.counters.empty()) config.counters_file = counters_file;
  config.models = std::move(models);
  config.seed = options.seed;
  config.threads = options.threads;
  config.watchdog_instructions = options.watchdog;
  for (const std::string& option : options.gpu_options) {
    const Status set = vgpu::set_driver_option(config, option);
    if (!set.ok()) return set.error();
  }
  const Status valid = vgpu::validate(config);
  if (!valid.ok()) return valid.error();
  return config;
}

// The tools ROCr is asked to load, ours behind them.
std::string tools_list(const std::string& library) {
  const char* present = std::getenv("HSA_TOOLS_LIB");
  const std::string before = present == nullptr ? "" : present;
  if (before.empty() || before == library) return library;
  return before.ends_with(" " + library) ? before : before + " " + library;
}

using Environment = std::vector<std::pair<std::string, std::string>>;

// Fills the run folder for the library that plays the GPUs.
Result<vgpu::Config> prepare_gpus(const Options& options, const std::string& program,
                                  const std::string& run_dir, const std::string& counters_file) {
  Result<std::vector<model::Model>> models = find_models(options.gpus);
  if (!models.ok()) return models.error();
  const std::string program_path = util::find_program(program);
  if (!program_path.empty() && !options.no_checks) {
    std::vector<Error> warnings;
    const Status checked = check_program(program_path, *models, warnings);
    if (!checked.ok()) return checked.error();
    for (const Error& warning : warnings) warn(warning);
  }
  Result<vgpu::Config> config = make_config(options, std::move(*models), counters_file);
  if (!config.ok()) return config.error();
  const Status written = vgpu::write_run_dir(run_dir, *config);
  if (!written.ok()) return written.error();
  return config;
}

// What --require-gpu makes of a program that ended well. `kernels`: how many it dispatched; nothing
// when the trace could not be read.
int require_kernels(const std::string& program, std::optional<uint64_t> kernels) {
  if (kernels && *kernels != 0) return kDone;
  if (!kernels)
    return fail(errorf("--require-gpu: whether %s used the GPU is not known: there is no trace",
                       program.c_str()),
                kIncomplete);
  return fail(errorf("--require-gpu: %s dispatched no kernel: what it computed, it computed on the "
                     "CPU; see wavetap doctor",
                     program.c_str()),
              kIncomplete);
}

Status check_options(const Options& options) {
  if (!options.counters.empty() && options.gpus.empty())
    return errorf("run: --counters counts what virtual GPUs do; add --gpu MODEL");
  if (options.recording.append && options.no_trace)
    return errorf("run: --append adds to a trace, --no-trace records none; leave out one of them");
  if (!options.require_gpu) return {};
  if (options.no_trace)
    return errorf("run: --require-gpu counts kernels in the trace; leave out --no-trace");
  if (options.recording.start_paused)
    return errorf(
        "run: --require-gpu needs a trace of the whole program; leave out --start-paused");
  return {};
}

// What the program is started with, and what is looked at when it has ended.
struct Surroundings {
  Environment environment;
  std::string gpu_preload, correct_preload, agent_preload;
  std::optional<Recording> recording;
  std::string counters_file;
};

// The recorder's part. The program matters more than its trace: without --require-gpu a recording
// that cannot be made is a warning.
Status prepare_recording(const Options& options, const RunDir& run_dir, Surroundings& to) {
  if (options.no_trace) return {};
  const Result<std::string> agent = agent_library();
  if (!agent.ok()) return agent.error();
  const Result<std::string> library = preloadable(*agent, run_dir.path());
  if (!library.ok()) return library.error();
  Result<Recording> begun = Recording::begin(options.recording);
  if (!begun.ok() && options.require_gpu) return begun.error();
  if (!begun.ok()) {
    warn({begun.error().message + "; the program runs unrecorded"});
    return {};
  }
  to.recording = std::move(*begun);
  to.agent_preload = *library;
  to.environment = to.recording->environment();
  to.environment.emplace_back("HSA_TOOLS_LIB", tools_list(*library));
  return {};
}

// The virtual GPUs' part, and that of the correction of device figures.
Status prepare_devices(const Options& options, const std::string& program, const RunDir& run_dir,
                       Surroundings& to) {
  if (!options.gpus.empty()) {
    const Result<std::string> gpu = gpu_library();
    if (!gpu.ok()) return gpu.error();
    const Result<std::string> library = preloadable(*gpu, run_dir.path());
    if (!library.ok()) return library.error();
    // Beside the recording, for the trace to hold them.
    const std::string counters_file = to.recording
                                          ? to.recording->folder() + "/" + format::kCountersFile
                                          : run_dir.path() + "/counters";
    const Result<vgpu::Config> config =
        prepare_gpus(options, program, run_dir.path(), counters_file);
    if (!config.ok()) return config.error();
    to.counters_file = config->counters_file;
    to.gpu_preload = *library;
    to.environment.emplace_back(vgpu::kRunDirVariable, run_dir.path());
    // ROCr packs small allocations into blocks of its own, which would hide their ends from us.
    if (config->guard_allocations)
      to.environment.emplace_back("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1");
  }
  if (!options.correct_library.empty()) {
    const Result<std::string> library = preloadable(options.correct_library, run_dir.path());
    if (!library.ok()) return library.error();
    to.correct_preload = *library;
  }
  return {};
}

// Processes that have inherited the recording or the virtual GPUs and go on after the program has
// ended. One that is just ending gets a moment for it.
std::vector<Inheritor> find_inheritors(const Surroundings& surroundings, const RunDir& run_dir) {
  constexpr int kLooks = 10;
  constexpr useconds_t kPauseUs = 10'000;
  std::vector<Inheritor> found;
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) usleep(kPauseUs);
    found = surroundings.recording
                ? processes_with(format::kSessionVariable, surroundings.recording->folder())
                : processes_with(vgpu::kRunDirVariable, run_dir.path());
    if (found.empty()) break;
  }
  return found;
}

int start(const Options& options, const std::vector<std::string>& program, RunDir& run_dir,
          Surroundings& surroundings) {
  util::RunDetails details;
  const Result<int> status = util::run_in_foreground({program, surroundings.environment}, &details);
  if (!status.ok()) {
    if (surroundings.recording) surroundings.recording->discard();
    return fail(status.error(), details.start_errno == 0
                                    ? static_cast<int>(kUsage)
                                    : util::start_failure_status(details.start_errno));
  }
  if (!options.counters.empty() && !surroundings.counters_file.empty()) {
    const Status counted = write_counters(surroundings.counters_file, options.counters);
    if (!counted.ok()) warn(counted.error());  // the exit status is the program's
  }
  const std::vector<Inheritor> running = find_inheritors(surroundings, run_dir);
  // A process that rewrites its own environment (setproctitle) is not found by it; its lock is.
  if (!running.empty() || vgpu::is_run_dir_held(run_dir.path())) run_dir.keep();
  if (!surroundings.recording) return *status;
  const Recording::Outcome outcome = surroundings.recording->finish(*status, details, running);
  if (options.gpus.empty() && outcome.processes > 0 && outcome.kernels == 0u && !machine_has_gpu())
    fmt::print(
        stderr,
        "wavetap: note: this machine has no GPU that ROCm can use; run the program on a "
        "virtual one, wavetap run --gpu MODEL (see wavetap gpu list), or ask wavetap doctor\n");
  return options.require_gpu && *status == 0 ? require_kernels(program[0], outcome.kernels)
                                             : *status;
}

int run(const Options& options, const std::vector<std::string>& program) {
  if (program.empty())
    return fail(errorf("run: no program given; write wavetap run [OPTIONS] -- CMD [ARG…]"));
  if (const Status allowed = check_options(options); !allowed.ok()) return fail(allowed.error());
  if (options.no_trace && options.gpus.empty() && options.correct_library.empty()) {
    int reason = 0;
    const Error error = util::replace_process({program, {}}, &reason);
    return fail(error, util::start_failure_status(reason));
  }
  Result<RunDir> run_dir = RunDir::create();
  if (!run_dir.ok()) return fail(run_dir.error());
  Surroundings surroundings;
  if (const Status prepared = prepare_recording(options, *run_dir, surroundings); !prepared.ok())
    return fail(prepared.error());
  const Status prepared = prepare_devices(options, program[0], *run_dir, surroundings);
  if (!prepared.ok()) {
    if (surroundings.recording) surroundings.recording->discard();
    return fail(prepared.error());
  }
  const std::string preload = preload_list(surroundings.gpu_preload, surroundings.correct_preload,
                                           surroundings.agent_preload);
  if (!preload.empty()) surroundings.environment.emplace_back("LD_PRELOAD", preload);
  return start(options, program, *run_dir, surroundings);
}

void add_recording_options(Command& command, Options& options) {
  RecordingOptions& recording = options.recording;
  command.add_option("--output,-o", recording.output, "the trace to write (trace.rpd)")
      ->type_name("FILE");
  command.add_flag(
      "--append", recording.append,
      "add to the trace if it exists instead of replacing it; runs into one file at the "
      "same time always share it");
  command.add_flag("--no-trace", options.no_trace, "record nothing");
  command.add_flag("--args", recording.args,
                   "record the arguments of every call and kernel, not only of launches, copies "
                   "and allocations");
  command.add_flag("--stacks", recording.stacks,
                   "record who called: a stack trace with every call");
  command.add_flag("--hsa", recording.hsa, "record the calls of the HSA layer as well");
  command.add_flag("--barriers", recording.barriers, "record barrier packets as well");
  command.add_flag("--start-paused", recording.start_paused,
                   "record nothing until told to: wavetap start PID, or the program itself");
  command.add_flag("--keep-raw", recording.keep_raw, "keep the raw recording beside the trace");
  command
      .add_option("--durations", recording.durations,
                  "write every kernel and copy as CSV (name, queue, start, end, ns) to the console "
                  "or a file")
      ->type_name("console|FILE");
}

void add_gpu_options(Command& command, Options& options) {
  command
      .add_option(
          "--counters", options.counters,
          "count exactly what each dispatch does on the virtual GPUs; written here and into the trace")
      ->type_name("FILE.json");
  command
      .add_option("--gpu-seed", options.seed,
                  "permute the order of workgroups and waves by this seed; 0: natural order")
      ->type_name("N");
  command
      .add_option("--gpu-threads", options.threads,
                  "host threads that run waves; 1 is deterministic; 0: one per core")
      ->type_name("N")
      ->between(0, 1024);
  command
      .add_option("--gpu-watchdog", options.watchdog, "fault a wave after N instructions; 0: never")
      ->type_name("N");
  command.add_option("--gpu-option", options.gpu_options, driver_option_help())
      ->type_name("KEY[=VALUE]")
      ->allow_extra_args(false);
}

}  // namespace

void add_run(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  Command& command = parent.add_command(
      "run", "run a program and record what it does, on virtual GPUs or on the real one",
      "run [OPTIONS] -- CMD [ARG…]",
      "  wavetap run -o step.rpd -- python3 train.py\n"
      "  mpirun -n 4 wavetap run -o ranks.rpd -- ./my_mpi_program\n"
      "  wavetap run --gpu rx6800xt --no-trace -- rocminfo\n"
      "  wavetap run --gpu rx6800xt,mi210 -- ./my_hip_program --size 1024\n"
      "  wavetap run --gpu mi210 --counters counters.json -- ./my_hip_program\n"
      "  wavetap run --gpu rx6800xt --gpu-seed 7 --gpu-threads 1 -- ./racy\n");
  command.prefix_command();
  command
      .add_option(
          "--gpu", options->gpus,
          "virtual GPUs the program sees: names of `wavetap gpu list` or paths of "
          "model files, separated by commas; without it the program runs on the machine's own GPU")
      ->type_name("MODEL[,MODEL…]")
      ->allow_extra_args(false);
  add_recording_options(command, *options);
  add_gpu_options(command, *options);
  command
      .add_option("--correct-device", options->environment.correct,
                  "let HIP and CUDA-named entry points report the "
                  "published figures of the GPU, or those given: multiprocessors, clock-mhz, "
                  "wave-size, lds-bytes, arch")
      ->type_name("[FIELD=VALUE,…]")
      ->expected(0, 1);
  command.add_flag("--require-gpu", options->require_gpu,
                   "exit with 2 when the program ends well and has dispatched no kernel, its "
                   "children included; the runtime's own copies and fills do not count");
  command.add_flag("--safe", options->environment.safe,
                   "change the program's environment as wavetap doctor advises, and say what");
  command.add_flag("--no-checks", options->no_checks,
                   "start the program even if it is known to fail");
  command.callback([options, &command, &invocation] {
    std::vector<std::string> program = command.remaining();
    if (!program.empty() && program[0].starts_with('-')) {
      invocation.exit_code = fail({"run: " + unknown_option(command.describe(), program[0])});
      return;
    }
    // Without our `--` in front, one further on is the program's own.
    if (!program.empty() && invocation.has_separator) program.push_back("--");
    const Result<std::string> library = prepare_environment(options->gpus, options->environment);
    if (!library.ok()) {
      invocation.exit_code = fail(library.error());
      return;
    }
    options->correct_library = *library;
    program.insert(program.end(), invocation.program.begin(), invocation.program.end());
    invocation.exit_code = run(*options, program);
  });
}

}  // namespace wavetap::cli
