// wavetap probe: runs a program on virtual GPUs, or a captured dispatch, and tells what its kernels do
// inside: memory, blocks, instructions, values.
//
// The handlers run where the kernels run, in the program (probe/session.h), and leave their results
// in a folder; here the program is started, and the folder read when it has ended.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/gpu_start.h"
#include "cli/install_tree.h"
#include "cli/logduration.h"
#include "cli/probe_choice.h"
#include "cli/probe_output.h"
#include "cli/probe_pass.h"
#include "cli/program_run.h"
#include "cli/run_dir.h"
#include "cli/run_environment.h"
#include "cli/usage.h"
#include "format/launch_choice.h"
#include "format/probe_ring.h"
#include "inspect/capture_probe.h"
#include "inspect/pass_probe.h"
#include "inspect/probe_results.h"
#include "inspect/reports.h"
#include "probe/handlers/builtin.h"
#include "replay/capture_file.h"
#include "util/extended_pattern.h"
#include "util/file.h"
#include "util/json.h"
#include "util/terminal.h"
#include "util/text.h"
#include "vgpu/run_directory.h"

namespace wavetap::cli {
namespace {

struct ProbeCommandOptions {
  std::string handlers;
  RunOptions run;
  bool pass = false;
  bool real = false;
  bool prepare = false;
  uint64_t ring_mib = 0;   // 0: as much as usual
  std::string dispatches;  // -d
  uint64_t dispatch_seed = 0;
  std::string library_filter;  // a file
  std::string output;
  std::string json;
  uint64_t top = 20;
  uint32_t capture = 0;  // 0: the first

