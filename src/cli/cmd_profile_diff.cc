// wavetap profile diff: two profiles side by side, and why kernels changed.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/profile_command.h"
#include "cli/profile_input.h"
#include "profile/compare.h"
#include "profile/documents.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/terminal.h"

namespace wavetap::cli {
namespace {

struct ProfileDiffOptions {
  std::string a, b, gpu, kernels;
  std::vector<std::string> fail_on;
  size_t top = 10;
  double least = 1;  // per cent
  bool json = false;
};

Result<nlohmann::ordered_json> read_document(const std::string& path) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  const char* const text = reinterpret_cast<const char*>(bytes->data());
  Result<nlohmann::ordered_json> json = util::parse_json({text, bytes->size()});
  if (json.ok()) {
    const Status good = profile::check_document(*json, path);
    if (!good.ok()) return good.error();
    return json;
  }
  return errorf("%s: %s; write it anew with wavetap profile -o", path.c_str(),
                json.error().message.c_str());
}

// A profile.json, the folder that holds one, or whatever `wavetap profile` reads.
Result<nlohmann::ordered_json> document_of(const ProfileDiffOptions& options,
                                           const std::string& path) {
  const std::string inside = path + "/profile.json";
  if (access(inside.c_str(), F_OK) == 0) return read_document(inside);
  if (path.ends_with(".json")) return read_document(path);
  const Result<profile::Profile> made =
      profile_input(path, ProfileInput{options.gpu, ""}, profile::Selection{options.kernels, {}});
  if (!made.ok()) return made.error();
  // As a file would give it: what is not finite is null there.
  return util::read_json(util::json_line(profile::profile_json(*made)));
}

int compare(const ProfileDiffOptions& options) {
  std::vector<profile::Gate> gates;
  for (const std::string& text : options.fail_on) {
    const Result<profile::Gate> gate = profile::parse_gate(text);
    if (!gate.ok()) return fail(gate.error());
    gates.push_back(*gate);
  }
  const Result<nlohmann::ordered_json> a = document_of(options, options.a);
  if (!a.ok()) return fail(a.error());
  const Result<nlohmann::ordered_json> b = document_of(options, options.b);
  if (!b.ok()) return fail(b.error());
  const Result<profile::Comparison> comparison =
      profile::compare_profiles(*a, *b, options.least / 100);
  if (!comparison.ok()) return fail(comparison.error());
  if (options.json) fmt::print("{}", util::json_text(profile::comparison_json(*comparison)));
  else
    fmt::print("{}",
               profile::comparison_text(*comparison, options.top,
                                        static_cast<size_t>(util::output_columns(STDOUT_FILENO))));
  int exit_code = kDone;
  for (const profile::Gate& gate : gates) {
    const Result<std::vector<std::string>> causes = check_gate(gate, *comparison, *a, *b);
    if (!causes.ok()) return fail(causes.error());
    for (const std::string& cause : *causes) exit_code = fail({cause}, kUsage);
  }
  return exit_code;
}

}  // namespace

void add_profile_diff(Command& profile, Invocation& invocation, bool& chosen) {
  auto options = std::make_shared<ProfileDiffOptions>();
  Command& command = profile.add_command(
      "diff", "two profiles side by side: what changed, and why",
      "profile diff A B [--fail-on WHAT] [-k REGEX] [--gpu MODEL] [--json]",
      "  wavetap profile diff before.rpd after.rpd\n"
      "  wavetap profile diff main_out branch_out --fail-on time=5% --fail-on SQ_INSTS=2%\n"
      "  wavetap profile diff old.wtcap new.wtcap --gpu mi300x --json\n");
  command.add_option("A", options->a, "a profile.json, its folder, a trace or a capture: before")
      ->required();
  command.add_option("B", options->b, "the same: after")->required();
  command
      .add_option(
          "--fail-on", options->fail_on,
          "exit with 1 when it comes true: time=5%, total=5%, limit, or a counter, SQ_INSTS=1%")
      ->type_name("WHAT")
      ->allow_extra_args(false);
  command.add_option("--gpu", options->gpu, "the GPU to hold files against")->type_name("MODEL");
  command.add_option("--kernel,-k", options->kernels, "only kernels whose demangled name matches")
      ->type_name("REGEX");
  command.add_option("--least", options->least, "what changes less is the same, in per cent (1)")
      ->type_name("P")
      ->between(0, 100);
  add_top_option(command, options->top);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation, &chosen] {
    chosen = true;
    invocation.exit_code = compare(*options);
  });
}

}  // namespace wavetap::cli
