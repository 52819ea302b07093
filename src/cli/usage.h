// Mistakes on the command line, told in one line that says what to do.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace wavetap::cli {

// The innermost command that was reached by the last parse.
const CLI::App& reached_command(const CLI::App& app);

// "unknown option --gpuu; did you mean --gpu?", or where to read what there is.
std::string unknown_option(const CLI::App& command, const std::string& word);
std::string unknown_command(const CLI::App& parent, const std::string& word);

// Prints what was wrong with `arguments` (those before a `--`), in our form. Returns the exit code.
int report_usage(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& arguments);

}  // namespace wavetap::cli
