// What the commands share: how they are declared, how they report.
//
// The option parser, CLI11, is known to command.cc alone: its header takes longer to compile than most commands.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/described_command.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wavetap::cli {

enum ExitCode : int { kDone = 0, kUsage = 1, kIncomplete = 2, kBug = 3 };

// One invocation of the program. The command that was asked for leaves its exit code here.
struct Invocation {
  bool has_separator = false;        // there was a `--`
  std::vector<std::string> program;  // what follows it
  int exit_code = kDone;
};

// Prints `wavetap: error: …` and returns kUsage, so that a command can `return fail(error)`. It is one
// line: control characters, which only names hold, are escaped.
int fail(const Error& error, int exit_code = kUsage);
void warn(const Error& warning);
// For a message that ends in what another program printed, such as a compiler: lines stay lines.
int fail_with_output(const Error& error);
void warn_with_output(const Error& warning);
// Prints a line that holds names of files or programs, escaped in the same way.
void say(std::FILE* out, const std::string& line);

// An option, a flag or an argument of a command. Each function returns the same object.
class Option {
 public:
  explicit Option(CLI::Option& option);

  Option* type_name(const std::string& name);  // of the value, in the help text
  Option* required();
  Option* choices(std::vector<std::string> words);  // only these are accepted
  Option* offers(std::vector<std::string> words);   // for shells to offer; not checked
  Option* between(double low, double high);         // a number, both ends included
  Option* expected(int at_least, int at_most);      // how many values
  Option* default_str(const std::string& value);    // when the value is left out
  Option* allow_extra_args(bool allow);             // several values behind one name
  Option* excludes(Option* other);
  Option* hidden();  // not in any text

 private:
  friend class Command;
  CLI::Option* option_;
  std::vector<std::string> words_;
};

// A command and those below it. The program itself is one, too.
class Command {
 public:
  // The program. `usage` is what follows "Usage: wavetap "; `examples` is printed as it is.
  Command(const std::string& summary, const std::string& usage, const std::string& examples);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command& add_command(const std::string& name, const std::string& summary,
                       const std::string& usage, const std::string& examples);

  // `names` is "--output,-o", or "TRACE" for an argument. The value must live as long as the command.
  Option* add_option(const std::string& names, std::string& value, const std::string& description);
  Option* add_option(const std::string& names, std::optional<std::string>& value,
                     const std::string& description);
  Option* add_option(const std::string& names, std::vector<std::string>& values,
                     const std::string& description);
  Option* add_option(const std::string& names, int& value, const std::string& description);
  Option* add_option(const std::string& names, uint32_t& value, const std::string& description);
  Option* add_option(const std::string& names, uint64_t& value, const std::string& description);
  Option* add_option(const std::string& names, double& value, const std::string& description);
  Option* add_flag(const std::string& names, bool& value, const std::string& description);

  void callback(std::function<void()> run);    // what the command does
  void require_command();                      // it does nothing by itself
  void prefix_command();                       // ends with the words of another program
  std::vector<std::string> remaining() const;  // those words

  DescribedCommand describe() const;

 private:
  friend struct Parsed parse(Command& program, const std::vector<std::string>& arguments);
  Command(CLI::App& app, const std::string& usage, const std::string& examples);
  Option* keep(CLI::Option* option);
  Option* add(const std::string& names, const std::string& description,
              std::function<bool(const std::string&)> take);  // is called with each value

  std::shared_ptr<CLI::App> owned_;  // of the program
  CLI::App* app_;
  std::string usage_, examples_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<Command>> commands_;
};

// Parses the words behind the program's name and runs the command they name.
struct Parsed {
  enum class What { kRan, kWantsHelp, kWantsVersion, kMistake };
  What what = What::kRan;
  std::vector<std::string> path;     // of the innermost command that was reached
  std::string mistake;               // the parser's sentence
  std::vector<std::string> surplus;  // words that mean nothing to that command
};
Parsed parse(Command& program, const std::vector<std::string>& arguments);

// The names of a table's rows.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

// --top N: rows per table, 0 for all; what `top` holds is the default.
void add_top_option(Command& command, size_t& top);

// The commands, one file each: cmd_run.cc, cmd_gpu_list.cc, …
void add_run(Command& parent, Invocation& invocation);
void add_capture(Command& parent, Invocation& invocation);
void add_replay(Command& parent, Invocation& invocation);
void add_sanitize(Command& parent, Invocation& invocation);
void add_probe(Command& parent, Invocation& invocation);
void add_profile(Command& parent, Invocation& invocation);
void add_swap(Command& parent, Invocation& invocation);  // swap list, swap check
void add_source(Command& parent, Invocation& invocation);
void add_import(Command& parent, Invocation& invocation);
void add_control(Command& parent, Invocation& invocation);  // start, stop, flush, status
void add_tail(Command& parent, Invocation& invocation);
void add_top(Command& parent, Invocation& invocation);
void add_report(Command& parent, Invocation& invocation);
void add_analyze(Command& parent, Invocation& invocation);
void add_export(Command& parent, Invocation& invocation);
void add_query(Command& parent, Invocation& invocation);
void add_check(Command& parent, Invocation& invocation);
void add_trim(Command& parent, Invocation& invocation);
void add_merge(Command& parent, Invocation& invocation);
void add_diff(Command& parent, Invocation& invocation);
void add_doctor(Command& parent, Invocation& invocation);
void add_device(Command& parent, Invocation& invocation);
void add_gpu_list(Command& parent, Invocation& invocation);
void add_gpu_show(Command& parent, Invocation& invocation);
void add_gpu_coverage(Command& parent, Invocation& invocation);
void add_gpu_disasm(Command& parent, Invocation& invocation);
void add_gpu_exec(Command& parent, Invocation& invocation);
void add_help(Command& parent, Invocation& invocation);
void add_completion(Command& parent, Invocation& invocation);

}  // namespace wavetap::cli
