// wavetap optimize: the guarded loop from the command line, its ledger, its report and its gate.
#include <fmt/format.h>
#include <regex.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/lab_commands.h"
#include "cli/optimize_provider.h"
#include "cli/optimize_ranking.h"
#include "cli/optimize_timer.h"
#include "cli/profile_input.h"
#include "cli/run_dir.h"
#include "cli/usage.h"
#include "codeobj/code_object.h"
#include "optimize/loop.h"
#include "profile/documents.h"
#include "util/file.h"
#include "util/isolated.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using optimize::Ledger;
using Json = nlohmann::ordered_json;

// For --timed: not at all.
constexpr char kNotTimed[] = "none";

struct OptimizeOptions {
  std::string kernels;
  std::vector<std::string> sources;
  std::string build, output, gpu, objective = "time", verify, sanitize, replayed, timed;
  uint32_t attempts = 10, repairs = 2, pairs = 20;
  uint64_t seed = 1;
  double least_gain = 2, build_seconds = 120, run_seconds = 120;
  ProviderOptions provider;
  bool less_precise = false, unsafe = false, dry_run = false, resume = false, json = false;
  bool is_other = false;
};

// `file`: of captures. `timed`: where candidates are timed.
Result<optimize::JudgeOptions> judge_options(const OptimizeOptions& options,
                                             const optimize::Task& task, const std::string& file,
                                             const std::string& timed) {
  optimize::JudgeOptions judge;
  judge.run_seconds = options.run_seconds;
  judge.build_limits.seconds = options.build_seconds;
  const Result<model::Model> model = find_model(task.gpu);
  if (!model.ok()) return model.error();
  judge.model = *model;
  const Result<optimize::SandboxKind> sandbox = optimize::find_sandbox();
  if (sandbox.ok()) judge.sandbox = *sandbox;
  else if (options.unsafe) judge.sandbox = optimize::SandboxKind::kNone;
  else return sandbox.error();
  if (timed.empty() || timed == kNotTimed) return judge;
  if (const Status status = check_timed(timed); !status.ok()) return status.error();
  judge.timer = make_timer({timed, task.gpu, file, task.captures, options.pairs,
                            task.tolerance == "bits", options.run_seconds});
  return judge;
}

Result<optimize::Sources> read_sources(const std::vector<std::string>& paths) {
  optimize::Sources sources;
  for (const std::string& path : paths) {
    const Result<std::vector<std::byte>> bytes = util::read_file(path);
    if (!bytes.ok()) return bytes.error();
    const std::string name = std::filesystem::path(path).filename();
    if (optimize::is_ledgers_own(name))
      return errorf("--source %s: the ledger has a file of that name in the same folder; rename it",
                    path.c_str());
    if (!sources
             .emplace(name,
                      std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()))
             .second)
      return errorf("--source %s: another one has the same name; rename it", path.c_str());
  }
  return sources;
}

