// wavetap tune: looks for the values of parameters under which a kernel is best, and proves each of
// them right on the way.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/install_tree.h"
#include "cli/lab_commands.h"
#include "replay/captured_kernel.h"
#include "tune/clock_state.h"
#include "tune/results.h"
#include "tune/tuner.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/progress.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using tune::Spec;
using tune::Subject;

constexpr uint32_t kMostPairs = 10;

struct TuneOptions {
  std::string spec;
  std::string budget;
  std::string output;
  uint32_t jobs = 1;
  bool resume = false;
  bool json = false;
};

// "90s", "10m", "2h": a time; a plain number: evaluations.
Status take_budget(const std::string& text, tune::TuneLimits& limits) {
  if (text.empty()) return {};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (!(number > 0) || (!unit.empty() && scale == 0))
    return errorf(
        "--budget %s: not understood; write a number of evaluations, or a time as in 90s, "
        "10m, 2h",
        text.c_str());
  if (unit.empty()) {
    limits.evaluations = number;
  } else {
    limits.seconds = number * scale;
    limits.evaluations = 1e18;
  }
  return {};
}

// What is measured, once it is known to be there.
struct Ground {
  model::Model model;
  std::string kernel;
  std::string gpu;
};

Result<Ground> find_ground(const Spec& spec) {
  Ground ground;
  ground.gpu = spec.gpu;
  if (spec.subject != Subject::kCapture) {
    if (spec.gpu.empty()) return ground;
    const Result<model::Model> model = find_model(spec.gpu);
    if (!model.ok()) return model.error();
    ground.model = *model;
    return ground;
  }
  const std::string path = spec.full_path(spec.capture);
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(path);
  if (!file.ok()) return file.error();
  const Result<const replay::Capture*> capture = choose_capture(**file, spec.capture_number);
  if (!capture.ok()) return capture.error();
  if (!(*capture)->has_after)
    return errorf(
        "%s: lacks what the dispatch left, so nothing could be verified; capture it again",
        path.c_str());
  if (ground.gpu.empty()) ground.gpu = (*capture)->model;
  const Result<model::Model> model = find_model(ground.gpu);
  if (!model.ok()) return model.error();
  ground.model = *model;
  const replay::CapturedKernel kernel = replay::find_captured_kernel(**file, **capture);
  if (kernel.kernel == nullptr)
    return errorf("%s: its kernel belongs to the runtime; capture one of the program's",
                  path.c_str());
  ground.kernel = kernel.kernel->name;
  return ground;
}

// The winner once more, from its parameters to its file.
Status write_best(const tune::Findings& findings, const std::string& folder) {
  const tune::Values& values = findings.best->values;
  Status status = util::write_file(folder + "/best.flags", tune::flags_of(values) + "\n");
  if (!status.ok() || findings.spec.build.empty()) return status;
  const bool is_kernel = findings.spec.subject == Subject::kCapture;
  const std::string out = folder + (is_kernel ? "/best.hsaco" : "/best");
  const tune::Built built = tune::build(findings.spec, values, out);
  if (!built.ok)
    return errorf("%s: the best one cannot be built again: %s", out.c_str(), built.output.c_str());
  if (!is_kernel || findings.spec.changes_launch()) return {};
  return util::write_file(folder + "/best.manifest", findings.kernel + " best.hsaco\n");
}

Status write_results(const tune::Findings& findings, const std::string& folder,
                     const std::string& json) {
  Status status = util::write_file(folder + "/best.json", json);
  if (status.ok())
    status = util::write_file(folder + "/report.html", tune::findings_html(findings));
  if (status.ok() && findings.best != nullptr) status = write_best(findings, folder);
  return status;
}

const char* files_of_best(const tune::Findings& findings) {
  if (findings.best == nullptr) return "";
  if (findings.spec.build.empty()) return ", best.flags";
  if (findings.spec.subject != Subject::kCapture) return ", best.flags, best";
  return findings.spec.changes_launch() ? ", best.flags, best.hsaco"
                                        : ", best.flags, best.hsaco, best.manifest";
}

