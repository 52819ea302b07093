// wavetap profile: why is this kernel slow, and how fast could it be.
//
// A program is run on a virtual GPU with counters and modelled caches; a captured dispatch is replayed
// with them; a trace has them already. What comes of it is the same: profile/ ranks what limits each
// kernel, and this writes it down.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "base/scoped_fd.h"
#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/profile_command.h"
#include "cli/profile_empirical.h"
#include "cli/profile_input.h"
#include "cli/program_run.h"
#include "cli/run_dir.h"
#include "cli/trace_instructions.h"
#include "profile/documents.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct ProfileOptions {
  RunOptions run;
  std::string file;
  std::string kernels;
  std::string launches;
  std::string output;
  uint64_t top = 3;
  bool json = false;
  bool instructions = false;
  bool empirical = false;
  bool is_other = false;  // a command below ran
};

Result<profile::Selection> selection_of(const ProfileOptions& options) {
  profile::Selection selection{options.kernels, {}};
  Result<format::LaunchList> launches = parse_launches(options.launches);
  if (!launches.ok()) return launches.error();
  selection.launches = std::move(*launches);
  return selection;
}

Status write_documents(const std::string& folder, const profile::Profile& profile) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return errorf("%s: cannot be made: %s; name another folder with -o", folder.c_str(),
                  error.message().c_str());
  const std::pair<const char*, std::string> files[] = {
      {"profile.json", util::json_text(profile::profile_json(profile))},
      {"roofline.json", util::json_text(profile::roofline_json(profile))},
      {"dag.json", util::json_text(profile::dag_json(profile))},
      {"analysis.json", util::json_text(profile::analysis_json(profile))},
      {"roofline.svg", profile::roofline_svg(profile)},
      {"roofline.html", profile::roofline_html(profile)}};
  for (const auto& [name, text] : files)
    if (const Status written = util::write_file(folder + "/" + name, text); !written.ok())
      return written;
  return {};
}

int show(const ProfileOptions& options, const Result<profile::Profile>& made) {
  if (!made.ok()) return fail(made.error());
  const profile::Profile& profile = *made;
  if (!options.output.empty())
    if (const Status written = write_documents(options.output, profile); !written.ok())
      return fail(written.error());
  if (options.json) fmt::print("{}", util::json_text(profile::profile_json(profile)));
  else
    fmt::print("{}", profile::page(profile, options.top,
                                   static_cast<size_t>(util::output_columns(STDOUT_FILENO))));
  if (!options.output.empty())
    fmt::print(stderr,
               "wavetap: {}: profile.json, roofline.json, dag.json, analysis.json, roofline.svg, "
               "roofline.html\n",
               util::escape_control(options.output));
  return kDone;
}

// Runs the program with counters and caches, and profiles its trace.
int profile_program(ProfileOptions& options, const std::vector<std::string>& program) {
  const Result<profile::Selection> selection = selection_of(options);
  if (!selection.ok()) return fail(selection.error());
  const Result<RunDir> folder = RunDir::create();
  if (!folder.ok()) return fail(folder.error());
  if (options.run.gpus.empty()) options.run.gpus = {kDefaultGpu};
  options.run.caches = true;
  options.run.counters = folder->path() + "/counters.json";
  std::string trace = folder->path() + "/trace.rpd";
  if (!options.output.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(options.output, ignored);
    trace = options.output + "/trace.rpd";
  }
  options.run.recording.output = trace;
  // Without -o the trace is gone when this ends; nobody need hear of it.
  options.run.recording.quiet = options.output.empty();
  const Result<std::string> library =
      prepare_environment(options.run.gpus, options.run.environment);
  if (!library.ok()) return fail(library.error());
  bool ran = false;
  const int status = run_program(options.run, program, &ran);
  if (!ran) return status;
  ProfileInput input{.model = options.run.gpus.front(), .counters = options.run.counters};
  const Result<profile::Profile> made = profile_trace(trace, program[0], input, *selection);
  const int shown = show(options, made);
  return status != 0 ? status : shown;
}

bool is_program(const std::string& path) {
  char head[4] = {};
  const ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || read(file.get(), head, sizeof head) < 2) return false;
  return std::memcmp(head,
                     "\x7f"
                     "ELF",
                     4) == 0 ||
         std::memcmp(head, "#!", 2) == 0;
}

int profile_file(const ProfileOptions& options, const std::string& path) {
  const Result<profile::Selection> selection = selection_of(options);
  if (!selection.ok()) return fail(selection.error());
  ProfileInput input;
  if (!options.run.gpus.empty()) input.model = options.run.gpus.front();
  if (access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path) && is_program(path))
    return fail(errorf("%s: is a program; write wavetap profile [OPTIONS] -- %s", path.c_str(),
                       path.c_str()));
  return show(options, profile_input(path, input, *selection));
}

