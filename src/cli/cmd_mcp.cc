// wavetap mcp: the commands as tools of the Model Context Protocol, on standard input and output.
#include <unistd.h>

#include <memory>

#include "analysis/registry.h"
#include "cli/command.h"
#include "cli/lab_commands.h"
#include "mcp/server.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct McpOptions {
  std::vector<std::string> roots;
  std::string output_limit = "256k";
  double seconds = 300;
  uint32_t jobs = 2;
  bool allow_run = false;
};

int run_mcp(const McpOptions& options) {
  const std::optional<uint64_t> limit = util::parse_unsigned(options.output_limit);
  if (!limit || *limit < 1024)
    return fail(errorf("--output-limit %s: not understood; write bytes, as in 256k or 1m",
                       options.output_limit.c_str()));
  const Result<mcp::Roots> roots = mcp::Roots::make(options.roots);
  if (!roots.ok()) return fail(roots.error());
  if (isatty(STDIN_FILENO) == 1)
    warn(errorf(
        "mcp: waits for messages of JSON-RPC, one a line; docs/mcp.md says how clients start it"));
  mcp::ServerOptions server{.program = util::executable_folder() + "/wavetap",
                            .roots = *roots,
                            .allow_run = options.allow_run,
                            .seconds = options.seconds,
                            .output_bytes = *limit,
                            .jobs = options.jobs,
                            .choices = {{"analysis", names_of(analysis::all_analyses())}}};
  return mcp::serve(std::move(server));
}

}  // namespace

void add_mcp(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<McpOptions>();
  Command& command = parent.add_command(
      "mcp",
      "offer these commands as tools to a client of the Model Context Protocol, on stdin and stdout",
      "mcp --root DIR… [--allow-run] [OPTIONS]",
      "  wavetap mcp --root ./project\n"
      "  wavetap mcp --root ./project --root /data/traces --allow-run --timeout 600\n");
  command
      .add_option("--root", options->roots, "a folder that the client may name files in; several")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command.add_flag("--allow-run", options->allow_run,
                   "offer tools that run programs and builds, of these folders");
  command.add_option("--timeout", options->seconds, "seconds of one call (300)")->type_name("S");
  command.add_option("--output-limit", options->output_limit, "bytes of one answer (256k)")
      ->type_name("BYTES");
  command.add_option("--jobs,-j", options->jobs, "calls at the same time (2)")->type_name("N");
  command.callback([options, &invocation] { invocation.exit_code = run_mcp(*options); });
}

}  // namespace wavetap::cli
