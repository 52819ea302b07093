// wavetap check, trim, merge, diff: commands on whole trace files.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "analysis/diff.h"
#include "analysis/time_spec.h"
#include "cli/command.h"
#include "cli/trace_input.h"
#include "store/check.h"
#include "store/merge.h"
#include "store/schema.h"
#include "store/trim.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/progress.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// --- check

struct CheckOptions {
  std::vector<std::string> paths;
  bool json = false;
};

int check(const CheckOptions& options) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  bool sound = true;
  for (const std::string& path : options.paths) {
    Result<store::CheckResult> result = store::check_trace(path);
    if (!result.ok()) return fail(result.error());
    sound = sound && result->sound();
    if (options.json) {
      nlohmann::ordered_json findings = nlohmann::ordered_json::array();
      for (const store::Finding& f : result->findings)
        findings.push_back(
            {{"what", f.what}, {"count", f.count}, {"example", f.example}, {"error", f.is_error}});
      array.push_back({{"path", path},
                       {"sound", result->sound()},
                       {"calls", result->calls},
                       {"ops", result->ops},
                       {"losses", result->losses},
                       {"findings", findings}});
      continue;
    }
    say(stdout, fmt::format("{}: {}: {} calls, {} ops, {} links", path,
                            result->sound() ? "sound" : "not sound", result->calls, result->ops,
                            result->links));
    if (!result->losses.empty() && result->losses != "0")
      say(stdout, fmt::format("  error: the recorder lost {} events", result->losses));
    for (const store::Finding& f : result->findings)
      say(stdout, fmt::format("  {}: {}: {}, first {}", f.is_error ? "error" : "note", f.what,
                              util::count_of(f.count, "row"), f.example));
  }
  if (options.json) fmt::print("{}", util::json_text(array));
  return sound ? kDone : kIncomplete;
}

// --- trim

struct TrimArguments {
  std::string path, output, start, end, marker, kernel;
};

int trim(const TrimArguments& arguments) {
  store::TrimOptions options;
  options.marker = arguments.marker;
  options.kernel = arguments.kernel;
  if (arguments.start.empty() && arguments.end.empty() && options.marker.empty() &&
      options.kernel.empty())
    return fail({"trim: nothing to cut by; give --start, --end, --marker or --kernel"});
  Result<store::Trace> trace = load_trace(arguments.path, store::trim_load_options(options));
  if (!trace.ok()) return fail(trace.error());
  const analysis::Span span = analysis::trace_span(*trace);
  const Result<analysis::Window> window =
      analysis::parse_window(arguments.start, arguments.end, span);
  if (!window.ok()) return fail(window.error());
  options.begin = window->begin;
  options.end = window->end;
  std::string output = arguments.output;
  if (output.empty())
    output =
        (std::filesystem::path(arguments.path).replace_extension("").string()) + "-trimmed.rpd";
  util::Progress progress("writing " + output, 100);
  options.progress = [&](double share) { progress.update(static_cast<size_t>(share * 100), ""); };
  Result<store::TrimResult> result = store::trim_trace(*trace, output, options);
  if (!result.ok()) return fail(result.error());
  if (const std::string newer = store::newer_schema_warning(trace->metadata); !newer.empty())
    warn({fmt::format("{}: {}", arguments.path, newer)});
  for (const std::string& table : result->left_out)
    warn({fmt::format("{}: virtual table {} is not carried over", output,
                      util::escape_control(table))});
  say(stdout, fmt::format("{}: {} of {} calls, {} of {} ops", output, result->calls_after,
                          result->calls_before, result->ops_after, result->ops_before));
  return kDone;
}

// --- merge

struct MergeArguments {
  std::vector<std::string> paths;
  std::string output = "merged.rpd";
  std::string align = "auto";
};

int merge(const MergeArguments& arguments) {
  store::MergeOptions options;
  options.align = arguments.align == "none"    ? store::Align::kNone
                  : arguments.align == "start" ? store::Align::kStart
                                               : store::Align::kAuto;
  util::Progress progress("writing " + arguments.output, 100);
  options.progress = [&](double share) { progress.update(static_cast<size_t>(share * 100), ""); };
  Result<std::vector<store::MergedFile>> files =
      store::merge_traces(arguments.paths, arguments.output, options);
  if (!files.ok()) return fail(files.error());
  for (size_t rank = 0; rank < files->size(); ++rank) {
    const store::MergedFile& f = (*files)[rank];
    say(stdout, fmt::format("rank {}: {}: {} calls, {} ops, times {:+} ns by {}", rank, f.path,
                            f.calls, f.ops, f.shift_ns, f.method));
    if (!f.newer_schema.empty()) warn({fmt::format("{}: {}", f.path, f.newer_schema)});
    for (const std::string& conflict : f.conflicts) warn({fmt::format("{}: {}", f.path, conflict)});
  }
  say(stdout,
      fmt::format("{}: {} merged", arguments.output, util::count_of(files->size(), "file")));
  return kDone;
}

