// wavetap doctor: is this machine fit for ROCm, does every layer tell the truth, and what exactly
// to change.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/install_tree.h"
#include "cli/run_dir.h"
#include "correct/redirect_log.h"
#include "doctor/doctor_report.h"
#include "doctor/finding.h"
#include "doctor/fix.h"
#include "doctor/machine.h"
#include "doctor/process_libraries.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/subprocess.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct DoctorOptions {
  std::string sysroot;
  bool json = false;
  bool all = false;
  bool try_gpu = false;
  bool old_probe = false;  // --probe, the option's former name
  int pid = 0;
  std::string fix;
  bool redirects = false;
};

// The script that an earlier --fix left in `path`; empty when there is no such file. A file of
// anybody else's is an error: it is not ours to write over.
Result<std::string> earlier_script(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return std::string();
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  const std::string text =
      bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
  if (doctor::is_fix_script(text)) return text;
  return errorf(
      "%s: was not made by wavetap doctor --fix; it stays as it is: give --fix another "
      "file name, or remove it",
      util::escape_control(path).c_str());
}

// Writes FILE and FILE.undo, joined with what an earlier --fix wrote there; prints how to use them
// and what they cannot do.
Status write_fix(const std::string& file, const doctor::Report& report) {
  const std::string undo = file + ".undo";
  const Result<std::string> old_fix = earlier_script(file);
  if (!old_fix.ok()) return old_fix.error();
  const Result<std::string> old_undo = earlier_script(undo);
  if (!old_undo.ok()) return old_undo.error();
  const doctor::FixFiles files = doctor::compose(
      report.machine,
      {.changes = doctor::parse_script(*old_fix), .undo = doctor::parse_script(*old_undo)},
      doctor::safe_changes(report.findings));
  Status written = util::write_file(undo, doctor::undo_script(files.undo));
  if (written.ok()) written = util::write_file(file, doctor::fix_script(files.changes));
  if (!written.ok()) return written;
  const std::string in_force =
      files.in_force == 0 ? "" : fmt::format(", {} in force already", files.in_force);
  say(stderr, fmt::format("wavetap: wrote {} ({}{}) and {}", file,
                          util::count_of(files.changes.size(), "change"), in_force, undo));
  say(stderr, fmt::format("wavetap: apply to this shell: . {0}{1}   take back: . {0}{2}",
                          file.find('/') == std::string::npos ? "./" : "", file, undo));
  for (const std::string& line : doctor::left_to_do(report.findings))
    fmt::print(stderr, "wavetap: left to do: {}\n", util::escape_control(line));
  return {};
}

// Runs the program with the linker telling what it loads; the program keeps its streams and its
// environment else.
Result<std::vector<std::string>> files_of_program(const std::vector<std::string>& program) {
  Result<RunDir> folder = RunDir::create();
  if (!folder.ok()) return folder.error();
  const Result<int> status = util::run_in_foreground(
      {program, {{"LD_DEBUG", "files"}, {"LD_DEBUG_OUTPUT", folder->path() + "/ld"}}});
  if (!status.ok()) return status.error();
  return doctor::loaded_files(folder->path());
}

// Runs the program with every CUDA, HIP and HSA call counted where it is bound.
Status follow_redirects(const std::vector<std::string>& program, doctor::Report& report) {
  const Result<std::string> library = audit_library();
  if (!library.ok()) return library.error();
  Result<RunDir> folder = RunDir::create();
  if (!folder.ok()) return folder.error();
  const Result<int> status = util::run_in_foreground(
      {program, {{"LD_AUDIT", *library}, {correct::kRedirectVariable, folder->path()}}});
  if (!status.ok()) return status.error();
  report.redirects = doctor::read_redirects(folder->path());
  doctor::judge_redirects(program[0], report.redirects, report.findings);
  return {};
}

Status inspect_process(const DoctorOptions& options, const std::vector<std::string>& program,
                       doctor::Report& report) {
  if (options.pid == 0 && program.empty()) return {};
  if (options.redirects) return follow_redirects(program, report);
  const Result<std::vector<std::string>> files =
      options.pid != 0 ? doctor::mapped_files(report.machine.root, options.pid)
                       : files_of_program(program);
  if (!files.ok()) return files.error();
  const std::string name = options.pid != 0 ? fmt::format("process {}", options.pid) : program[0];
  doctor::judge_libraries(report.machine.root, name,
                          doctor::followed_libraries(report.machine.root, *files), report.findings);
  return {};
}