// Kernels by -k, as wavetap capture chooses them; all of them without it.
class KernelChoice {
 public:
  explicit KernelChoice(const std::string& pattern)
      : is_set_(!pattern.empty() &&
                ::regcomp(&pattern_, pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  ~KernelChoice() {
    if (is_set_) ::regfree(&pattern_);
  }
  KernelChoice(const KernelChoice&) = delete;
  KernelChoice& operator=(const KernelChoice&) = delete;

  bool has(const std::string& name) const {
    return !is_set_ || ::regexec(&pattern_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t pattern_{};
  const bool is_set_;
};

// Captures of one kernel with everything that is needed, and what the loop has to know of it.
Status read_captures(const std::string& path, const std::string& pattern, optimize::Task& task,
                     optimize::LoopOptions& loop) {
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(path);
  if (!file.ok()) return file.error();
  const KernelChoice choice(pattern);
  std::vector<std::string> left_out;
  task.captures.clear();
  for (const replay::Capture& capture : (*file)->captures()) {
    if (!capture.has_before || !capture.has_after) continue;
    const replay::CapturedKernel kernel = replay::find_captured_kernel(**file, capture);
    if (kernel.kernel == nullptr) continue;
    if (!choice.has(capture.kernel) && !choice.has(kernel.kernel->name)) {
      left_out.push_back(capture.kernel);
      continue;
    }
    if (!task.captures.empty() && capture.kernel != task.kernel)
      return errorf(
          "%s: has dispatches of several kernels, %s and %s among them; choose one with -k",
          path.c_str(), task.kernel.c_str(), capture.kernel.c_str());
    if (task.captures.empty()) {
      task.kernel = capture.kernel;
      if (task.gpu.empty()) task.gpu = capture.model;
      loop.short_name = codeobj::short_name(kernel.kernel->name);
      for (int axis = 0; axis < 3; ++axis) {
        loop.workgroup[axis] = std::max<uint32_t>(capture.dispatch.workgroup_size[axis], 1);
        loop.grid[axis] = std::max(capture.dispatch.grid_size[axis], 1u);
      }
    }
    task.captures.push_back(capture.dispatch.capture);
  }
  if (task.captures.empty() && !left_out.empty())
    return errorf("%s: -k %s: no kernel of that name in it, but %s; write another pattern",
                  path.c_str(), pattern.c_str(), left_out[0].c_str());
  if (task.captures.empty())
    return errorf("%s: no whole capture of a kernel of the program's in it; capture it again",
                  path.c_str());
  return {};
}

// What costs most of the captured kernel, by instruction and, where it was compiled with -g, by line.
Json hot_places(const Json& analysis) {
  constexpr size_t kMost = 10;
  Json made = Json::object();
  for (const char* kind : {"ranking", "accesses", "blocks"}) {
    made[kind] = Json::array();
    for (const Json& one : analysis.at(kind))
      if (made[kind].size() < kMost) made[kind].push_back(one);
  }
  return made;
}

std::string gpu_of(const OptimizeOptions& options) {
  return options.gpu.empty() ? "rx6800xt" : options.gpu;
}

// The kernel that takes most of the critical path and whose source is at hand, for -k.
Status choose_kernel(OptimizeOptions& options, const std::vector<std::string>& program,
                     const optimize::Sources& sources, optimize::Task& task) {
  const Result<std::vector<optimize::RankedKernel>> ranked =
      rank_kernels(gpu_of(options), program, sources);
  if (!ranked.ok()) return ranked.error();
  for (const optimize::RankedKernel& one : *ranked) {
    fmt::print(stderr, "wavetap: {}: {:.0f} % of the kernels' part of the critical path{}\n",
               util::escape_control(one.kernel), one.critical_part * 100,
               one.has_source ? "; it is the one to optimize" : "; not in --source, left alone");
    if (!one.has_source) continue;
    options.kernels = exact_regex(one.kernel);
    task.ranking = *ranked;
    return {};
  }
  return errorf(
      "optimize: none of the program's %zu kernels is in --source; name the file that has one, or "
      "the kernel with -k",
      ranked->size());
}

// Captures the kernel of a program.
Result<std::string> capture_program(const OptimizeOptions& options, const std::string& folder,
                                    const std::vector<std::string>& program) {
  const std::string path = folder + "/captures.wtcap";
  std::vector<std::string> words = {util::executable_folder() + "/wavetap",
                                    "capture",
                                    "-k",
                                    options.kernels,
                                    "-o",
                                    path,
                                    "--gpu",
                                    gpu_of(options),
                                    "--"};
  words.insert(words.end(), program.begin(), program.end());
  const Result<util::ShellResult> ran = util::run_words(words, {});
  if (!ran.ok()) return ran.error();
  if (ran->status != 0)
    return errorf("%s: capturing it ended with exit status %d: %s", program[0].c_str(), ran->status,
                  ran->output.c_str());
  return path;
}

Status check_words(const OptimizeOptions& options, optimize::Task& task) {
  if (const Status status = check_kernel_pattern(options.kernels); !status.ok()) return status;
  if (options.sources.empty())
    return errorf("optimize: which source? name the kernel's file with --source");
  if (options.build.find("{out}") == std::string::npos)
    return errorf(
        "--build: nowhere {out}, the code object that it is to make; as in 'hipcc --genco "
        "--offload-arch=gfx1030 {source} -o {out}'");
  const Result<replay::Tolerance> tolerance = replay::parse_tolerance(options.verify);
  if (!tolerance.ok()) return tolerance.error();
  const Result<sanitize::ToolSet> tools = options.sanitize.empty()
                                              ? sanitize::ToolSet::dispatch_defaults()
                                              : sanitize::ToolSet::parse(options.sanitize);
  if (!tools.ok()) return errorf("--sanitize %s", tools.error().message.c_str());
  if (options.timed != kNotTimed) task.timed = options.timed;
  if (!task.timed.empty() && options.objective != "time")
    return errorf("--timed: measures time; leave out --objective %s", options.objective.c_str());
  if (const Status status = check_timed(task.timed); !status.ok()) return status;
  task.build = options.build;
  task.objective = options.objective;
  task.least_gain = options.least_gain / 100;
  task.tolerance = options.verify.empty() ? "bits" : options.verify;
  task.may_lose_precision = options.less_precise;
  task.tools = tools->names();
  task.seed = options.seed;
  task.gpu = options.gpu;
  return {};
}

int finish(const OptimizeOptions& options, const Ledger& ledger) {
  if (const Status written =
          util::write_file(ledger.folder() + "/report.html", optimize::report_html(ledger));
      !written.ok())
    return fail(written.error());
  if (options.json) fmt::print("{}", util::json_text(ledger.json()));
  else fmt::print("{}", optimize::report_text(ledger));
  for (const optimize::Attempt& attempt : ledger.attempts())
    if (attempt.accepted()) return kDone;
  return kIncomplete;
}

// The ledger to go on with, where there is one and it is asked for. What it was made for must be what is asked now;
// only the provider may be another.
Result<std::optional<Ledger>> find_ledger(const OptimizeOptions& options,
                                          const optimize::Task& task,
                                          const Result<optimize::Sources>& sources) {
  if (!options.resume || options.dry_run ||
      access((options.output + "/ledger.json").c_str(), F_OK) != 0)
    return std::optional<Ledger>();
  Result<Ledger> ledger = Ledger::resume(options.output);
  if (!ledger.ok()) return ledger.error();
  const optimize::Task& old = ledger->task();
  const char* other = nullptr;
  if (!sources.ok() || *sources != ledger->original()) other = "--source";
  if (task.build != old.build) other = "--build";
  if (task.objective != old.objective) other = "--objective";
  if (task.timed != old.timed) other = "--timed";
  if (task.least_gain != old.least_gain) other = "--least-gain";
  if (task.tolerance != old.tolerance) other = "--verify";
  if (task.may_lose_precision != old.may_lose_precision) other = "--allow-less-precise";
  if (task.tools != old.tools) other = "--sanitize";
  if (task.seed != old.seed) other = "--seed";
  if (!task.gpu.empty() && task.gpu != old.gpu) other = "--gpu";
  if (other != nullptr)
    return errorf("%s: was made with another %s; give the same, or name another folder with -o",
                  options.output.c_str(), other);
  return std::optional(std::move(*ledger));
}

Status describe_kernel(const std::string& file, const optimize::Task& task,
                       optimize::LoopOptions& loop) {
  const Result<profile::Profile> profile =
      profile_capture(file, {.model = task.gpu, .counters = ""}, {});
  if (!profile.ok()) return profile.error();
  loop.profile = profile::profile_json(*profile);
  // Where it lies on this machine is not the provider's business.
  loop.profile["source"] = std::filesystem::path(file).filename().string();
  loop.hot = hot_places(profile::analysis_json(*profile));
  return {};
}

void tell_attempt(const optimize::Attempt& attempt) {
  fmt::print(
      stderr, "wavetap: attempt {}: {}: {}\n", attempt.number,
      attempt.accepted() ? "accepted" : "refused at " + optimize::name_of(attempt.step),
      util::escape_control(attempt.accepted() ? attempt.rationale : attempt.reason.substr(0, 300)));
}

int optimise(OptimizeOptions& options, const std::vector<std::string>& words, bool is_program) {
  optimize::Task task;
  if (const Status status = check_words(options, task); !status.ok()) return fail(status.error());
  // First of all, so that the key is gone from the environment before anything is started.
  Result<std::unique_ptr<optimize::Provider>> provider =
      make_provider(options.provider, options.dry_run);
  if (!provider.ok()) return fail(provider.error());
  if (words.empty())
    return fail(errorf("optimize: nothing to optimize; name a capture, or a program behind --"));
  if (options.output.empty()) options.output = "optimize.ledger";
  const Result<optimize::Sources> sources = read_sources(options.sources);
  if (is_program && !sources.ok()) return fail(sources.error());
  Result<std::optional<Ledger>> found = find_ledger(options, task, sources);
  if (!found.ok()) return fail(found.error());
  const bool is_new = !*found;
  if (!is_new) task = (*found)->task();
  task.provider = (*provider)->name();
  if (is_program && is_new && options.kernels.empty())
    if (const Status chosen = choose_kernel(options, words, *sources, task); !chosen.ok())
      return fail_with_output(chosen.error());
  const Result<RunDir> scratch = RunDir::create();
  if (!scratch.ok()) return fail(scratch.error());
  Result<std::string> file = words[0];
  if (!is_new) file = (*found)->captures();
  else if (is_program) file = capture_program(options, scratch->path(), words);
  if (!file.ok()) return fail_with_output(file.error());
  optimize::LoopOptions loop;
  loop.attempts = options.attempts;
  loop.repairs = options.repairs;
  const std::string pattern = is_program || !is_new ? "" : options.kernels;
  if (const Status status = read_captures(*file, pattern, task, loop); !status.ok())
    return fail(status.error());
  if (!sources.ok()) return fail(sources.error());
  if (const Status status = describe_kernel(*file, task, loop); !status.ok())
    return fail(status.error());
  const Result<optimize::JudgeOptions> judge = judge_options(
      options, task, std::filesystem::absolute(options.output).string() + "/captures.wtcap",
      task.timed);
  if (!judge.ok() && !options.dry_run) return fail(judge.error());
  if (judge.ok()) task.sandbox = optimize::name_of(judge->sandbox);
  if (options.dry_run) {
    fmt::print("{}", util::json_text((*provider)->prompt(optimize::make_request(
                         Ledger::draft(task, *sources), loop, *sources, {}, {}))));
    return kDone;
  }
  Result<Ledger> ledger = is_new ? Ledger::create(options.output, task, *sources, *file)
                                 : Result<Ledger>(std::move(**found));
  if (!ledger.ok()) return fail(ledger.error());
  fmt::print(stderr, "wavetap: {}: {} to prove it on{}\n", util::escape_control(task.kernel),
             util::count_of(task.captures.size(), "dispatch"),
             is_new ? ""
                    : fmt::format("; going on after {}",
                                  util::count_of(ledger->attempts().size(), "attempt")));
  const Status ran =
      optimize::run_loop(*ledger, optimize::Judge(*ledger, *judge), **provider, loop, tell_attempt);
  if (!ran.ok()) return fail_with_output(ran.error());
  return finish(options, *ledger);
}

int replay_ledger(const OptimizeOptions& options) {
  const Result<Ledger> ledger = Ledger::open(options.replayed);
  if (!ledger.ok()) return fail(ledger.error());
  const std::string timed = options.timed.empty() ? ledger->task().timed : options.timed;
  const Result<optimize::JudgeOptions> judge =
      judge_options(options, ledger->task(), ledger->captures(),
                    ledger->task().timed.empty() ? kNotTimed : timed);
  if (!judge.ok()) return fail(judge.error());
  const std::string folder =
      options.output.empty() ? options.replayed + ".replayed" : options.output;
  const Result<std::vector<std::string>> differences =
      optimize::replay_ledger(*ledger, *judge, options.build, folder);
  if (!differences.ok()) return fail_with_output(differences.error());
  for (const std::string& difference : *differences)
    fmt::print("{}\n", util::escape_control(difference));
  fmt::print("{}: {} judged again, {} otherwise\n", util::escape_control(options.replayed),
             util::count_of(ledger->attempts().size(), "attempt"), differences->size());
  return differences->empty() ? static_cast<int>(kDone) : kIncomplete;
}

void add_options(Command& command, OptimizeOptions& options) {
  command
      .add_option("--kernel,-k", options.kernels,
                  "which kernel (a program's first of the critical path, a capture's only one)")
      ->type_name("REGEX");
  command.add_option("--source", options.sources, "a file that candidates may change; several")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--build", options.build,
                  "shell command that makes the code object {out} of {source}, the first one")
      ->type_name("CMD");
  add_provider_options(command, options.provider);
  command.add_option("--objective", options.objective, "what is to get less (time)")
      ->choices({"time", "instructions", "bytes", "conflicts", "lines", "l2_bytes"});
  command
      .add_option("--timed", options.timed,
                  "let measured time decide: both in turns on a GPU of this machine (hsa) or on "
                  "the virtual one (virtual: the emulation's time)")
      ->choices({"hsa", "virtual", kNotTimed});
  command.add_option("--pairs", options.pairs, "--timed: runs of each, per capture (20)")
      ->type_name("N")
      ->between(2, 10000);
  command
      .add_option("--least-gain", options.least_gain, "accept from this gain on, in percent (2)")
      ->type_name("PERCENT")
      ->between(0, 99);
  command.add_option("--verify", options.verify, "bits, abs=X, rel=X or ulp=N (bits)")
      ->type_name("TOLERANCE");
  command.add_flag("--allow-less-precise", options.less_precise,
                   "accept fewer digits than the original computes with, within --verify");
  command.add_option("--sanitize", options.sanitize, "tools of wavetap sanitize (its defaults)")
      ->type_name("TOOL,…");
  command.add_option("--attempts", options.attempts, "candidates at most (10)")
      ->type_name("N")
      ->between(0, 100000);
  command.add_option("--repairs", options.repairs, "builds that may fail, per candidate (2)")
      ->type_name("N")
      ->between(0, 100);
  command.add_option("--seed", options.seed, "of the inputs that nobody recorded (1)")
      ->type_name("N");
  command.add_option("--gpu", options.gpu, "GPU to run or model (the captured one)")
      ->type_name("MODEL");
  command.add_option("--build-timeout", options.build_seconds, "seconds (120)")
      ->type_name("S")
      ->between(0.1, 1e6);
  command.add_option("--timeout", options.run_seconds, "seconds of a replay (120)")
      ->type_name("S")
      ->between(0.1, 1e6);
  command.add_option("--output,-o", options.output, "folder of the ledger (optimize.ledger)")
      ->type_name("DIR");
  command.add_flag("--resume", options.resume, "go on with the ledger of an optimize before");
  command
      .add_option("--replay-ledger", options.replayed,
                  "judge every attempt of a ledger again; with --build, by another compiler")
      ->type_name("DIR");
  command.add_flag("--unsafe", options.unsafe, "build without a sandbox where there is none");
  command.add_flag("--dry-run", options.dry_run, "print what the provider would be asked");
  command.add_flag("--json", options.json, "print ledger.json");
}

}  // namespace

void add_optimize(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<OptimizeOptions>();
  Command& command = parent.add_command(
      "optimize",
      "let a provider rewrite a kernel, and accept only what is proved right and better; exit status 2 "
      "if nothing is",
      "optimize [OPTIONS] FILE.wtcap | [OPTIONS] -- CMD [ARG…]",
      "  wavetap optimize --source gemm.hip \\\n"
      "    --build 'hipcc --genco --offload-arch=gfx1030 {source} -o {out}' gemm.wtcap\n"
      "  wavetap optimize --dry-run --source gemm.hip --build … gemm.wtcap\n"
      "  wavetap optimize --provider http --base-url https://HOST/v1 --model NAME \\\n"
      "    --key-env MY_KEY --max-tokens 200000 --source gemm.hip --build … gemm.wtcap\n"
      "  wavetap optimize report optimize.ledger\n");
  command.prefix_command();
  add_options(command, *options);
  add_optimize_report(command, invocation, options->is_other);
  add_optimize_gate(command, invocation, options->is_other);
  command.callback([options, &command, &invocation] {
    if (options->is_other) return;
    std::vector<std::string> words = command.remaining();
    if (!words.empty() && words[0].starts_with('-')) {
      invocation.exit_code = fail({"optimize: " + unknown_option(command.describe(), words[0])});
      return;
    }
    if (!options->replayed.empty()) {
      invocation.exit_code = replay_ledger(*options);
      return;
    }
    if (words.size() > 1 && !invocation.has_separator) {
      invocation.exit_code = fail(errorf("optimize: %s: one capture at a time", words[1].c_str()));
      return;
    }
    const bool is_program = words.empty();
    if (is_program) words = invocation.program;
    invocation.exit_code = optimise(*options, words, is_program);
  });
}

}  // namespace wavetap::cli
