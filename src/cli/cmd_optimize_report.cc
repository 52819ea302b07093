// wavetap optimize report and wavetap optimize gate: what became of it.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/lab_commands.h"
#include "optimize/gate.h"
#include "optimize/ledger.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using optimize::Ledger;
using Json = nlohmann::ordered_json;

struct OptimizeReportOptions {
  std::string folder, html;
  bool json = false;
};

}  // namespace

void add_optimize_report(Command& parent, Invocation& invocation, bool& chosen) {
  auto options = std::make_shared<OptimizeReportOptions>();
  Command& command = parent.add_command("report", "what a ledger holds",
                                        "optimize report LEDGER [--json] [--html FILE]",
                                        "  wavetap optimize report optimize.ledger\n");
  command.add_option("LEDGER", options->folder, "the folder that optimize made")->required();
  command.add_option("--html", options->html, "write a page there")->type_name("FILE");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation, &chosen] {
    chosen = true;
    const Result<Ledger> ledger = Ledger::open(options->folder);
    if (!ledger.ok()) {
      invocation.exit_code = fail(ledger.error());
      return;
    }
    if (!options->html.empty())
      if (const Status written = util::write_file(options->html, optimize::report_html(*ledger));
          !written.ok()) {
        invocation.exit_code = fail(written.error());
        return;
      }
    fmt::print("{}",
               options->json ? util::json_text(ledger->json()) : optimize::report_text(*ledger));
  });
}

namespace {

Result<nlohmann::ordered_json> read_profile(const std::string& path) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  nlohmann::ordered_json json = util::read_json(
      std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  if (!json.is_object()) return errorf("%s: not a profile.json of wavetap profile", path.c_str());
  return json;
}

struct GateOptions {
  std::string before, after;
  bool json = false;
};

int run_gate(const GateOptions& options) {
  const Result<nlohmann::ordered_json> before = read_profile(options.before);
  if (!before.ok()) return fail(before.error());
  const Result<nlohmann::ordered_json> after =
      read_profile(options.after.empty() ? options.before : options.after);
  if (!after.ok()) return fail(after.error());
  const Result<optimize::Score> score = optimize::score_of(*after);
  const auto found = optimize::find_regressions(*before, *after, {});
  if (!score.ok() || !found.ok())
    return fail(errorf("%s: not a profile.json of wavetap profile", options.before.c_str()));
  Json regressions = Json::array();
  for (const optimize::Regression& one : *found)
    regressions.push_back({{"kernel", one.kernel},
                           {"figure", one.figure},
                           {"before", one.before},
                           {"after", one.after},
                           {"limit", one.limit}});
  const Json json = {{"version", 1},
                     {"kernel", score->kernel},
                     {"headroom", score->headroom},
                     {"critical_fraction", score->critical_fraction},
                     {"estimated_speedup", score->estimated_speedup},
                     {"priority", score->priority},
                     {"worthwhile", score->is_worthwhile},
                     {"regressions", regressions}};
  if (options.json) {
    fmt::print("{}", util::json_text(json));
  } else {
    fmt::print("{}: headroom {:.0f} %, estimated speed-up {:.2f}x, priority {:.2f}: {}\n",
               util::escape_control(score->kernel), score->headroom * 100, score->estimated_speedup,
               score->priority, score->is_worthwhile ? "worth optimizing" : "not worth optimizing");
    for (const optimize::Regression& one : *found)
      fmt::print("regression: {}: {} was {:g}, is {:g}; {:g} % is allowed\n",
                 util::escape_control(one.kernel), one.figure, one.before, one.after,
                 one.limit * 100);
  }
  return found->empty() ? static_cast<int>(kDone) : kIncomplete;
}

}  // namespace

void add_optimize_gate(Command& parent, Invocation& invocation, bool& chosen) {
  auto options = std::make_shared<GateOptions>();
  Command& command = parent.add_command(
      "gate", "score a profile, and fail where one is worse than another: exit status 2",
      "optimize gate BEFORE.json [AFTER.json] [--json]",
      "  wavetap optimize gate old/profile.json new/profile.json\n");
  command.add_option("BEFORE", options->before, "profile.json of wavetap profile")->required();
  command.add_option("AFTER", options->after, "the one to judge; without it, BEFORE is scored");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation, &chosen] {
    chosen = true;
    invocation.exit_code = run_gate(*options);
  });
}

}  // namespace wavetap::cli