  bool is_told() const { return pass || real || prepare; }
  uint64_t ring_bytes() const { return (ring_mib == 0 ? 64 : ring_mib) << 20; }
};

std::vector<std::string> handler_names() {
  std::vector<std::string> names;
  for (const probe::BuiltinHandler& handler : probe::builtin_handlers())
    names.emplace_back(handler.name);
  return names;
}

std::string handler_help() {
  std::vector<std::string> parts;
  for (const probe::BuiltinHandler& handler : probe::builtin_handlers())
    parts.push_back(fmt::format("{} ({})", handler.name, handler.help));
  return "what to find out, one or several: " + util::join(parts, ", ") +
         "; or the path of a handler of your own, PATH.so[=ARGUMENTS]";
}

// Of the handlers that come along, one takes some.
Status check_arguments(const probe::HandlerChoice& choice) {
  const std::string& text = choice.arguments;
  if (text.empty()) return {};
  const std::string shown = util::escape_control(choice.name + "=" + text);
  if (choice.name != "log")
    return errorf("%s: this handler takes no arguments; write %s", shown.c_str(),
                  choice.name.c_str());
  const bool is_limit = text.starts_with("limit=") && text.size() > 6 && text.size() < 26 &&
                        text.find_first_not_of("0123456789", 6) == std::string::npos;
  return is_limit
             ? Status()
             : Status(errorf("%s: not understood; write log=limit=N, N being a number of records",
                             shown.c_str()));
}

// What the user wrote, checked as far as it can be before the program starts.
Result<std::vector<probe::HandlerChoice>> check_handlers(const std::string& list) {
  std::vector<probe::HandlerChoice> choices = probe::parse_handlers(list);
  const std::vector<std::string> known = handler_names();
  for (probe::HandlerChoice& choice : choices) {
    if (choice.name.empty())
      return errorf("probe: empty name of a handler; write HANDLER[,HANDLER…]");
    const bool is_path = choice.is_library() || choice.name.ends_with(".so");
    if (!is_path && std::find(known.begin(), known.end(), choice.name) == known.end()) {
      const std::string near = util::nearest_name(choice.name, known);
      return errorf("%s: no handler of this name; %sthere are %s, and libraries by their path",
                    util::escape_control(choice.name).c_str(),
                    near.empty() ? "" : ("did you mean " + near + "? ").c_str(),
                    util::join(known, ", ").c_str());
    }
    if (!is_path) {
      if (const Status good = check_arguments(choice); !good.ok()) return good.error();
      continue;
    }
    std::error_code error;
    const std::filesystem::path path = std::filesystem::absolute(choice.name, error);
    if (!std::filesystem::is_regular_file(path, error))
      return errorf("%s: no such file; give the path of a handler's shared library",
                    choice.name.c_str());
    choice.name = path.lexically_normal().string();
  }
  for (size_t i = 0; i < choices.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (choices[i].name == choices[j].name)
        return errorf("%s: named twice; its results have one place, leave one of them out",
                      util::escape_control(choices[i].name).c_str());
  return choices;
}

// -k and --library, as the probed program understands them.
Status use_patterns(ProbeRunOptions& probe) {
  for (std::string* pattern : {&probe.kernels, &probe.libraries}) {
    const Result<std::string> extended = util::to_extended_pattern(*pattern);
    if (!extended.ok())
      return errorf("%s %s", pattern == &probe.kernels ? "-k" : "--library",
                    extended.error().message.c_str());
    if (const Status good = check_kernel_pattern(*extended, *pattern); !good.ok()) return good;
    *pattern = *extended;
  }
  return {};
}

// A wavetap around this one has its own GPUs, or its own probes, and this one replaces them. With --real the GPUs are
// those that are there.
void warn_if_inside(bool real) {
  if ((real || std::getenv(vgpu::kRunDirVariable) == nullptr) &&
      std::getenv(format::kProbeVariable) == nullptr)
    return;
  warn(
      {"probe: this runs inside another wavetap, which will see none of the kernels that are probed "
       "here; leave out one of the two"});
}

// The folder that -o names, made here and empty; ours as long as this process lives.
Status make_output(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return errorf("%s: cannot be made: %s; name another folder with -o", path.c_str(),
                  error.message().c_str());
  const int held = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (held >= 0 && flock(held, LOCK_EX | LOCK_NB) != 0)
    return errorf("%s: another wavetap probe writes there; name another folder with -o",
                  path.c_str());
  if (!std::filesystem::is_empty(path, error) || error)
    return errorf("%s: is not empty; choose another folder with -o, or remove it", path.c_str());
  return {};
}

std::string report_name(const probe::HandlerChoice& choice) {
  return choice.is_library() ? "" : choice.name;
}

int finish(const ProbeCommandOptions& options, const std::vector<probe::HandlerChoice>& handlers,
           const std::string& folder, int status) {
  Result<inspect::ProbeResults> results = inspect::read_probe_results(folder);
  if (!results.ok()) return fail(results.error(), kIncomplete);
  results->random = format::LaunchChoice::of_checked(options.run.probe.launches).random();
  for (const auto& [handler, why] : results->refused)
    warn({fmt::format("{}: {}; the program ran without it", handler, why)});
  std::vector<std::string> names;
  for (const probe::HandlerChoice& choice : handlers)
    if (const std::string name = report_name(choice); !name.empty()) names.push_back(name);
  fmt::print(stderr, "{}",
             inspect::to_text(*results, names,
                              {.rows = options.top == 0 ? SIZE_MAX : options.top,
                               .columns = util::output_columns(STDERR_FILENO),
                               .told = options.pass || options.real}));
  const inspect::Json json = inspect::to_json(*results, names);
  const std::string text = util::json_text(json);
  if (!options.json.empty())
    if (const Status written = util::write_file(options.json, text); !written.ok())
      warn(written.error());
  if (!options.output.empty())
    if (const Status written = write_probe_output(folder, *results, names, text); !written.ok())
      warn(written.error());
  return status;
}

int probe_program(ProbeCommandOptions& options, const std::vector<probe::HandlerChoice>& handlers,
                  const std::string& folder, const std::vector<std::string>& program) {
  options.run.no_trace = true;
  options.run.probe.folder = folder;
  options.run.probe.handlers = probe::handlers_text(handlers);
  options.run.probe.names_buffers =
      std::any_of(handlers.begin(), handlers.end(),
                  [](const auto& choice) { return choice.name == "heatmap"; });
  if (options.run.gpus.empty()) options.run.gpus = {kDefaultGpu};
  const Result<std::string> library =
      prepare_environment(options.run.gpus, options.run.environment);
  if (!library.ok()) return fail(library.error());
  warn_if_inside(false);
  bool ran = false;
  const int status = run_program(options.run, program, &ran);
  return ran ? finish(options, handlers, folder, status) : status;
}

// With --pass and --real: kernels that were compiled with wavetap-hipcc tell what they do.
int probe_instrumented(ProbeCommandOptions& options,
                       const std::vector<probe::HandlerChoice>& handlers, const std::string& folder,
                       const std::string& scratch, const std::vector<std::string>& program) {
  if (options.real && !options.run.gpus.empty())
    return fail(
        errorf("probe: --real runs on the machine's GPU and --gpu on a virtual one; leave "
               "out one of them"));
  if (options.real && !machine_has_gpu())
    return fail(
        errorf("probe: --real: this machine has no GPU that ROCm can use; leave it out for a "
               "virtual one, or ask wavetap doctor"));
  if (!options.real && options.run.gpus.empty()) options.run.gpus = {kDefaultGpu};
  const Result<std::string> library =
      prepare_environment(options.run.gpus, options.run.environment);
  if (!library.ok()) return fail(library.error());
  Result<inspect::PassProbeOptions> telling =
      prepare_pass(options.run, handlers, folder, scratch, options.ring_bytes());
  if (!telling.ok()) return fail(telling.error());
  warn_if_inside(options.real);
  bool ran = false;
  const int status = run_program(options.run, program, &ran);
  if (!ran) return status;
  const Result<inspect::PassOutcome> outcome = inspect::tell_records(*telling);
  if (!outcome.ok()) return fail(outcome.error(), kIncomplete);
  const int finished = finish(options, handlers, folder, status);
  print_pass_outcome(*outcome);
  return finished;
}

// --prepare: nothing is run; the folder gets what a program without a command in front needs.
int prepare_folder(ProbeCommandOptions& options, const std::vector<probe::HandlerChoice>& handlers,
                   const std::string& folder, const std::vector<std::string>& program) {
  if (!program.empty())
    return fail(errorf("probe: --prepare runs nothing; leave %s out", program[0].c_str()));
  if (options.output.empty())
    return fail(errorf("probe: --prepare: no folder for the records; add -o DIR"));
  const Result<inspect::PassProbeOptions> telling =
      prepare_pass(options.run, handlers, folder, folder, options.ring_bytes());
  if (!telling.ok()) return fail(telling.error());
  say(stdout, fmt::format("{}={} HSA_TOOLS_LIB=libwavetap.so ./app", format::kProbeVariable,
                          options.run.probe.request_file));
  say(stdout, fmt::format("wavetap probe {} {}", options.handlers, options.output));
  return kDone;
}

// What handlers said when the folder was read before: they will say it again.
void remove_results(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> old;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".lines" || entry.path().extension() == ".jsonl")
      old.push_back(entry.path());
  for (const std::filesystem::path& path : old) std::filesystem::remove(path, error);
}

// A folder that was prepared, when programs have left their records there.
int probe_prepared(ProbeCommandOptions& options, const std::vector<probe::HandlerChoice>& handlers,
                   const std::string& folder) {
  const std::string path = std::filesystem::absolute(folder).lexically_normal().string();
  const Result<inspect::PassProbeOptions> telling = prepared_pass(options.run, handlers, path);
  if (!telling.ok()) return fail(telling.error());
  remove_results(path);
  const Result<inspect::PassOutcome> outcome = inspect::tell_records(*telling);
  if (!outcome.ok()) return fail(outcome.error(), kIncomplete);
  options.output = path;  // the page goes where the records are
  const int finished = finish(options, handlers, path, kDone);
  print_pass_outcome(*outcome);
  return finished;
}

int probe_file(const ProbeCommandOptions& options,
               const std::vector<probe::HandlerChoice>& handlers, const std::string& folder,
               const std::string& path) {
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(path);
  if (!file.ok()) return fail(file.error());
  const std::vector<replay::Capture>& captures = (*file)->captures();
  const uint32_t number = std::max(options.capture, 1u);
  if (number > captures.size())
    return fail(errorf("%s: no capture %u; it has %zu", path.c_str(), number, captures.size()));
  const replay::Capture& capture = captures[number - 1];
  inspect::CaptureProbeOptions probing;
  probing.handlers = handlers;
  probing.folder = folder;
  probing.replay.seed = options.run.seed;
  probing.replay.threads = options.run.threads;
  const std::string model_name = options.run.gpus.empty() ? capture.model : options.run.gpus[0];
  if (const Result<model::Model> model = find_model(model_name); model.ok())
    probing.line_bytes = model->vector_line_bytes();
  else if (!options.run.gpus.empty()) return fail(model.error());
  const Result<replay::ReplayResult> ran = inspect::probe_capture(**file, capture, probing);
  if (!ran.ok()) return fail(ran.error());
  if (ran->refusal != replay::Refusal::kNone) return fail({ran->why});
  return finish(options, handlers, folder, kDone);
}

bool is_capture(const std::vector<std::string>& program) {
  return program.size() == 1 && replay::is_capture_file(program[0]);
}

bool is_prepared_folder(const std::vector<std::string>& program) {
  return program.size() == 1 && std::filesystem::is_directory(program[0]);
}

Status of_no_capture(const char* what) {
  return errorf("probe: --capture: chooses one of a FILE.wtcap, and this is %s; leave it out",
                what);
}

// Options that choose among what a program does say nothing about what was recorded: better refused than ignored.
Status refuse_choices(const ProbeCommandOptions& options, bool of_capture) {
  const ProbeRunOptions& probe = options.run.probe;
  const std::pair<const char*, bool> given[] = {
      {"-k", !probe.kernels.empty()},
      {"--library", !probe.libraries.empty()},
      {"--library-filter", !options.library_filter.empty()},
      {"-d", !options.dispatches.empty()},
      {"--launch", !probe.launches.empty()},
      {"--every", probe.every != 0},
      {"--max", probe.max != 0},
      {"--ring", options.ring_mib != 0},
      {"--pass", of_capture && options.pass},
      {"--real", of_capture && options.real},
      {"--prepare", options.prepare},
      {"--gpu-threads", !of_capture && options.run.threads != 0},
      {"--seed", !of_capture && options.run.seed != 0}};
  for (const auto& [name, is_given] : given)
    if (is_given)
      return errorf("probe: %s: %s; leave it out", name,
                    of_capture ? "a capture is one dispatch, chosen by --capture, on the engine"
                               : "that was said when the folder was prepared");
  if (!of_capture && options.capture != 0) return of_no_capture("a folder");
  return {};
}

// The same for a program.
Status refuse_unused(const ProbeCommandOptions& options) {
  if (options.ring_mib != 0 && !options.is_told())
    return errorf(
        "probe: --ring: records go through a ring where kernels tell them; add --pass or --real, "
        "or leave it out");
  if (options.capture != 0) return of_no_capture("a program");
  const char* const of_engine = options.run.threads != 0 ? "--gpu-threads"
                                : options.run.seed != 0  ? "--seed"
                                                         : nullptr;
  if (options.real && of_engine != nullptr)
    return errorf(
        "probe: %s: is about virtual GPUs, and --real runs on the machine's; leave it out",
        of_engine);
  return {};
}

int probe_command(ProbeCommandOptions& options, const std::vector<std::string>& program) {
  if (program.empty() && !options.prepare)
    return fail(
        errorf("probe: nothing to probe; write wavetap probe HANDLER[,HANDLER…] [OPTIONS] "
               "-- CMD [ARG…], or … FILE.wtcap"));
  const Result<std::vector<probe::HandlerChoice>> handlers = check_handlers(options.handlers);
  if (!handlers.ok()) return fail(handlers.error());
  if (!options.library_filter.empty())
    if (const Status good = use_library_filter(options.library_filter, options.run.probe);
        !good.ok())
      return fail(good.error());
  if (const Status good = use_patterns(options.run.probe); !good.ok()) return fail(good.error());
  if (const Status good =
          choose_launches(options.dispatches, options.dispatch_seed, options.run.probe);
      !good.ok())
    return fail(good.error());
  if (!options.json.empty())
    if (const Status good = util::check_writable(options.json); !good.ok())
      return fail(good.error());
  const bool is_told = options.is_told();
  if (is_told && !(options.run.probe.libraries + options.run.probe.not_libraries).empty())
    return fail(
        errorf("probe: --library: instrumented kernels are those that were compiled with "
               "wavetap-hipcc, whatever file they are in; choose with -k"));
  const bool is_folder = is_prepared_folder(program);
  if (!is_told && !is_folder)
    for (const probe::HandlerChoice& choice : *handlers)
      if (choice.name == "latency")
        return fail(errorf(
            "latency: watching a virtual GPU has no clock; compile with wavetap-hipcc and add "
            "--pass or --real, or ask for blocks and instructions"));
  if (is_folder) return probe_prepared(options, *handlers, program[0]);
  const Result<RunDir> scratch = RunDir::create();
  if (!scratch.ok()) return fail(scratch.error());
  std::string folder = scratch->path();
  if (!options.output.empty()) {
    if (const Status made = make_output(options.output); !made.ok()) return fail(made.error());
    folder = std::filesystem::absolute(options.output).lexically_normal().string();
  }
  if (is_capture(program)) return probe_file(options, *handlers, folder, program[0]);
  if (!is_told) return probe_program(options, *handlers, folder, program);
  if (const Status good = check_pass_handlers(*handlers); !good.ok()) return fail(good.error());
  if (options.prepare) return prepare_folder(options, *handlers, folder, program);
  return probe_instrumented(options, *handlers, folder, scratch->path(), program);
}

void add_options(Command& command, ProbeCommandOptions& options) {
  command.add_option("HANDLER", options.handlers, handler_help())
      ->type_name("HANDLER[,HANDLER…]")
      ->required()
      ->offers(handler_names());
  command
      .add_option(
          "--gpu", options.run.gpus,
          std::string("virtual GPUs the program sees, as for wavetap run (") + kDefaultGpu + ")")
      ->type_name("MODEL[,MODEL…]")
      ->allow_extra_args(false);
  command.add_flag("--pass", options.pass,
                   "probe what kernels tell that were compiled with wavetap-hipcc, instead of "
                   "watching the virtual GPU");
  command.add_flag("--real", options.real,
                   "the same on the machine's own GPU; see docs/probe-pass.md");
  command.add_flag(
      "--prepare", options.prepare,
      "run nothing: with -o, write what HSA_TOOLS_LIB=libwavetap.so ./app needs to do the "
      "same without a command in front; wavetap probe HANDLER DIR reads what came of it");
  command
      .add_option("--ring", options.ring_mib,
                  "with --pass or --real: the ring that records go through, per GPU (64)")
      ->type_name("MIB")
      ->between(1, 16384);
  command
      .add_option("--kernel,-k", options.run.probe.kernels,
                  "probe kernels whose demangled name matches, a regular expression of ECMAScript "
                  "or POSIX (any kernel of the program)")
      ->type_name("REGEX");
  command
      .add_option("--library", options.run.probe.libraries,
                  "probe kernels of programs and libraries whose path matches (any); what hipRTC "
                  "made has none")
      ->type_name("REGEX");
  command
      .add_option("--library-filter", options.library_filter,
                  "leave out kernels of the libraries that `exclude` of this JSON file lists, as "
                  "Omniprobe does")
      ->type_name("FILE");
  command
      .add_option("--dispatches,-d", options.dispatches,
                  "which launches of those kernels: all; first: of each kernel; random: one in a "
                  "hundred, by chance; random=N: one in N (all)")
      ->type_name("CHOICE")
      ->offers({"all", "first", "random"});
  command
      .add_option(
          "--dispatch-seed", options.dispatch_seed,
          "with -d random: the seed, to choose the same launches again; 0: another one each "
          "time (0)")
      ->type_name("N");
  command
      .add_option("--launch", options.run.probe.launches,
                  "which launches of those kernels, counted from 1 in each process (all)")
      ->type_name("N[,N-M…]");
  command
      .add_option("--every", options.run.probe.every, "the first launch and every N-th after it")
      ->type_name("N")
      ->between(1, 1e15);
  command.add_option("--max", options.run.probe.max, "no more than this many launches per process")
      ->type_name("N")
      ->between(1, 1e15);
  command
      .add_option("--output,-o", options.output,
                  "keep everything in a new folder: a page to look at, JSON, pictures, code")
      ->type_name("DIR");
  command.add_option("--json", options.json, "write the results to a file")->type_name("FILE");
  command.add_option("--top", options.top, "rows per table (20); 0: all")->type_name("N");
  command.add_option("--capture", options.capture, "which capture of the file (1)")
      ->type_name("N")
      ->between(1, UINT32_MAX);
  command
      .add_option("--gpu-threads", options.run.threads,
                  "host threads that run waves; 1 is deterministic; 0: one per core")
      ->type_name("N")
      ->between(0, 1024);
  command.add_option("--seed", options.run.seed, "permute workgroups and waves; 0: do not")
      ->type_name("N");
}

}  // namespace

void add_probe(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<ProbeCommandOptions>();
  Command& command = parent.add_command(
      "probe", "run a program on virtual GPUs and see what its kernels do inside",
      "probe HANDLER[,HANDLER…] [OPTIONS] -- CMD [ARG…]",
      "  wavetap probe memory -- ./my_hip_program\n"
      "  wavetap probe memory,blocks -k '^reduce' -o results -- ./my_program\n"
      "  wavetap probe values kernel.wtcap\n"
      "  wavetap probe ./my_handler.so -- python3 train.py\n"
      "  wavetap-hipcc saxpy.hip -o saxpy && wavetap probe memory --real -- ./saxpy\n");
  command.prefix_command();
  add_options(command, *options);
  command.callback([options, &command, &invocation] {
    const Result<std::vector<std::string>> program = program_words(command, invocation);
    if (!program.ok()) {
      invocation.exit_code = fail(program.error());
      return;
    }
    const bool of_capture = is_capture(*program);
    Status understood = of_capture || is_prepared_folder(*program)
                            ? refuse_choices(*options, of_capture)
                            : refuse_unused(*options);
    if (understood.ok() && !of_capture && !is_prepared_folder(*program))
      understood = use_logduration_variables(
          {options->run.probe, options->dispatches, options->library_filter, options->json});
    invocation.exit_code =
        understood.ok() ? probe_command(*options, *program) : fail(understood.error());
  });
}

}  // namespace wavetap::cli
