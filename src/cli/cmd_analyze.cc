// wavetap analyze: one named analysis over one trace.
#include <fmt/format.h>

#include <memory>

#include "analysis/analysis.h"
#include "analysis/render.h"
#include "cli/command.h"
#include "cli/trace_input.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct Options {
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
    // "key: meaning; key: meaning"
    for (const std::string& setting : util::split(a.settings_help, ';')) {
      const size_t begin = setting.find_first_not_of(' ');
      if (begin == std::string::npos) continue;
      settings +=
          fmt::format("  {:<15}{}\n", a.name, util::wrap(setting.substr(begin), 80, 17).substr(17));
    }
  }
  return text + "\nSettings (--set KEY=VALUE):\n" + settings;
}

int analyze(const Options& options) {
  const analysis::Analysis* chosen = analysis::find_analysis(options.name);
  if (chosen == nullptr) {
    std::vector<std::string> names;
    for (const analysis::Analysis& a : analysis::all_analyses()) names.emplace_back(a.name);
    const std::string near = util::nearest_name(options.name, names);
    return fail({fmt::format(
        "analyze: unknown analysis {}; {}", util::escape_control(options.name),
        near.empty() ? "choose one of " + util::join(names, ", ") : "did you mean " + near + "?")});
  }
  if (options.write && chosen->write == nullptr)
    return fail(
        {fmt::format("analyze {}: has no tables to write; leave --write out", options.name)});

  if (!options.diagram.empty() && chosen->draw == nullptr)
    return fail({fmt::format("analyze {}: has no diagram; leave --diagram out", options.name)});

  analysis::Options analysis_options;
  analysis_options.top = options.top;
  analysis_options.rpd_compatible = options.rpd_compatible;
  for (const std::string& setting : options.settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos)
      return fail(
          {fmt::format("--set {}: not key=value; write for example --set min-us=10", setting)});
    const std::string key = setting.substr(0, equals);
    if (chosen->settings_help.find(key + ":") == std::string_view::npos)
      return fail({fmt::format("--set {}: {} has no such setting; it has: {}", key, options.name,
                               chosen->settings_help.empty() ? "none" : chosen->settings_help)});
    analysis_options.settings[key] = setting.substr(equals + 1);
  }

  store::LoadOptions load;
  load.domains = false;
  load.args = chosen->needs_args;
  load.args_of = chosen->needs_args_of;
  load.stack_frames = chosen->needs_stack_frames;
  std::unique_ptr<util::Progress> progress = reading_progress(options.path);
  const auto fail_with = [&](const Error& error) {
    progress.reset();  // its line goes before the message comes
    return fail(error);
  };
  Result<store::Trace> trace = load_trace(options.path, load, progress.get());
  if (!trace.ok()) return fail_with(trace.error());
  if (options.write) {
    if (Status status = chosen->write(options.path, *trace, analysis_options); !status.ok())
      return fail_with(status.error());
  }
  if (!options.diagram.empty()) {
    Result<std::string> picture = chosen->draw(
        *trace, analysis_options,
        options.diagram == "dot" ? analysis::Diagram::kDot : analysis::Diagram::kMermaid);
    if (!picture.ok()) return fail_with(picture.error());
    progress.reset();
    fmt::print("{}", *picture);
    return kDone;
  }
  Result<analysis::Report> report = chosen->run(*trace, analysis_options);
  if (!report.ok()) return fail_with(report.error());
  progress.reset();
  report->analysis = chosen->name;
  for (const std::string& warning : analysis::trace_warnings(*trace))
    report->warnings.push_back(warning);
  print_report(*report, *trace, options.json);
  return kDone;
}

}  // namespace

void add_analyze(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<Options>();
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
  command.add_option("--top", options->top, "rows per table, 0 for all (20)")->type_name("N");
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
