// Mistakes on the command line, told in one line that says what to do.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/described_command.h"

namespace wavetap::cli {

// "unknown option --gpuu; did you mean --gpu?", or where to read what there is.
std::string unknown_option(const DescribedCommand& command, const std::string& word);
std::string unknown_command(const DescribedCommand& parent, const std::string& word);

// The program of a command that takes one, with or without `--` in front: what came behind the options. Without our
// `--` in front, one further on is the program's own. An error when it begins like an option.
Result<std::vector<std::string>> program_words(const Command& command,
                                               const Invocation& invocation);

// Prints what was wrong with `arguments` (those before a `--`), in our form. Returns the exit code.
int report_usage(const DescribedCommand& program, const Parsed& parsed,
                 const std::vector<std::string>& arguments);

}  // namespace wavetap::cli