int run_tune(const TuneOptions& options) {
  const Result<Spec> read = tune::read_spec(options.spec);
  if (!read.ok()) return fail(read.error());
  const Spec& spec = *read;
  tune::TuneLimits limits{.evaluations = spec.budget, .seconds = 0, .jobs = options.jobs};
  if (const Status status = take_budget(options.budget, limits); !status.ok())
    return fail(status.error());
  const Result<tune::Space> space = tune::Space::make(spec.parameters, spec.conditions);
  if (!space.ok()) return fail(errorf("%s: %s", spec.path.c_str(), space.error().message.c_str()));
  if (!spec.baseline.empty() && spec.subject == Subject::kCapture)
    return fail(errorf("%s: baseline: of a capture it is the captured kernel; leave it out",
                       spec.path.c_str()));
  if (!spec.baseline.empty() && space->find(spec.baseline) == SIZE_MAX)
    return fail(
        errorf("%s: baseline: not a point of the parameters; give every parameter one of "
               "its values",
               spec.path.c_str()));
  const Result<Ground> ground = find_ground(spec);
  if (!ground.ok()) return fail(ground.error());
  const std::string folder =
      std::filesystem::absolute(options.output.empty() ? spec.name + ".tune" : options.output);
  std::error_code error;
  std::filesystem::create_directories(folder + "/.builds", error);
  if (error)
    return fail(errorf("%s: cannot be made: %s; name another folder with -o", folder.c_str(),
                       error.message().c_str()));
  const bool is_on_machine = spec.subject == Subject::kMetric && spec.gpu.empty();
  const std::vector<tune::GpuClock> clocks =
      is_on_machine ? tune::read_gpu_clocks() : std::vector<tune::GpuClock>();
  Result<tune::Journal> journal = tune::Journal::open(folder + "/journal.db", spec, options.resume);
  if (!journal.ok()) return fail(journal.error());
  const tune::Evaluation evaluation{spec, ground->model, util::executable_folder() + "/wavetap",
                                    folder + "/.builds"};
  constexpr size_t kSteps = 1000;
  util::Progress line(spec.name, kSteps);
  const auto tell = [&](const tune::Progress& progress) {
    line.update(static_cast<size_t>(progress.share * kSteps),
                progress.best == nullptr
                    ? "none good yet"
                    : fmt::format("best {} {}", spec.objective,
                                  tune::objective_text(
                                      spec, progress.best->trial.figures.at("objective"))));
  };
  const Status searched =
      tune::run_search(spec, *space, tune::measure_by(evaluation), limits, *journal, tell);
  if (!searched.ok()) return fail(searched.error());
  tune::Findings findings{spec,
                          *space,
                          *journal,
                          journal->find(tune::kBaselinePoint, 1),
                          tune::best_of(spec, *journal),
                          {},
                          ground->kernel,
                          ground->gpu,
                          ""};
  if (findings.baseline != nullptr && findings.baseline->trial.outcome != proof::Outcome::kGood)
    warn_with_output(errorf("%s: the baseline itself is no good: %s", spec.name.c_str(),
                            findings.baseline->trial.reason.c_str()));
  if (spec.subject == Subject::kMetric && findings.best != nullptr && !spec.baseline.empty()) {
    const Result<proof::Difference> difference = tune::compare_metric(
        evaluation, spec.baseline, findings.best->values, std::max(spec.runs, kMostPairs));
    if (!difference.ok()) return fail_with_output(difference.error());
    findings.measured = *difference;
  }
  if (is_on_machine) findings.clock = tune::clock_note(clocks, tune::read_gpu_clocks());
  const std::string json = util::json_text(tune::findings_json(findings));
  const Status written = write_results(findings, folder, json);
  std::filesystem::remove_all(folder + "/.builds", error);
  if (!written.ok()) return fail_with_output(written.error());
  fmt::print("{}", options.json ? json : tune::findings_text(findings));
  if (!options.json)
    fmt::print("{}: journal.db, best.json, report.html{}\n", util::escape_control(folder),
               files_of_best(findings));
  return findings.best == nullptr ? static_cast<int>(kIncomplete) : kDone;
}

}  // namespace

void add_tune(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<TuneOptions>();
  Command& command = parent.add_command(
      "tune",
      "find the best values of a kernel's parameters; every candidate is verified; exit status 2 if "
      "none is good",
      "tune SPEC.toml [OPTIONS]",
      "  wavetap tune matmul.toml --jobs 4\n"
      "  wavetap tune matmul.toml --resume --budget 500\n"
      "  wavetap run --swap matmul.tune/best.manifest -- ./app\n");
  command.add_option("SPEC", options->spec, "what to build, vary and measure (docs/tune.md)")
      ->required();
  command.add_flag("--resume", options->resume, "go on with the journal of a search before");
  command
      .add_option(
          "--budget", options->budget,
          "evaluations, or a time as in 90s, 10m, 2h (the spec's, else 100, or all when exhaustive)")
      ->type_name("N|TIME");
  command.add_option("--jobs,-j", options->jobs, "evaluations at the same time (1)")
      ->type_name("N")
      ->between(1, 256);
  command.add_option("--output,-o", options->output, "folder for journal and results (NAME.tune)")
      ->type_name("DIR");
  command.add_flag("--json", options->json, "print best.json instead of text");
  command.callback([options, &invocation] { invocation.exit_code = run_tune(*options); });
}

}  // namespace wavetap::cli
