// wavetap analyze: one named analysis over one trace.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "analysis/registry.h"
#include "analysis/render.h"
#include "cli/command.h"
#include "cli/trace_input.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct AnalyzeOptions {
  std::string name;
  std::string path;
  std::vector<std::string> settings;
  size_t top = 20;
  std::string diagram;
  bool json = false;
  bool write = false;
  bool rpd_compatible = false;
};

std::string analysis_list() {
  std::string text, settings;
  for (const analysis::Analysis& a : analysis::all_analyses()) {
    text += fmt::format("  {:<15}{}\n", a.name, a.help);
    for (const analysis::Setting& setting : a.settings)
      settings += fmt::format("  {:<15}{}\n", a.name,
                              util::wrap(analysis::setting_usage(setting), 80, 17).substr(17));
  }
  return text + "\nSettings (--set KEY=VALUE):\n" + settings;
}

// The analysis' options, or what is wrong with those that were given.
Result<analysis::Options> check_options(const analysis::Analysis& chosen,
                                        const AnalyzeOptions& options) {
  if (options.write && chosen.write == nullptr)
    return Error{
        fmt::format("analyze {}: has no tables to write; leave --write out", options.name)};
  if (!options.diagram.empty() && chosen.draw == nullptr)
    return Error{fmt::format("analyze {}: has no diagram; leave --diagram out", options.name)};
  Result<analysis::Settings> settings =
      analysis::Settings::parse(chosen.settings, chosen.name, options.settings);
  if (!settings.ok()) return Error{"--set " + settings.error().message};
  analysis::Options out;
  out.top = options.top;
  out.rpd_compatible = options.rpd_compatible;
  out.settings = std::move(*settings);
  return out;
}

// Reads the trace and does what was asked for; what is to be printed comes back in `print`, for
// when the progress line has gone.
Status run_analysis(const analysis::Analysis& chosen, const AnalyzeOptions& options,
                    const analysis::Options& analysis_options, util::Progress& progress,
                    std::function<void()>& print) {
  store::LoadOptions load;
  load.domains = false;
  load.args = chosen.needs_args;
  load.args_of = chosen.needs_args_of;
  load.stack_frames = chosen.needs_stack_frames;
  Result<store::Trace> loaded = load_trace(options.path, load, &progress);
  if (!loaded.ok()) return loaded.error();
  const auto trace = std::make_shared<store::Trace>(std::move(*loaded));
  if (options.write)
    if (Status status = chosen.write(options.path, *trace, analysis_options); !status.ok())
      return status;
  if (!options.diagram.empty()) {
    const Result<std::string> picture = chosen.draw(
        *trace, analysis_options,
        options.diagram == "dot" ? analysis::Diagram::kDot : analysis::Diagram::kMermaid);
    if (!picture.ok()) return picture.error();
    print = [text = *picture] { fmt::print("{}", text); };
    return {};
  }
  const Result<analysis::Report> report = analysis::run_analysis(chosen, *trace, analysis_options);
  if (!report.ok()) return report.error();
  print = [report = *report, trace, json = options.json] { print_report(report, *trace, json); };
  return {};
}

int analyze(const AnalyzeOptions& options) {
  const Result<const analysis::Analysis*> chosen = analysis::find_analysis(options.name);
  if (!chosen.ok()) return fail({"analyze " + chosen.error().message});
  const Result<analysis::Options> analysis_options = check_options(**chosen, options);
  if (!analysis_options.ok()) return fail(analysis_options.error());
  std::unique_ptr<util::Progress> progress = reading_progress(options.path);
  std::function<void()> print;
  const Status status = run_analysis(**chosen, options, *analysis_options, *progress, print);
  progress.reset();  // its line goes before the result or the message comes
  if (!status.ok()) return fail(status.error());
  print();
  return kDone;
}

}  // namespace

void add_analyze(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<AnalyzeOptions>();
  Command& command = parent.add_command(
      "analyze", "one analysis of a trace: gaps, call stacks, critical path and more",
      "analyze NAME TRACE [--top N] [--json] [--write]\n"
      "                       [--rpd-compatible] [--diagram KIND] [--set KEY=VALUE]",
      "  wavetap analyze gaps trace.rpd\n"
      "  wavetap analyze callstack trace.rpd --write\n"
      "  wavetap analyze redirects trace.rpd --diagram dot | dot -Tsvg > chain.svg\n\n"
      "Analyses:\n" +
          analysis_list());
  command.add_option("NAME", options->name, "the analysis")
      ->required()
      ->offers(names_of(analysis::all_analyses()));
  command.add_option("TRACE", options->path, "a .rpd file")->required();
  add_top_option(command, options->top);
  command.add_option("--set", options->settings, "a setting of the analysis, may be repeated")
      ->type_name("KEY=VALUE");
  command
      .add_option("--diagram", options->diagram,
                  "redirects: print a diagram instead, dot or mermaid")
      ->type_name("KIND")
      ->choices({"dot", "mermaid"});
  command.add_flag("--json", options->json, "print JSON");
  command.add_flag("--write", options->write, "store the derived ext_* tables in TRACE");
  command.add_flag("--rpd-compatible", options->rpd_compatible,
                   "reproduce RPD's numbers where they differ from ours");
  command.callback([options, &invocation] { invocation.exit_code = analyze(*options); });
}

}  // namespace wavetap::cli
