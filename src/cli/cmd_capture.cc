// wavetap capture: starts a program, on a virtual GPU or the machine's own, and freezes chosen dispatches
// of it.
//
// The library in the program writes what it captures into a folder beside the output, a file per
// process. When the program has ended, however it did, those files become one .wtcap. If this command
// is killed itself, the folder stays, and its files are captures like any other.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/capture_finish.h"
#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/preflight.h"
#include "cli/run_dir.h"
#include "cli/run_environment.h"
#include "cli/usage.h"
#include "format/capture_request.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"
#include "vgpu/config.h"
#include "vgpu/run_directory.h"

namespace wavetap::cli {
namespace {

// What launches and how many: one, unless more were asked for; of a range, all.
Status check_selection(const CaptureOptions& options, uint64_t* most) {
  Status good = check_kernel_pattern(options.kernel);
  const Result<format::LaunchList> launches = parse_launches(options.launches);
  if (good.ok() && !launches.ok()) return launches.error();
  if (good.ok() && !launches->empty() && options.every > 0)
    good = errorf("capture: --launch and --every exclude each other; leave out one of them");
  if (good.ok() && options.range.find('\n') != std::string::npos)
    good = errorf("--range: the name of a range is one line; write one");
  *most = options.max;
  if (options.max == 0 && options.launches.empty() && options.every == 0 && options.range.empty())
    *most = 1;
  return good;
}

Result<vgpu::Config> make_config(const CaptureOptions& options, uint64_t most,
                                 const std::string& program, const std::string& folder) {
  Result<std::vector<model::Model>> models = find_models(options.gpus);
  if (!models.ok()) return models.error();
  const std::string path = util::find_program(program);
  if (!path.empty()) {
    std::vector<Error> warnings;
    const Status checked = check_program(path, *models, warnings);
    if (!checked.ok()) return checked.error();
    for (const Error& warning : warnings) warn(warning);
  }
  vgpu::Config config;
#if defined(WT_SANITIZE_ADDRESS)
  config.low_va = true;  // as in cmd_run.cc
#endif
  config.models = std::move(*models);
  config.threads = options.threads;
  config.compile_cache = compile_cache_folder();
  Status good;
  for (const std::string& option : options.gpu_options)
    if (good.ok()) good = vgpu::set_driver_option(config, option);
  if (good.ok()) good = vgpu::validate(config);
  if (!good.ok()) return good.error();
  if (options.real) return config;
  config.capture_dir = folder;
  config.capture_pattern = options.kernel;
  config.capture_launches = options.launches;
  config.capture_drain_s = options.drain;
  config.capture_range = !options.range.empty();
  config.capture_every = std::max<uint64_t>(options.every, 1);
  config.capture_max = most;
  return config;
}

// What the recorder in the program is asked for: where dispatches come from, or to capture them itself.
Status write_request(const CaptureOptions& options, uint64_t most, const std::string& folder,
                     const std::string& path) {
  std::string text;
  if (!options.range.empty()) text += "range " + options.range + "\n";
  if (options.real) {
    text += "folder " + folder + "\nevery " + std::to_string(std::max<uint64_t>(options.every, 1)) +
            "\nmax " + std::to_string(most) + "\ndrain " + std::to_string(options.drain) + "\n";
    if (!options.kernel.empty()) text += "kernel " + options.kernel + "\n";
    if (!options.launches.empty()) text += "launch " + options.launches + "\n";
  }
  return util::write_file(path, text);
}

using Environment = std::vector<std::pair<std::string, std::string>>;

// What the program is started with.
Result<Environment> prepare(const CaptureOptions& options, const std::string& program,
                            const std::string& run_dir, const std::string& folder) {
  uint64_t most = 0;
  if (const Status good = check_selection(options, &most); !good.ok()) return good.error();
  const Result<std::string> recorder = agent_library();
  if (!recorder.ok()) return recorder.error();
  const Result<std::string> agent = preloadable(*recorder, run_dir);
  if (!agent.ok()) return agent.error();
  const std::string request = run_dir + "/capture_request";
  if (const Status written = write_request(options, most, folder, request); !written.ok())
    return written.error();
  Environment environment = {{format::kCaptureVariable, request}};
  std::string tools = tools_list(*agent);
  std::string gpu_preload;
  if (!options.gpus.empty()) {
    const Result<std::string> gpu = gpu_library();
    if (!gpu.ok()) return gpu.error();
    const Result<std::string> library = preloadable(*gpu, run_dir);
    if (!library.ok()) return library.error();
    const Result<vgpu::Config> config = make_config(options, most, program, folder);
    if (!config.ok()) return config.error();
    if (const Status ready = vgpu::write_run_dir(run_dir, *config); !ready.ok())
      return ready.error();
    environment.emplace_back(vgpu::kRunDirVariable, run_dir);
    gpu_preload = *library;
    tools = tools_with_gpu(*library, tools);
    // Each allocation apart: the library learns how many bytes the program asks for.
    if (config->guard_allocations) environment.emplace_back("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1");
  }
  environment.emplace_back("LD_PRELOAD", preload_list(gpu_preload, "", *agent));
  environment.emplace_back("HSA_TOOLS_LIB", tools);
  return environment;
}

int capture(CaptureOptions options, const std::vector<std::string>& program) {
  if (program.empty())
    return fail(errorf("capture: no program given; write wavetap capture [OPTIONS] -- CMD [ARG…]"));
  if (options.gpus.empty() && !machine_has_gpu())
    return fail(
        errorf("capture: this machine has no GPU that ROCm can use; add --gpu MODEL for a "
               "virtual one (see wavetap gpu list)"));
  options.real |= options.gpus.empty();
  if (const Status free = check_capture_output(options); !free.ok()) return fail(free.error());
  Result<RunDir> run_dir = RunDir::create(RunDir::Use::kSmallFiles);
  if (!run_dir.ok()) return fail(run_dir.error());
  const Result<std::string> folder = make_capture_folder(options.output);
  if (!folder.ok()) return fail(folder.error());
  const Result<Environment> environment = prepare(options, program[0], run_dir->path(), *folder);
  if (!environment.ok()) {
    std::filesystem::remove(*folder);
    return fail(environment.error());
  }
  util::RunDetails details;
  const Result<int> status = util::run_in_foreground({program, *environment}, &details);
  if (!status.ok()) {
    std::filesystem::remove(*folder);
    return fail(status.error(), details.start_errno == 0
                                    ? static_cast<int>(kUsage)
                                    : util::start_failure_status(details.start_errno));
  }
  if (vgpu::is_run_dir_held(run_dir->path())) run_dir->keep();
  const int finished = finish_capture(options, *folder);
  return *status != 0 ? *status : finished;
}

void add_capture_options(Command& command, CaptureOptions& options) {
  command
      .add_option(
          "--gpu", options.gpus,
          "virtual GPUs the program sees: names of `wavetap gpu list` or paths of model files; "
          "without it the program runs on the machine's own GPU")
      ->type_name("MODEL[,MODEL…]")
      ->allow_extra_args(false);
  command
      .add_option("--kernel,-k", options.kernel,
                  "capture kernels whose name has this in it, a POSIX extended regular expression "
                  "(any kernel of the program)")
      ->type_name("REGEX");
  command
      .add_option("--launch", options.launches,
                  "which launches of those kernels, counted from 1 in each process (the first)")
      ->type_name("N[,N-M…]");
  command
      .add_option("--range", options.range,
                  "only launches inside marker ranges of this name, which may hold * ? and [] as "
                  "in file names: pushed by the launching thread, or started by any (roctx, "
                  "wavetap.h)")
      ->type_name("MARKER");
  command.add_option("--every", options.every, "the first launch and every N-th after it")
      ->type_name("N")
      ->between(1, 1e15);
  command.add_option("--max", options.max, "no more than this many captures per process")
      ->type_name("N")
      ->between(1, 1e9);
  command
      .add_option("--drain", options.drain,
                  "how long kernels of other queues get to end; then the capture is unordered (30)")
      ->type_name("SECONDS")
      ->between(0, 1e6);
  command.add_flag("--real", options.real,
                   "capture as on a real GPU, through the recorder's queue; without --gpu that is "
                   "what happens anyway");
  command.add_option("--output,-o", options.output, "file to write (kernel.wtcap)")
      ->type_name("FILE.wtcap");
  command.add_flag("--append", options.append, "add to the file if it exists");
  command.add_flag("--force", options.force, "replace the file if it exists");
  command.add_flag(
      "--only-touched", options.only_touched,
      "keep only memory that the kernel reads or writes, found by running it once more "
      "on the engine");
  command.add_flag("--redact", options.redact,
                   "as --only-touched, and zeros in place of bytes that the kernel never reads");
  command
      .add_option("--gpu-threads", options.threads,
                  "host threads that run waves; 1 is deterministic; 0: one per core")
      ->type_name("N")
      ->between(0, 1024);
  command.add_option("--gpu-option", options.gpu_options, driver_option_help())
      ->type_name("KEY[=VALUE]")
      ->allow_extra_args(false);
}

}  // namespace

void add_capture(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<CaptureOptions>();
  Command& command = parent.add_command(
      "capture", "freeze single dispatches of a program, memory before and after, to replay them",
      "capture [OPTIONS] -- CMD [ARG…]",
      "  wavetap capture -k saxpy --gpu rx6800xt -o saxpy.wtcap -- ./saxpy\n"
      "  wavetap capture -k 'gemm|conv' --launch 100 --gpu mi210 -- ./train\n"
      "  wavetap capture --range 'step 3*' --max 5 --gpu mi210 -- ./train\n"
      "  wavetap capture show saxpy.wtcap\n"
      "  wavetap capture export saxpy.wtcap saxpy_reproducer\n");
  command.prefix_command();
  add_capture_options(command, *options);
  add_capture_show(command, invocation, options->is_other);
  add_capture_export(command, invocation, options->is_other);
  command.callback([options, &command, &invocation] {
    if (options->is_other) return;
    const Result<std::vector<std::string>> program = program_words(command, invocation);
    if (!program.ok()) {
      invocation.exit_code = fail(program.error());
      return;
    }
    invocation.exit_code = capture(*options, *program);
  });
}

}  // namespace wavetap::cli