// One thing is profiled, and the options go with it.
Status check_choice(const ProfileOptions& options, const std::vector<std::string>& program) {
  if (options.file.empty() && program.empty())
    return errorf(
        "profile: nothing to profile; write wavetap profile [OPTIONS] -- CMD [ARG…], or name a file");
  if (!options.file.empty() && !program.empty())
    return errorf("profile: %s and a program behind --: profile one of them", options.file.c_str());
  if (options.run.warm_caches && program.empty())
    return errorf(
        "profile: --warm-caches is for a program behind --; what a file holds was counted before");
  if (options.run.warm_caches && options.instructions)
    return errorf(
        "profile: --instructions models no caches of other kernels; leave --warm-caches out");
  return {};
}

void add_options(Command& command, ProfileOptions& options) {
  command
      .add_option("--gpu", options.run.gpus,
                  std::string("virtual GPU to run the program on (") + kDefaultGpu +
                      "); for files: the GPU to hold them against")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  command.add_option("--kernel,-k", options.kernels, "only kernels whose demangled name matches")
      ->type_name("REGEX");
  command.add_option("--launch", options.launches, "only these launches of each kernel, from 1")
      ->type_name("N[,N-M…]");
  command
      .add_option("--output,-o", options.output,
                  "write profile.json, roofline.json, dag.json, analysis.json, roofline.svg and "
                  "roofline.html there, and the trace of a program")
      ->type_name("DIR");
  command.add_option("--top", options.top, "explain N kernels (3)")->type_name("N");
  command.add_flag("--warm-caches", options.run.warm_caches,
                   "of a program: L2 and Infinity Cache keep what earlier kernels left there");
  command.add_flag("--json", options.json, "print profile.json instead of the page");
  command.add_flag("--instructions", options.instructions,
                   "trace every instruction of one compute unit instead, as wavetap "
                   "trace-instructions does");
  command.add_flag("--empirical", options.empirical,
                   "instead of a program: measure what this machine's GPU reaches at most, by "
                   "kernels of wavetap's own");
}

// --instructions: the same choice of kernels, every instruction of them.
int trace_instructions(const ProfileOptions& options, const std::vector<std::string>& program) {
  InstructionTraceOptions tracing;
  tracing.run = options.run;
  tracing.kernels = options.kernels;
  tracing.launches = options.launches;
  tracing.output = options.output;
  tracing.json = options.json;
  return program.empty() ? trace_file_instructions(tracing, options.file)
                         : trace_program_instructions(tracing, program);
}

}  // namespace

void add_profile(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<ProfileOptions>();
  Command& command =
      parent.add_command("profile", "what limits each kernel, where, and what to try first",
                         "profile [OPTIONS] -- CMD [ARG…] | FILE.wtcap | TRACE | DIR | --empirical",
                         "  wavetap profile --gpu mi210 -- ./my_hip_program\n"
                         "  wavetap profile -k gemm -o out --gpu mi300x -- ./train\n"
                         "  wavetap profile gemm.wtcap\n"
                         "  wavetap profile trace.rpd --json\n"
                         "  wavetap profile workloads/vcopy/MI200\n"
                         "  wavetap profile --empirical -o ceilings\n"
                         "  wavetap profile diff before.rpd after.rpd --fail-on time=5%\n");
  command.add_option(
      "FILE", options->file,
      "instead of a program: a capture, a trace, or what rocprofv3 or rocprof-compute measured");
  add_options(command, *options);
  add_profile_diff(command, invocation, options->is_other);
  command.callback([options, &invocation] {
    if (options->is_other) return;
    const std::vector<std::string>& program = invocation.program;
    if (options->empirical) {
      invocation.exit_code =
          options->file.empty() && program.empty()
              ? measure_empirically(options->run, options->output, options->json)
              : fail(errorf("profile --empirical: measures the GPU, not a program; leave %s out",
                            options->file.empty() ? program[0].c_str() : options->file.c_str()));
      return;
    }
    if (const Status chosen = check_choice(*options, program); !chosen.ok()) {
      invocation.exit_code = fail(chosen.error());
      return;
    }
    if (options->instructions) {
      invocation.exit_code = trace_instructions(*options, program);
      return;
    }
    invocation.exit_code = program.empty() ? profile_file(*options, options->file)
                                           : profile_program(*options, program);
  });
}

}  // namespace wavetap::cli
