// The wavetap program: a table of contents of its commands, and the one place that turns a mistake
// on the command line into an error line and an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "cli/help.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

void add_commands(CLI::App& app, Invocation& invocation) {
  add_run(app, invocation);
  add_import(app, invocation);
  add_control(app, invocation);
  add_tail(app, invocation);
  add_top(app, invocation);
  add_report(app, invocation);
  add_analyze(app, invocation);
  add_export(app, invocation);
  add_query(app, invocation);
  add_check(app, invocation);
  add_trim(app, invocation);
  add_merge(app, invocation);
  add_diff(app, invocation);
  add_doctor(app, invocation);
  add_device(app, invocation);

  CLI::App& gpu =
      add_command(app, "gpu", "virtual GPUs: list and describe them, inspect and run device code",
                  "gpu COMMAND …",
                  "  wavetap gpu list\n"
                  "  wavetap gpu coverage ./my_hip_program\n");
  gpu.require_subcommand(1);
  add_gpu_list(gpu, invocation);
  add_gpu_show(gpu, invocation);
  add_gpu_coverage(gpu, invocation);
  add_gpu_disasm(gpu, invocation);
  add_gpu_exec(gpu, invocation);
}

// The command the user was in when parsing failed: "run", "gpu list" or "".
std::string command_path(const CLI::App& app) {
  std::string path;
  for (const CLI::App* command = &app; !command->get_subcommands().empty();) {
    command = command->get_subcommands().front();
    path += (path.empty() ? "" : " ") + command->get_name();
  }
  return path;
}

// The innermost command that was reached.
const CLI::App& reached(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

// CLI11's sentences, in our form.
int report_usage(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& arguments) {
  const std::string path = command_path(app);
  const std::string object = path.empty() ? "command line" : path;
  const std::string help = path.empty() ? "wavetap --help" : fmt::format("wavetap {} --help", path);

  std::vector<std::string> known;
  for (const CLI::App* command : reached(app).get_subcommands({}))
    known.push_back(command->get_name());
  const size_t depth = path.empty() ? 0 : util::split(path, ' ').size();
  if (!known.empty() && arguments.size() > depth && !arguments[depth].starts_with('-')) {
    const std::string& word = arguments[depth];
    const std::string near = util::nearest_name(word, known);
    return fail({fmt::format("{}: unknown command {}; {}", object, util::escape_control(word),
                             near.empty() ? "see " + help : "did you mean " + near + "?")});
  }
  if (!known.empty() && arguments.size() > depth) {
    return fail({fmt::format("{}: unknown option {}; see {}", object,
                             util::escape_control(arguments[depth]), help)});
  }
  if (!known.empty()) {
    return fail({fmt::format("{}: a command is missing; give one of: {}", object,
                             util::join(known, ", "))});
  }

  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  // A sentence begins in lower case; the name of an argument stays as it is.
  if (what.size() > 1 && std::islower(static_cast<unsigned char>(what[1])) != 0) {
    what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
  }
  while (!what.empty() && (what.back() == '.' || what.back() == ' ')) what.pop_back();
  return fail({fmt::format("{}: {}; see {}", object, util::escape_control(what), help)});
}

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
  CLI::App app(
      "See, check and replay what a ROCm program does on its GPU, or give it a virtual AMD GPU to "
      "run on.",
      "wavetap");
  app.formatter(std::make_shared<HelpFormatter>("COMMAND …",
                                                "  wavetap run --gpu rx6800xt -- rocminfo\n"
                                                "  wavetap gpu list\n"
                                                "  wavetap run --help\n"));
  app.set_help_flag("-h,--help", "print this text");
  app.set_version_flag("--version", "wavetap " WAVETAP_VERSION, "print the version");
  app.require_subcommand(1);

  Invocation invocation;
  add_commands(app, invocation);

  // Everything after the first `--` belongs to the program that `run` starts and is none of our
  // business.
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator != arguments.end()) {
    invocation.has_separator = true;
    invocation.program.assign(separator + 1, arguments.end());
    arguments.erase(separator, arguments.end());
  }

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", reached(app).help());
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return kDone;
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error, arguments);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return kUsage;
  return invocation.exit_code;
}

}  // namespace
}  // namespace wavetap::cli

int main(int argc, char** argv) {
  wavetap::cli::fill_standard_streams();
  try {
    return wavetap::cli::run_main(argc, argv);
  } catch (const std::exception& error) {
    return wavetap::cli::fail({std::string("internal: ") + error.what() + "; please report this"},
                              wavetap::cli::kBug);
  }
}
