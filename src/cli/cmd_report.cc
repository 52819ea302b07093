// wavetap report: the first screen of a trace.
#include <fmt/format.h>

#include <memory>

#include "analysis/render.h"
#include "analysis/report.h"
#include "cli/command.h"
#include "cli/install_tree.h"
#include "cli/trace_input.h"
#include "doctor/trace_truth.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct ReportOptions {
  std::string path;
  std::string by = "overview";
  size_t top = 10;
  bool json = false;
};

analysis::ReportBy view_named(const std::string& name) {
  for (const analysis::ReportView& view : analysis::kReportViews)
    if (view.name == name) return view.by;
  return analysis::ReportBy::kOverview;
}

int report(const ReportOptions& options) {
  std::unique_ptr<util::Progress> progress = reading_progress(options.path);
  Result<store::Trace> trace =
      load_trace(options.path, {.domains = false, .args = true}, progress.get());
  if (!trace.ok()) {
    progress.reset();  // its line goes before the message comes
    return fail(trace.error());
  }
  analysis::Options analysis_options;
  analysis_options.top = options.top;
  analysis::Report built = analysis::build_report(*trace, analysis_options, view_named(options.by));
  doctor::add_device_truth(*trace, model::sound_models(models_folder()), built);
  progress.reset();
  print_report(built, *trace, options.json);
  return kDone;
}

}  // namespace

void add_report(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  std::vector<std::string> tables;  // those of one table
  for (const analysis::ReportView& view : analysis::kReportViews)
    if (view.by != analysis::ReportBy::kOverview) tables.emplace_back(view.name);
  Command& command = parent.add_command(
      "report", "what a trace says: busy time, kernels, calls, copies, who waited for whom",
      "report TRACE [--top N] [--by WHAT] [--json]",
      "  wavetap report trace.rpd\n"
      "  wavetap report trace.rpd --by kernel --top 0\n"
      "  wavetap report trace.rpd --json | jq .facts\n");
  command.add_option("TRACE", options->path, "a .rpd file")->required();
  add_top_option(command, options->top);
  command.add_option("--by", options->by, "one table only: " + util::join(tables, ", "))
      ->type_name("WHAT")
      ->choices(names_of(analysis::kReportViews));
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = report(*options); });
}

}  // namespace wavetap::cli