// --- diff

struct DiffArguments {
  std::string a, b;
  std::string fail_above;
  size_t top = 20;
  bool by_sequence = false;
  bool json = false;
};

int diff(const DiffArguments& arguments) {
  analysis::DiffOptions options;
  options.top = arguments.top;
  options.by_sequence = arguments.by_sequence;
  if (!arguments.fail_above.empty()) {
    char* rest = nullptr;
    options.fail_above = std::strtod(arguments.fail_above.c_str(), &rest) / 100;
    if ((*rest != '\0' && std::string_view(rest) != "%") || options.fail_above < 0)
      return fail({fmt::format("--fail-above {}: not a percentage; give one, such as 5%",
                               arguments.fail_above)});
  }
  Result<store::Trace> a = load_trace(arguments.a, {.domains = false});
  if (!a.ok()) return fail(a.error());
  Result<store::Trace> b = load_trace(arguments.b, {.domains = false});
  if (!b.ok()) return fail(b.error());
  const analysis::DiffResult result = analysis::diff_traces(*a, *b, options);
  print_report(result.report, *b, arguments.json);
  if (!result.failed) return kDone;
  warn({fmt::format("{}: slower than {} by more than {}; see the rows called slower", arguments.b,
                    arguments.a, arguments.fail_above)});
  return kIncomplete;
}

}  // namespace

void add_check(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<CheckOptions>();
  Command& command = parent.add_command("check", "prove that a trace is sound and complete",
                                        "check TRACE… [--json]", "  wavetap check trace.rpd\n");
  command.add_option("TRACE", options->paths, "one or more .rpd files")->required();
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = check(*options); });
}

void add_trim(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<TrimArguments>();
  Command& command =
      parent.add_command("trim", "cut a trace by time, marker or kernel into a new file",
                         "trim TRACE [-o OUT] [--start T] [--end T] [--marker REGEX]\n"
                         "                    [--kernel REGEX]",
                         "  wavetap trim trace.rpd --start 25% --end 50% -o part.rpd\n"
                         "  wavetap trim trace.rpd --marker 'step 17' -o step17.rpd\n");
  command.add_option("TRACE", options->path, "a .rpd file")->required();
  command.add_option("--output,-o", options->output, "file to write (TRACE-trimmed.rpd)")
      ->type_name("OUT");
  command
      .add_option("--start", options->start,
                  std::string("keep calls that start at or after ") + analysis::kTimeSpecHelp)
      ->type_name("T");
  command.add_option("--end", options->end, "keep calls that start at or before it")
      ->type_name("T");
  command
      .add_option("--marker", options->marker, "keep what lies inside markers whose text matches")
      ->type_name("REGEX");
  command
      .add_option("--kernel", options->kernel, "keep GPU work whose name matches, and its calls")
      ->type_name("REGEX");
  command.callback([options, &invocation] { invocation.exit_code = trim(*options); });
}

void add_merge(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<MergeArguments>();
  Command& command = parent.add_command("merge", "join the traces of many ranks or processes",
                                        "merge TRACE TRACE… [-o OUT] [--align auto|none|start]",
                                        "  wavetap merge rank0.rpd rank1.rpd -o job.rpd\n");
  command.add_option("TRACE", options->paths, "two or more .rpd files, rank 0 first")->required();
  command.add_option("--output,-o", options->output, "file to write (merged.rpd)")
      ->type_name("OUT");
  command
      .add_option("--align", options->align,
                  "how clocks are brought together: auto, none or start (auto)")
      ->type_name("HOW")
      ->choices({"auto", "none", "start"});
  command.callback([options, &invocation] { invocation.exit_code = merge(*options); });
}

void add_diff(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<DiffArguments>();
  Command& command =
      parent.add_command("diff", "compare two traces; a gate for CI",
                         "diff A B [--fail-above 5%] [--by-sequence] [--top N] [--json]",
                         "  wavetap diff before.rpd after.rpd\n"
                         "  wavetap diff main.rpd branch.rpd --fail-above 5%\n");
  command.add_option("A", options->a, "the trace to compare with")->required();
  command.add_option("B", options->b, "the trace to judge")->required();
  command
      .add_option("--fail-above", options->fail_above,
                  "exit 2 when GPU work got slower by more than this, beyond noise")
      ->type_name("PERCENT");
  command.add_flag("--by-sequence", options->by_sequence,
                   "match a kernel together with the one before it");
  add_top_option(command, options->top);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = diff(*options); });
}

}  // namespace wavetap::cli
