#include "cli/described_command.h"

#include "util/text.h"

namespace wavetap::cli {

std::string path_of(const DescribedCommand& command) { return util::join(command.path, " "); }

std::vector<const DescribedCommand*> flatten(const DescribedCommand& command) {
  std::vector<const DescribedCommand*> all = {&command};
  for (const DescribedCommand& below : command.commands) {
    const std::vector<const DescribedCommand*> more = flatten(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

const DescribedCommand* find_command(const DescribedCommand& program,
                                     const std::vector<std::string>& path) {
  for (const DescribedCommand* command : flatten(program))
    if (command->path == path) return command;
  return nullptr;
}

}  // namespace wavetap::cli
