// The wavetap program: parses the command line and runs the command it names (commands.cc).
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/usage.h"

namespace wavetap::cli {
namespace {

// Started with a closed stdin, stdout or stderr, the next file opened would take its place and what
// is printed would land in it. The stand-ins are closed on exec: a program started by `run` finds
// what we found.
void fill_standard_streams() {
  while (true) {
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fd <= STDERR_FILENO) continue;
    if (fd >= 0) close(fd);
    return;
  }
}

int run_main(int argc, char** argv) {
  if (argc <= 1) {
    fmt::print("{}", welcome_text());
    return kDone;
  }
  Invocation invocation;
  const std::unique_ptr<Command> program = make_program(invocation);

  // Everything after the first `--` belongs to the program that `run` starts and is none of our
  // business.
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator != arguments.end()) {
    invocation.has_separator = true;
    invocation.program.assign(separator + 1, arguments.end());
    arguments.erase(separator, arguments.end());
  }

  const Parsed parsed = parse(*program, arguments);
  switch (parsed.what) {
    case Parsed::What::kRan: break;
    case Parsed::What::kWantsHelp:
      fmt::print("{}", help_text(*find_command(program->describe(), parsed.path)));
      return kDone;
    case Parsed::What::kWantsVersion: fmt::print("{}", version_text()); return kDone;
    case Parsed::What::kMistake: return report_usage(program->describe(), parsed, arguments);
  }
  return invocation.exit_code;
}

int report_bug(const std::exception& error) {
  return fail({std::string("internal: ") + error.what() + "; please report this"}, kBug);
}

// `error`: why not all of what was printed arrived. A reader that left, such as `head`, has what it
// wanted.
int report_lost_output(int error) {
  if (error == EPIPE) return kUsage;
  return fail(errorf("standard output: cannot be written: %s; send it to a place with room",
                     std::strerror(error)));
}

int run_guarded(int argc, char** argv) {
  try {
    const int exit_code = run_main(argc, argv);
    if (std::fflush(stdout) != 0) return report_lost_output(errno);
    return std::ferror(stdout) != 0 ? report_lost_output(EIO) : exit_code;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return report_lost_output(error.code().value());
    return report_bug(error);
  } catch (const std::exception& error) {
    return report_bug(error);
  }
}

}  // namespace
}  // namespace wavetap::cli

int main(int argc, char** argv) {
  wavetap::cli::fill_standard_streams();
  return wavetap::cli::run_guarded(argc, argv);
}
