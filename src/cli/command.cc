#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/help.h"
#include "util/terminal.h"

namespace wavetap::cli {
namespace {

void print_line(const char* kind, util::Style style, const std::string& message) {
  const std::string prefix =
      util::styled(fmt::format("wavetap: {}:", kind), style, util::wants_colour(STDERR_FILENO));
  fmt::print(stderr, "{} {}\n", prefix, message);
}

}  // namespace

int fail(const Error& error, int exit_code) {
  std::fflush(stdout);
  print_line("error", util::Style::kRed, error.message);
  return exit_code;
}

void warn(const Error& warning) { print_line("warning", util::Style::kYellow, warning.message); }

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::string& usage, const std::string& examples) {
  CLI::App& command = *parent.add_subcommand(name, summary);
  command.formatter(std::make_shared<HelpFormatter>(usage, examples));
  command.set_help_flag("-h,--help", "print this text");
  return command;
}

}  // namespace wavetap::cli
