// wavetap capture: starts a program on a virtual GPU and freezes chosen dispatches of it.
//
// The library in the program writes what it captures into a folder beside the output, a file per
// process. When the program has ended, however it did, those files become one .wtcap. If this command
// is killed itself, the folder stays, and its files are captures like any other.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/scoped_fd.h"
#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/host_stack.h"
#include "cli/install_tree.h"
#include "cli/preflight.h"
#include "cli/run_dir.h"
#include "cli/usage.h"
#include "format/capture_request.h"
#include "replay/capture_file.h"
#include "replay/capture_pack.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"
#include "vgpu/config.h"
#include "vgpu/run_directory.h"

namespace wavetap::cli {
namespace {

struct Options {
  std::vector<std::string> gpus;
  std::string kernel;
  std::string launches;
  std::string range;
  uint64_t every = 0;
  uint64_t max = 0;
  std::string output = "kernel.wtcap";
  uint32_t drain = 30;
  bool append = false;
  bool force = false;
  bool only_touched = false;
  bool redact = false;
  uint32_t threads = 0;
  std::vector<std::string> gpu_options;
  bool is_other = false;  // a command below this one was meant
};

Result<vgpu::Config> make_config(const Options& options, const std::string& program,
                                 const std::string& folder) {
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
  size_t launches = 0;
  Status good = check_kernel_pattern(options.kernel);
  if (good.ok()) good = check_launches(options.launches, &launches);
  if (good.ok() && launches > 0 && options.every > 0)
    good = errorf("capture: --launch and --every exclude each other; leave out one of them");
  for (const std::string& option : options.gpu_options)
    if (good.ok()) good = vgpu::set_driver_option(config, option);
  if (good.ok()) good = vgpu::validate(config);
  if (!good.ok()) return good.error();
  config.capture_dir = folder;
  config.capture_pattern = options.kernel;
  config.capture_launches = options.launches;
  config.capture_drain_s = options.drain;
  config.capture_range = !options.range.empty();
  config.capture_every = std::max<uint64_t>(options.every, 1);
  // One, unless more were asked for: of a range, all.
  config.capture_max = options.max;
  if (options.max == 0 && launches == 0 && options.every == 0 && options.range.empty())
    config.capture_max = 1;
  return config;
}

// The folder the program writes to: beside the output, since memory of a GPU may not fit elsewhere.
Result<std::string> make_folder(const std::string& output) {
  std::string folder = std::filesystem::absolute(output).string() + ".raw-XXXXXX";
  if (folder.find('\n') != std::string::npos)
    return errorf("-o: a file name is one line; choose another");
  if (::mkdtemp(folder.data()) == nullptr)
    return errorf("%s: cannot be written: %s; choose another place with -o", output.c_str(),
                  std::strerror(errno));
  return folder;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// Captures that end at the same time and go to one file take turns.
class OutputLock {
 public:
  explicit OutputLock(const std::string& path) : path_(path) {
    for (;;) {
      fd_ = ScopedFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (fd_.get() < 0 || ::flock(fd_.get(), LOCK_EX) != 0) return;
      struct stat mine {
      }, there{};
      if (::fstat(fd_.get(), &mine) != 0) return;
      // The one that had it before us has replaced the file.
      if (::stat(path.c_str(), &there) != 0 || there.st_ino != mine.st_ino) continue;
      is_new_ = mine.st_size == 0;
      return;
    }
  }
  // An empty file that only stood for the lock goes.
  ~OutputLock() {
    struct stat there {};
    if (::stat(path_.c_str(), &there) == 0 && there.st_size == 0) ::unlink(path_.c_str());
  }
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

  bool is_new() const { return is_new_; }

 private:
  const std::string path_;
  ScopedFd fd_;
  bool is_new_ = true;
};

// Files are neither replaced nor mixed unless the user says so.
Status check_output(const Options& options) {
  const char* name = options.output.c_str();
  if (options.append && options.force)
    return errorf("capture: --append and --force exclude each other; leave out one of them");
  if (util::is_special(options.output))
    return errorf("%s: not a regular file; name another one with -o", name);
  struct stat there {};
  if (::stat(name, &there) != 0 || options.force) return {};
  if (!options.append) {
    return errorf(
        "%s: exists; add to it with --append, replace it with --force, or choose another "
        "name with -o",
        name);
  }
  const Result<std::unique_ptr<replay::CaptureFile>> file =
      replay::CaptureFile::open(options.output);
  if (!file.ok()) return file.error();
  if (!(*file)->damage().empty())
    return errorf("%s: %s; replace it with --force, or choose another name with -o", name,
                  (*file)->damage().c_str());
  return {};
}

void say_what_was_captured(const std::string& output, const replay::PackResult& packed) {
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(output);
  std::string kernel;
  if (file.ok() && !(*file)->captures().empty())
    kernel =
        fmt::format(", the first of {}", util::escape_control((*file)->captures().front().kernel));
  if (packed.touched_read_bytes > 0)
    kernel += fmt::format("; {} read and {} written by the kernels",
                          util::human_bytes(packed.touched_read_bytes),
                          util::human_bytes(packed.touched_written_bytes));
  fmt::print(stderr, "wavetap: {}: {}{}; {} packed to {}\n", output,
             util::count_of(packed.captures, "dispatch"), kernel,
             util::human_bytes(packed.raw_bytes), util::human_bytes(packed.file_bytes));
}

// What the recorder in the program is asked for.
Status write_request(const Options& options, const std::string& path) {
  if (options.range.find('\n') != std::string::npos)
    return errorf("--range: the name of a range is one line; write one");
  std::string text;
  if (!options.range.empty()) text += "range " + options.range + "\n";
  return util::write_file(path, text);
}

// Makes one file of what the program left. The exit code to use instead of the program's, or kDone.
int finish(const Options& options, const std::string& folder) {
  std::vector<std::string> files = files_in(folder);
  if (files.empty()) {
    std::filesystem::remove(folder);
    return fail(
        errorf(
            "%s: not written: no dispatch was captured%s; see which kernels and ranges there are "
            "with wavetap run --gpu %s and wavetap report",
            options.output.c_str(),
            options.range.empty() ? "" : (" in a range '" + options.range + "'").c_str(),
            util::join(options.gpus, ",").c_str()),
        kIncomplete);
  }
  const OutputLock lock(options.output);
  if (std::filesystem::exists(options.output) && !lock.is_new() && !options.force) {
    if (!options.append)
      warn({options.output + ": appeared while the program ran; the captures are added to it"});
    files.insert(files.begin(), options.output);
  }
  replay::PackOptions pack;
  pack.only_touched = options.only_touched || options.redact;
  pack.redact = options.redact;
  pack.name_frame = name_host_frame;
  const Result<replay::PackResult> packed = replay::pack_captures(files, options.output, pack);
  if (!packed.ok()) {
    return fail({packed.error().message + "; the captures are in " + folder}, kIncomplete);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  for (const std::string& problem : packed->problems)
    warn({util::escape_control(problem) + "; what comes before it is kept"});
  say_what_was_captured(options.output, *packed);
  return packed->captures > 0 ? kDone : kIncomplete;
}

int capture(const Options& options, const std::vector<std::string>& program) {
  if (program.empty())
    return fail(errorf("capture: no program given; write wavetap capture [OPTIONS] -- CMD [ARG…]"));
  if (options.gpus.empty()) {
    return fail(
        errorf("capture: works on virtual GPUs, not yet on the machine's own; add --gpu MODEL "
               "(see wavetap gpu list)"));
  }
  const Status free = check_output(options);
  if (!free.ok()) return fail(free.error());
  Result<RunDir> run_dir = RunDir::create();
  if (!run_dir.ok()) return fail(run_dir.error());
  const Result<std::string> gpu = gpu_library();
  if (!gpu.ok()) return fail(gpu.error());
  const Result<std::string> library = preloadable(*gpu, run_dir->path());
  if (!library.ok()) return fail(library.error());
  const Result<std::string> recorder = agent_library();
  if (!recorder.ok()) return fail(recorder.error());
  const Result<std::string> agent = preloadable(*recorder, run_dir->path());
  if (!agent.ok()) return fail(agent.error());
  const std::string request = run_dir->path() + "/capture_request";
  const Status requested = write_request(options, request);
  if (!requested.ok()) return fail(requested.error());
  const Result<std::string> folder = make_folder(options.output);
  if (!folder.ok()) return fail(folder.error());
  const Result<vgpu::Config> config = make_config(options, program[0], *folder);
  Status ready = config.ok() ? vgpu::write_run_dir(run_dir->path(), *config) : config.error();
  if (!ready.ok()) {
    std::filesystem::remove(*folder);
    return fail(ready.error());
  }
  std::vector<std::pair<std::string, std::string>> environment = {
      {vgpu::kRunDirVariable, run_dir->path()},
      {"LD_PRELOAD", preload_list(*library, "", *agent)},
      {format::kCaptureVariable, request}};
  std::string tools = tools_list(*agent);
  if (config->guard_allocations) {
    environment.emplace_back("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1");
    // The library learns there how many bytes the program asks for.
    tools += " " + *library;
  }
  environment.emplace_back("HSA_TOOLS_LIB", tools);
  util::RunDetails details;
  const Result<int> status = util::run_in_foreground({program, environment}, &details);
  if (!status.ok()) {
    std::filesystem::remove(*folder);
    return fail(status.error(), details.start_errno == 0
                                    ? static_cast<int>(kUsage)
                                    : util::start_failure_status(details.start_errno));
  }
  if (vgpu::is_run_dir_held(run_dir->path())) run_dir->keep();
  const int finished = finish(options, *folder);
  return *status != 0 ? *status : finished;
}

void add_capture_options(Command& command, Options& options) {
  command
      .add_option(
          "--gpu", options.gpus,
          "virtual GPUs the program sees: names of `wavetap gpu list` or paths of model files")
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
      ->type_name("N[,N…]");
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
  auto options = std::make_shared<Options>();
  Command& command = parent.add_command(
      "capture", "freeze single dispatches of a program, memory before and after, to replay them",
      "capture [OPTIONS] --gpu MODEL -- CMD [ARG…]",
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
    std::vector<std::string> program = command.remaining();
    if (!program.empty() && program[0].starts_with('-')) {
      invocation.exit_code = fail({"capture: " + unknown_option(command.describe(), program[0])});
      return;
    }
    if (!program.empty() && invocation.has_separator) program.push_back("--");
    program.insert(program.end(), invocation.program.begin(), invocation.program.end());
    invocation.exit_code = capture(*options, program);
  });
}

}  // namespace wavetap::cli
