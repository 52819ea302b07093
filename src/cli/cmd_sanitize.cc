// wavetap sanitize: runs a program on virtual GPUs, or a captured dispatch on the engine, and checks what
// its kernels do.
//
// For a program, the library that plays the GPUs does the checking and appends what it finds to a file
// (vgpu/sanitize_hook.h); here the program is started, and the file read when it has ended.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>

#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/gpu_start.h"
#include "cli/program_run.h"
#include "cli/run_dir.h"
#include "cli/sanitize_host.h"
#include "cli/sanitize_kernel.h"
#include "cli/sanitize_report.h"
#include "cli/suppressions.h"
#include "cli/usage.h"
#include "proof/captured_map.h"
#include "replay/capture_file.h"
#include "replay/describe_fault.h"
#include "sanitize/kinds.h"
#include "store/add_markers.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "vgpu/launch_choice.h"

namespace wavetap::cli {
namespace {

constexpr int kFound = 2;  // exit status when there are errors

struct SanitizeOptions {
  std::string tools;
  sanitize::ToolSet parsed_tools;
  RunOptions run;
  uint32_t seeds = 1;
  std::string json, sarif;
  std::string trace;  // where the recording is kept; "": nowhere
  std::string suppressions, written_suppressions;
  std::vector<Suppression> parsed_suppressions;
  int error_exitcode = kFound;  // 0: the program's own
  uint64_t max = 100;
};

void write_or_warn(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  const Status written = util::write_file(path, text);
  if (!written.ok()) warn(written.error());
}

// Tells what was found. `status` is the program's own.
int finish(const SanitizeOptions& options, SanitizeReport& report, int status) {
  report.tools = options.parsed_tools.names();
  report.orders = options.seeds;
  write_or_warn(options.written_suppressions, write_suppressions(report));
  suppress(options.parsed_suppressions, report);
  fmt::print(stderr, "{}", sanitize_text(report, options.max));
  if (!options.json.empty()) {
    const nlohmann::ordered_json document = sanitize_json(report, status);
    write_or_warn(options.json, util::json_text(document));
  }
  if (!options.sarif.empty()) write_or_warn(options.sarif, sanitize_sarif(report, status));
  return options.error_exitcode != 0 && report.errors() != 0 ? options.error_exitcode : status;
}

Status check_options(SanitizeOptions& options) {
  if (const Status good = check_kernel_pattern(options.run.sanitize_kernels); !good.ok())
    return good;
  if (const auto list = parse_launches(options.run.sanitize_launches); !list.ok())
    return list.error();
  for (const std::string& path : {options.json, options.sarif, options.written_suppressions})
    if (const Status good = path.empty() ? Status() : util::check_writable(path); !good.ok())
      return good;
  const Result<sanitize::ToolSet> tools = sanitize::ToolSet::parse(options.tools);
  if (!tools.ok()) return Error{"sanitize: --tool " + tools.error().message};
  options.parsed_tools = *tools;
  if (options.suppressions.empty()) return {};
  const Result<std::vector<std::byte>> bytes = util::read_file(options.suppressions);
  if (!bytes.ok()) return bytes.error();
  Result<std::vector<Suppression>> suppressions = parse_suppressions(
      {reinterpret_cast<const char*>(bytes->data()), bytes->size()}, options.suppressions);
  if (!suppressions.ok()) return suppressions.error();
  options.parsed_suppressions = std::move(*suppressions);
  return {};
}

// What was found, as markers at the times of the dispatches and calls.
void mark_findings(const std::string& trace, const SanitizeReport& report) {
  std::vector<store::AddedMarker> markers;
  for (const nlohmann::ordered_json& finding : report.findings) {
    store::AddedMarker marker;
    marker.pid = finding.value("pid", int64_t{0});
    marker.time_ns = finding.value("time_ns", int64_t{0});
    marker.category = "sanitize";
    marker.text = sanitize_sentence(finding);
    for (const char* key : {"kernel", "source"})
      if (finding.contains(key)) marker.text += "; " + finding.value(key, std::string());
    markers.push_back(std::move(marker));
  }
  const Result<uint64_t> added = store::add_markers(trace, markers);
  if (!added.ok()) warn(added.error());
}

int run_sanitized(SanitizeOptions& options, const std::vector<std::string>& program) {
  if (program.empty())
    return fail(
        errorf("sanitize: no program given; write wavetap sanitize [OPTIONS] -- CMD [ARG…]"));
  if (const Status good = check_options(options); !good.ok()) return fail(good.error());
  const Result<RunDir> folder = RunDir::create();
  if (!folder.ok()) return fail(folder.error());
  const bool records = needs_recording(options.parsed_tools) || !options.trace.empty();
  options.run.no_trace = !records;
  options.run.recording.output =
      options.trace.empty() ? folder->path() + "/trace.rpd" : options.trace;
  options.run.recording.args = options.run.recording.stacks = options.run.recording.quiet = true;
  options.run.findings_file = folder->path() + "/findings";
  options.run.sanitize_tools = options.parsed_tools.names();
  if (options.run.gpus.empty()) options.run.gpus = {kDefaultGpu};
  const Result<std::string> library =
      prepare_environment(options.run.gpus, options.run.environment);
  if (!library.ok()) return fail(library.error());
  // PyTorch's allocator cuts tensors out of large pieces; without it each has bounds of its own.
  for (const char* name : {"PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING"})
    setenv(name, "1", /*overwrite=*/0);
  int status = 0;
  for (uint32_t seed = 0; seed < options.seeds; ++seed) {
    bool ran = false;
    options.run.seed = seed;
    const int ended = run_program(options.run, program, &ran);
    if (!ran) return ended;
    if (status == 0) status = ended;
  }
  SanitizeReport report;
  const Status folded = read_findings(options.run.findings_file, report);
  if (!folded.ok()) return fail(folded.error(), kIncomplete);
  if (records) {
    const Status looked =
        find_host_mistakes(options.run.recording.output, options.parsed_tools, report);
    if (!looked.ok()) return fail(looked.error(), kIncomplete);
  }
  const int exit_code = finish(options, report, status);
  if (!options.trace.empty()) mark_findings(options.trace, report);
  return exit_code;
}

// One captured dispatch, once per order. Appends lines of findings; returns an exit status.
int sanitize_capture(const SanitizeOptions& options, const replay::CaptureFile& file,
                     const replay::Capture& capture, std::string& lines) {
  const replay::CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  const Result<std::unique_ptr<replay::CapturedMemory>> memory =
      replay::CapturedMemory::load(file, capture);
  if (!memory.ok()) return fail(memory.error(), kCannotReserve);
  KernelSanitizer sanitizer(options.parsed_tools, proof::memory_map(capture));
  int status = kDone;
  for (uint32_t seed = 0; seed < options.seeds; ++seed) {
    if (seed != 0) (*memory)->restore();
    replay::ReplayOptions how;
    how.seed = seed;
    how.watchers = sanitizer.watchers();
    const replay::ReplayResult result = replay::run_replay(capture, kernel, **memory, how);
    if (result.refusal != replay::Refusal::kNone)
      return fail({result.why}, exit_code_of(result.refusal));
    lines += sanitizer.take_lines(names_of(capture, kernel, **memory, result), 1,
                                  result.fault.has_value());
    if (result.fault)
      status = fail({fmt::format("{}: {}", util::escape_control(capture.kernel),
                                 replay::describe_fault(capture, kernel, **memory, *result.fault))},
                    kKernelFault);
  }
  return status;
}

int sanitize_file(SanitizeOptions& options, const std::string& path) {
  if (const Status good = check_options(options); !good.ok()) return fail(good.error());
  if (!options.run.gpus.empty())
    return fail(
        errorf("sanitize: --gpu is for programs; %s was captured on one GPU and stays there",
               path.c_str()));
  if (options.tools.empty()) options.parsed_tools = sanitize::ToolSet::dispatch_defaults();
  if (looks_at_calls(options.parsed_tools))
    return fail(
        errorf("sanitize: leakcheck and hostcheck look at a program's calls, and %s has none; "
               "leave them out of --tool",
               path.c_str()));
  int exit_code = kDone;
  const std::unique_ptr<replay::CaptureFile> file = open_captures(path, &exit_code);
  if (file == nullptr) return exit_code;
  const vgpu::KernelPattern pattern(options.run.sanitize_kernels);
  const auto launches = format::LaunchList::of_checked(options.run.sanitize_launches);
  if (file->captures().empty()) return fail(choose_capture(*file, 1).error(), kDamagedFile);
  SanitizeReport report;
  std::string lines;
  int status = kDone;
  uint64_t matched = 0;
  for (uint32_t number = 1; number <= file->captures().size(); ++number) {
    const bool matches = pattern.matches(file->captures()[number - 1].kernel);
    if (matches) ++matched;
    if (!matches || (!launches.empty() && !launches.contains(matched))) {
      ++report.skipped;
      continue;
    }
    const Result<const replay::Capture*> capture = choose_capture(*file, number);
    if (!capture.ok()) return fail(capture.error(), kDamagedFile);
    const int ended = sanitize_capture(options, *file, **capture, lines);
    if (status == kDone) status = ended;
  }
  fold_findings(lines, report);
  return finish(options, report, status);
}

void add_choice_options(Command& command, SanitizeOptions& options) {
  std::vector<std::string> names;
  std::vector<std::string> extras;
  for (const sanitize::ToolRow& row : sanitize::tool_rows()) {
    names.emplace_back(row.name);
    if (!row.is_default) extras.emplace_back(row.name);
  }
  command
      .add_option("--tool", options.tools,
                  fmt::format("what to look for: {} (all{})", util::join(names, ", "),
                              extras.empty() ? "" : " but " + util::join(extras, ", ")))
      ->type_name("TOOL[,TOOL…]")
      ->offers(names);
  command
      .add_option(
          "--gpu", options.run.gpus,
          std::string("virtual GPUs the program sees, as for wavetap run (") + kDefaultGpu + ")")
      ->type_name("MODEL[,MODEL…]")
      ->allow_extra_args(false);
  command.add_option("--gpu-option", options.run.gpu_options, driver_option_help())
      ->type_name("KEY[=VALUE]")
      ->allow_extra_args(false);
  command
      .add_option("--kernel,-k", options.run.sanitize_kernels,
                  "check only kernels whose demangled name matches; the others run as usual")
      ->type_name("REGEX");
  command
      .add_option("--launch", options.run.sanitize_launches,
                  "check only these launches of those kernels, counted from 1 in each process")
      ->type_name("N[,N-M…]");
  command
      .add_option("--seeds", options.seeds,
                  "run everything N times, with workgroups and waves in another order each (1)")
      ->type_name("N")
      ->between(1, 10000);
}

void add_report_options(Command& command, SanitizeOptions& options) {
  command
      .add_option("--output,-o", options.trace,
                  "keep a trace of the run, with the findings as markers in it")
      ->type_name("FILE.rpd");
  command.add_option("--json", options.json, "write every finding to a file")->type_name("FILE");
  command.add_option("--sarif", options.sarif, "the same as SARIF 2.1.0, for code review")
      ->type_name("FILE");
  command
      .add_option("--suppressions", options.suppressions,
                  "leave out findings that a line of the file matches: KIND KERNEL [PLACE]")
      ->type_name("FILE");
  command
      .add_option("--write-suppressions", options.written_suppressions,
                  "write such a file, with what was found")
      ->type_name("FILE");
  command
      .add_option("--error-exitcode", options.error_exitcode,
                  "exit with N when there are errors (2); 0: as the program does")
      ->type_name("N")
      ->between(0, 255);
  command.add_option("--max", options.max, "print at most N findings (100)")->type_name("N");
}

}  // namespace

void add_sanitize(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<SanitizeOptions>();
  Command& command = parent.add_command(
      "sanitize",
      "run a program on virtual GPUs, or a captured dispatch, and find what kernels do wrong; exit "
      "status 2 if they do",
      "sanitize [OPTIONS] -- CMD [ARG…] | FILE.wtcap",
      "  wavetap sanitize -- ./my_hip_program\n"
      "  wavetap sanitize --gpu mi210 -k '^scatter' --json f.json -- ./my_program\n"
      "  wavetap sanitize --error-exitcode 0 -- python3 train.py\n"
      "  wavetap sanitize kernel.wtcap\n");
  command.prefix_command();
  add_choice_options(command, *options);
  add_report_options(command, *options);
  command.callback([options, &command, &invocation] {
    const Result<std::vector<std::string>> program = program_words(command, invocation);
    if (!program.ok()) {
      invocation.exit_code = fail(program.error());
      return;
    }
    if (!invocation.has_separator && !program->empty() &&
        replay::is_capture_file(program->front())) {
      invocation.exit_code =
          program->size() == 1
              ? sanitize_file(*options, program->front())
              : fail({fmt::format("sanitize: {}: comes behind {}; write options before the file",
                                  program->at(1), program->front())});
      return;
    }
    invocation.exit_code = run_sanitized(*options, *program);
  });
}

}  // namespace wavetap::cli
