// wavetap help and wavetap completion, and what `wavetap` alone says.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/described_command.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/usage.h"
#include "util/file.h"

namespace wavetap::cli {
namespace {

struct HelpOptions {
  std::vector<std::string> path;
  std::string folder;  // for the files of an installation
};

// DIR/man1/NAME.1 for every command, DIR/completion/SHELL for every shell. The folders must exist.
Status write_files(const DescribedCommand& program, const std::string& folder) {
  for (const std::string& shell : completion_shells()) {
    const Status written =
        util::write_file(folder + "/completion/" + shell, completion_script(program, shell));
    if (!written.ok()) return written;
  }
  return write_manual(program, folder + "/man1");
}

int help(const CLI::App& program, const HelpOptions& options) {
  if (!options.folder.empty()) {
    const Status written = write_files(describe(program), options.folder);
    return written.ok() ? kDone : fail(written.error());
  }
  const CLI::App* command = &program;
  for (const std::string& word : options.path) {
    const CLI::App* below = nullptr;
    for (const CLI::App* candidate : command->get_subcommands({}))
      if (candidate->get_name() == word) below = candidate;
    if (below == nullptr) return fail({"help: " + unknown_command(*command, word)});
    command = below;
  }
  // Not App::help(), which would go on to the command that was parsed: this one.
  fmt::print("{}", command->get_formatter()->make_help(command, "", CLI::AppFormatMode::Normal));
  return kDone;
}

}  // namespace

void add_help(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<HelpOptions>();
  CLI::App& command =
      add_command(parent, "help", "explain a command, or list them all", "help [COMMAND…]",
                  "  wavetap help\n"
                  "  wavetap help run\n"
                  "  wavetap help gpu exec\n");
  command.add_option("COMMAND", options->path, "the command, and the one below it");
  command
      .add_option("--write-files", options->folder, "write manual pages and completion below DIR")
      ->type_name("DIR")
      ->group("");  // for the build
  command.callback(
      [options, &parent, &invocation] { invocation.exit_code = help(parent, *options); });
}

void add_completion(CLI::App& parent, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = add_command(
      parent, "completion", "print what makes a shell complete wavetap's commands and options",
      "completion SHELL",
      "  source <(wavetap completion bash)\n"
      "  wavetap completion zsh > ~/.zfunc/_wavetap\n"
      "  wavetap completion fish > ~/.config/fish/completions/wavetap.fish\n");
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(completion_shells()).description(""));
  command.callback([shell, &parent, &invocation] {
    fmt::print("{}", completion_script(describe(parent), *shell));
    invocation.exit_code = kDone;
  });
}

}  // namespace wavetap::cli
