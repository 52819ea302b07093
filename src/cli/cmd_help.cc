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

int help(const DescribedCommand& program, const HelpOptions& options) {
  if (!options.folder.empty()) {
    const Status written = write_files(program, options.folder);
    return written.ok() ? kDone : fail(written.error());
  }
  const DescribedCommand* command = &program;
  std::vector<std::string> path;
  for (const std::string& word : options.path) {
    path.push_back(word);
    const DescribedCommand* const below = find_command(program, path);
    if (below == nullptr) return fail({"help: " + unknown_command(*command, word)});
    command = below;
  }
  fmt::print("{}", help_text(*command));
  return kDone;
}

}  // namespace

void add_help(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<HelpOptions>();
  Command& command =
      parent.add_command("help", "explain a command, or list them all", "help [COMMAND…]",
                         "  wavetap help\n"
                         "  wavetap help run\n"
                         "  wavetap help gpu exec\n");
  command.add_option("COMMAND", options->path, "the command, and the one below it");
  command
      .add_option("--write-files", options->folder, "write manual pages and completion below DIR")
      ->type_name("DIR")
      ->hidden();  // for the build
  command.callback([options, &parent, &invocation] {
    invocation.exit_code = help(parent.describe(), *options);
  });
}

void add_completion(Command& parent, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  Command& command = parent.add_command(
      "completion", "print what makes a shell complete wavetap's commands and options",
      "completion SHELL",
      "  source <(wavetap completion bash)\n"
      "  wavetap completion zsh > ~/.zfunc/_wavetap\n"
      "  wavetap completion fish > ~/.config/fish/completions/wavetap.fish\n");
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->choices(completion_shells());
  command.callback([shell, &parent, &invocation] {
    fmt::print("{}", completion_script(parent.describe(), *shell));
    invocation.exit_code = kDone;
  });
}

}  // namespace wavetap::cli
