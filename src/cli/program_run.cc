#include "cli/program_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "cli/command.h"
#include "cli/counters_report.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/live_process.h"
#include "cli/preflight.h"
#include "cli/run_dir.h"
#include "format/probe_ring.h"
#include "format/session.h"
#include "swap/table.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"
#include "vgpu/config.h"
#include "vgpu/run_directory.h"

namespace wavetap::cli {
namespace {

Result<std::string> jit_mode(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* const set = std::getenv("WAVETAP_GPU_JIT");
  const std::string mode = set == nullptr || *set == '\0' ? "off" : set;
  if (mode == "off" || mode == "on" || mode == "verify") return mode;
  return errorf(
      "WAVETAP_GPU_JIT: %s is none of off, on, verify; set it to one of them, or unset it",
      util::escape_control(mode).c_str());
}

Result<vgpu::Config> make_config(const RunOptions& options, std::vector<model::Model> models,
                                 const std::string& counters_file) {
  vgpu::Config config;
#if defined(WT_SANITIZE_ADDRESS)
  // The thunk looks for its terabyte of addresses where the sanitizer's shadow is, two megabytes at
  // a time.
  config.low_va = true;
#endif
  if (!options.counters.empty()) config.counters_file = counters_file;
  config.cache_counters = options.caches;
  config.warm_caches = options.warm_caches;
  config.findings_file = options.findings_file;
  config.sanitize_tools = options.sanitize_tools;
  config.sanitize_kernels = options.sanitize_kernels;
  config.sanitize_launches = options.sanitize_launches;
  if (!options.findings_file.empty()) config.guard_allocations = true;
  config.probe_dir = options.probe.folder;
  config.probe_handlers = options.probe.handlers;
  config.probe_kernels = options.probe.kernels;
  config.probe_libraries = options.probe.libraries;
  config.probe_not_libraries = options.probe.not_libraries;
  config.probe_launches = options.probe.launches;
  config.probe_every = options.probe.every;
  config.probe_max = options.probe.max;
  config.capture_dir = options.capture.folder;
  config.capture_pattern = options.capture.kernels;
  config.capture_launches = options.capture.launches;
  config.capture_max = options.capture.max;
  config.models = std::move(models);
  config.seed = options.seed;
  config.threads = options.threads;
  config.watchdog_instructions = options.watchdog;
  const Result<std::string> mode = jit_mode(options.jit);
  if (!mode.ok()) return mode.error();
  const Result<std::string> jit = library_for_jit(*mode);
  if (!jit.ok()) return jit.error();
  config.jit_library = *jit;
  config.jit_verify = *mode == "verify";
  config.jit_cache = jit_cache_folder(*mode);
  config.compile_cache = compile_cache_folder();
  if (config.jit_verify) config.threads = 1;  // others would change what is read twice
  for (const std::string& option : options.gpu_options) {
    const Status set = vgpu::set_driver_option(config, option);
    if (!set.ok()) return set.error();
  }
  const Status valid = vgpu::validate(config);
  if (!valid.ok()) return valid.error();
  return config;
}

using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr char kHsaTools[] = "HSA_TOOLS_LIB";

void add_gpu_tool(Environment& environment, const std::string& library) {
  for (auto& [name, value] : environment) {
    if (name != kHsaTools) continue;
    value = tools_with_gpu(library, value);
    return;
  }
  environment.emplace_back(kHsaTools, tools_with_gpu(library, tools_asked_for()));
}

// Fills the run folder for the library that plays the GPUs.
Result<vgpu::Config> prepare_gpus(const RunOptions& options, const std::string& program,
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

Status check_options(const RunOptions& options) {
  if (!options.counters.empty() && options.gpus.empty())
    return errorf("run: --counters counts what virtual GPUs do; add --gpu MODEL");
  if (options.gpus.empty() && !options.jit.empty() && options.jit != "off")
    return errorf("run: --gpu-jit is about virtual GPUs; add --gpu MODEL (see wavetap gpu list)");
  if (options.caches && options.counters.empty())
    return errorf("run: --caches adds to --counters; add --counters FILE");
  if (options.warm_caches && !options.caches)
    return errorf("run: --warm-caches adds to --caches; add --counters FILE --caches");
  if (options.recording.append && options.no_trace)
    return errorf("run: --append adds to a trace, --no-trace records none; leave out one of them");
  if (!options.swap.source.empty() && options.no_trace)
    return errorf("run: --swap works in the recorder; leave out --no-trace");
  if (options.swap.watch && options.swap.source.empty())
    return errorf("run: --swap-watch says how --swap works; add --swap DIR");
  if (options.swap.turns && options.swap.source.empty())
    return errorf("run: --swap-ab says how --swap works; add --swap DIR");
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
Status prepare_recording(const RunOptions& options, const RunDir& run_dir, Surroundings& to) {
  if (options.no_trace) return {};
  const Result<std::string> agent = agent_library();
  if (!agent.ok()) return agent.error();
  const Result<std::string> library = preloadable(*agent, run_dir.path());
  if (!library.ok()) return library.error();
  std::string table;
  if (!options.swap.source.empty()) {
    const Result<std::string> prepared = prepare_swap(options.swap, run_dir.path());
    if (!prepared.ok()) return prepared.error();
    table = *prepared;
  }
  Result<Recording> begun = Recording::begin(options.recording);
  if (!begun.ok() && (options.require_gpu || !table.empty() || !options.probe.request_file.empty()))
    return begun.error();
  if (!begun.ok()) {
    warn({begun.error().message + "; the program runs unrecorded"});
    return {};
  }
  to.recording = std::move(*begun);
  to.agent_preload = *library;
  to.environment = to.recording->environment();
  to.environment.emplace_back(kHsaTools, tools_list(*library));
  if (!table.empty()) to.environment.emplace_back(swap::kTableVariable, table);
  if (!options.probe.request_file.empty())
    to.environment.emplace_back(format::kProbeVariable, options.probe.request_file);
  return {};
}

// The virtual GPUs' part, and that of the correction of device figures.
Status prepare_devices(const RunOptions& options, const std::string& program, const RunDir& run_dir,
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
    if (config->guard_allocations || options.probe.names_buffers)
      to.environment.emplace_back("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1");
    // The library learns there how many bytes the program asks for, and lets it sleep where it waits.
    add_gpu_tool(to.environment, *library);
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

int start(const RunOptions& options, const std::vector<std::string>& program, RunDir& run_dir,
          Surroundings& surroundings, bool* ran) {
  util::RunDetails details;
  const Result<int> status = util::run_in_foreground({program, surroundings.environment}, &details);
  if (!status.ok()) {
    if (surroundings.recording) surroundings.recording->discard();
    return fail(status.error(), details.start_errno == 0
                                    ? static_cast<int>(kUsage)
                                    : util::start_failure_status(details.start_errno));
  }
  *ran = true;
  if (!options.counters.empty() && !surroundings.counters_file.empty()) {
    const Status counted = write_counters(surroundings.counters_file, options.counters);
    if (!counted.ok()) warn(counted.error());  // the exit status is the program's
  }
  const std::vector<Inheritor> running = find_inheritors(surroundings, run_dir);
  // A process that rewrites its own environment (setproctitle) is not found by it; its lock is.
  if (!running.empty() || vgpu::is_run_dir_held(run_dir.path())) run_dir.keep();
  if (!surroundings.recording) return *status;
  const Recording::Outcome outcome = surroundings.recording->finish(*status, details, running);
  if (!options.swap.source.empty()) print_swaps(outcome.swaps, options.swap.source);
  if (options.gpus.empty() && outcome.processes > 0 && outcome.kernels == 0u && !machine_has_gpu())
    fmt::print(
        stderr,
        "wavetap: note: this machine has no GPU that ROCm can use; run the program on a "
        "virtual one, wavetap run --gpu MODEL (see wavetap gpu list), or ask wavetap doctor\n");
  return options.require_gpu && *status == 0 ? require_kernels(program[0], outcome.kernels)
                                             : *status;
}

}  // namespace

int run_program(const RunOptions& options, const std::vector<std::string>& program, bool* ran) {
  bool ignored = false;
  if (ran == nullptr) ran = &ignored;
  *ran = false;
  if (program.empty())
    return fail(errorf("run: no program given; write wavetap run [OPTIONS] -- CMD [ARG…]"));
  if (const Status allowed = check_options(options); !allowed.ok()) return fail(allowed.error());
  if (options.no_trace && options.gpus.empty() && options.correct_library.empty()) {
    int reason = 0;
    const Error error = util::replace_process({program, {}}, &reason);
    return fail(error, util::start_failure_status(reason));
  }
  // Counters without a recording are kept in there, and can be large.
  const bool is_small = !options.no_trace || options.counters.empty();
  Result<RunDir> run_dir =
      RunDir::create(is_small ? RunDir::Use::kSmallFiles : RunDir::Use::kAnyFiles);
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
  return start(options, program, *run_dir, surroundings, ran);
}

}  // namespace wavetap::cli
