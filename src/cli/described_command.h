// The commands as plain data, read from what they declare to CLI11: the source of the manual pages and of
// the shell completion, so that neither can say what --help does not.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace wavetap::cli {

// What a shell can offer for a value.
enum class Offer { kNothing, kWords, kFiles, kFolders, kModels, kProcesses, kProgram };

struct DescribedOption {
  std::vector<std::string> names;  // "--output", "-o"; of an argument its name alone, "TRACE"
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

DescribedCommand describe(const CLI::App& app);

// The command itself and all below it, outer before inner.
std::vector<const DescribedCommand*> flatten(const DescribedCommand& command);

}  // namespace wavetap::cli