// What needs processes of our own: the layers' figures, and the trials when asked for.
Status ask_the_gpu(const DoctorOptions& options, doctor::Report& report) {
  if (!report.machine.root.live() || report.machine.gpus.empty()) return {};
  const Result<std::string> program = trial_program();
  if (!program.ok()) return program.error();
  report.truth = doctor::ask_layers(*program);
  doctor::judge_truth(report.machine, *report.truth, report.findings);
  if (!options.try_gpu) return {};
  report.trials = doctor::run_trials(report.machine, *program);
  doctor::judge_trials(report.machine, report.trials, report.findings);
  return {};
}

int diagnose(const DoctorOptions& options, const std::vector<std::string>& program) {
  if (!options.sysroot.empty() && access((options.sysroot + "/.").c_str(), R_OK | X_OK) != 0) {
    return fail(errorf("%s: cannot be read as a folder; give --sysroot a copied tree",
                       options.sysroot.c_str()));
  }
  if (!options.sysroot.empty() && (options.try_gpu || !program.empty())) {
    return fail(errorf(
        "doctor: a copied tree runs nothing; leave out --sysroot, or --try and the program"));
  }
  if (options.redirects && program.empty()) {
    return fail(errorf(
        "doctor: --redirects needs a program; write wavetap doctor --redirects -- CMD [ARG…]"));
  }
  // Before anything is tried: what was found should not be lost to a bad file name.
  for (const std::string& file : {options.fix, options.fix + ".undo"}) {
    if (options.fix.empty()) break;
    const Result<std::string> earlier = earlier_script(file);
    if (!earlier.ok()) return fail(earlier.error());
  }
  const doctor::Machine machine =
      doctor::read_machine(doctor::Root(options.sysroot), model::sound_models(models_folder()));
  doctor::Report report{.machine = machine};
  doctor::run_checks(machine, report.findings);
  Status status = inspect_process(options, program, report);
  if (status.ok()) status = ask_the_gpu(options, report);
  if (!status.ok()) return fail(status.error());

  if (options.json) {
    fmt::print("{}", util::json_text(doctor::to_json(report)));
  } else {
    const doctor::TextOptions text{.columns = util::output_columns(STDOUT_FILENO),
                                   .colour = util::wants_colour(STDOUT_FILENO),
                                   .all = options.all};
    fmt::print("{}", doctor::to_text(report, text));
  }
  if (!options.fix.empty()) {
    const Status written = write_fix(options.fix, report);
    if (!written.ok()) return fail(written.error());
  }
  return doctor::healthy(report.findings) ? kDone : kIncomplete;
}

}  // namespace

void add_doctor(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<DoctorOptions>();
  Command& command =
      parent.add_command("doctor", "is this machine fit for ROCm, and what to change if not",
                         "doctor [OPTIONS] [-- CMD [ARG…]]",
                         "  wavetap doctor\n"
                         "  wavetap doctor --try --json\n"
                         "  wavetap doctor -- python3 -c 'import torch'\n"
                         "  wavetap doctor --sysroot ./copied-tree\n"
                         "  wavetap run --gpu sdma-broken -- wavetap doctor --try\n");
  command.add_flag("--try", options->try_gpu,
                   "use the GPU: copies, kernels, atomics, …, each in a process with a time limit");
  command.add_flag("--probe", options->old_probe, "the former name of --try")->hidden();
  command
      .add_option("--pid", options->pid,
                  "also list the libraries this process maps; after -- : those CMD loads")
      ->type_name("PID")
      ->between(1, 1 << 30);
  command.add_flag("--redirects", options->redirects,
                   "with -- CMD: which library answers each CUDA, HIP and HSA function, "
                   "for whom, how often");
  command
      .add_option("--fix", options->fix,
                  "write shell files that change this shell's environment as advised, and back; "
                  "default ./wavetap-fix.sh; nothing else is changed")
      ->type_name("FILE")
      ->expected(0, 1)
      ->default_str("wavetap-fix.sh");
  command.add_flag("--json", options->json, "print JSON (schema wavetap-doctor, version 2)");
  command.add_flag("--all", options->all, "list the checks that found nothing, too");
  command
      .add_option("--sysroot", options->sysroot, "look at a copied tree instead of this machine")
      ->type_name("DIR");
  command.callback([options, &invocation] {
    if (options->old_probe) {
      warn({"doctor: --probe is now called --try; the old name goes with the next release"});
      options->try_gpu = true;
    }
    invocation.exit_code = diagnose(*options, invocation.program);
  });
}

}  // namespace wavetap::cli
