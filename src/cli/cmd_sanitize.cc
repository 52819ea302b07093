// wavetap sanitize: runs a program on virtual GPUs and checks what its kernels do to memory.
//
// The library that plays the GPUs does the checking and appends what it finds to a file
// (vgpu/sanitize_hook.h); here the program is started, and the file read when it has ended.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/program_run.h"
#include "cli/run_dir.h"
#include "cli/sanitize_report.h"
#include "cli/usage.h"
#include "sanitize/kinds.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr char kDefaultGpu[] = "rx6800xt";
constexpr int kFound = 2;  // exit status when there are errors

struct Options {
  std::string tools;
  RunOptions run;
  std::string json;
  int error_exitcode = kFound;  // 0: the program's own
  uint64_t max = 100;
};

int run_sanitized(Options& options, const std::vector<std::string>& program) {
  if (program.empty())
    return fail(
        errorf("sanitize: no program given; write wavetap sanitize [OPTIONS] -- CMD [ARG…]"));
  if (const Status good = check_kernel_pattern(options.run.sanitize_kernels); !good.ok())
    return fail(good.error());
  const Result<sanitize::ToolSet> tools = sanitize::ToolSet::parse(options.tools);
  if (!tools.ok()) return fail({"sanitize: --tool " + tools.error().message});
  options.run.sanitize_tools = tools->names();
  const Result<RunDir> folder = RunDir::create();
  if (!folder.ok()) return fail(folder.error());
  options.run.no_trace = true;
  options.run.findings_file = folder->path() + "/findings";
  if (options.run.gpus.empty()) options.run.gpus = {kDefaultGpu};
  const Result<std::string> library =
      prepare_environment(options.run.gpus, options.run.environment);
  if (!library.ok()) return fail(library.error());
  bool ran = false;
  const int status = run_program(options.run, program, &ran);
  if (!ran) return status;
  const Result<SanitizeReport> report = read_findings(options.run.findings_file);
  if (!report.ok()) return fail(report.error(), kIncomplete);
  fmt::print(stderr, "{}", render(*report, options.max));
  if (!options.json.empty()) {
    const Status written = util::write_file(options.json, to_json(*report, tools->names(), status));
    if (!written.ok()) warn(written.error());
  }
  return options.error_exitcode != 0 && report->errors() != 0 ? options.error_exitcode : status;
}

void add_options(Command& command, Options& options) {
  std::vector<std::string> names;
  for (const sanitize::ToolRow& row : sanitize::tool_rows()) names.emplace_back(row.name);
  command
      .add_option("--tool", options.tools,
                  fmt::format("what to look for: {} ({})", util::join(names, ", "),
                              sanitize::ToolSet::defaults().names()))
      ->type_name("TOOL[,TOOL…]")
      ->offers(names);
  command
      .add_option(
          "--gpu", options.run.gpus,
          std::string("virtual GPUs the program sees, as for wavetap run (") + kDefaultGpu + ")")
      ->type_name("MODEL[,MODEL…]")
      ->allow_extra_args(false);
  command
      .add_option("--kernel,-k", options.run.sanitize_kernels,
                  "check only kernels whose demangled name matches; the others run as usual")
      ->type_name("REGEX");
  command.add_option("--json", options.json, "write every finding to a file")->type_name("FILE");
  command
      .add_option("--error-exitcode", options.error_exitcode,
                  "exit with N when there are errors (2); 0: as the program does")
      ->type_name("N")
      ->between(0, 255);
  command.add_option("--max", options.max, "print at most N findings (100)")->type_name("N");
}

}  // namespace

void add_sanitize(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  Command& command = parent.add_command(
      "sanitize",
      "run a program on virtual GPUs and find what its kernels do wrong; exit status 2 if they do",
      "sanitize [OPTIONS] -- CMD [ARG…]",
      "  wavetap sanitize -- ./my_hip_program\n"
      "  wavetap sanitize --gpu mi210 -k '^scatter' --json f.json -- ./my_program\n"
      "  wavetap sanitize --error-exitcode 0 -- python3 train.py\n");
  command.prefix_command();
  add_options(command, *options);
  command.callback([options, &command, &invocation] {
    std::vector<std::string> program = command.remaining();
    if (!program.empty() && program[0].starts_with('-')) {
      invocation.exit_code = fail({"sanitize: " + unknown_option(command.describe(), program[0])});
      return;
    }
    // Without our `--` in front, one further on is the program's own.
    if (!program.empty() && invocation.has_separator) program.push_back("--");
    program.insert(program.end(), invocation.program.begin(), invocation.program.end());
    invocation.exit_code = run_sanitized(*options, program);
  });
}

}  // namespace wavetap::cli
