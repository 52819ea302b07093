// The commands as plain data: the source of --help, of the manual pages and of the shell completion, so that none of
// them can say what the others do not.
#pragma once

#include <string>
#include <vector>

namespace wavetap::cli {

// What a shell can offer for a value.
enum class Offer { kNothing, kWords, kFiles, kFolders, kModels, kProcesses, kProgram };

struct DescribedOption {
  std::vector<std::string> names;  // "-o", "--output"; of an argument its name alone, "TRACE"
  std::string value;               // "FILE"; empty: takes none
  bool value_is_optional = false;
  std::string description;
  Offer offer = Offer::kNothing;
  std::vector<std::string> words;  // for Offer::kWords
};

struct DescribedCommand {
  std::vector<std::string> path;  // {"gpu", "list"}; empty: the program itself
  std::string summary;            // "list the virtual GPU models"
  std::string usage;              // "gpu list [--json]"
  std::string examples;  // lines, indented; further sections may follow, each with a heading
  std::vector<DescribedOption> arguments;
  std::vector<DescribedOption> options;
  std::vector<DescribedCommand> commands;
};

// "run", "gpu list", or "" for the program itself.
std::string path_of(const DescribedCommand& command);

// The command itself and all below it, outer before inner.
std::vector<const DescribedCommand*> flatten(const DescribedCommand& command);

// The command at the end of a path from `program`; null when there is none.
const DescribedCommand* find_command(const DescribedCommand& program,
                                     const std::vector<std::string>& path);

}  // namespace wavetap::cli
