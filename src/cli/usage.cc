#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "util/text.h"

namespace wavetap::cli {
namespace {

// Where the user can read about `command`: "wavetap run --help".
std::string help_of(const DescribedCommand& command) {
  return fmt::format("wavetap {}{}--help", path_of(command), command.path.empty() ? "" : " ");
}

// The long ones, without their dashes.
std::vector<std::string> option_names(const DescribedCommand& command) {
  std::vector<std::string> names;
  for (const DescribedOption& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name.substr(2));
  return names;
}

std::vector<std::string> command_names(const DescribedCommand& command) {
  std::vector<std::string> names;
  for (const DescribedCommand& below : command.commands) names.push_back(below.path.back());
  return names;
}

// The commands below `parent` that have the option `name`: it was written in the wrong place.
std::vector<std::string> owners_of(const DescribedCommand& parent, const std::string& name) {
  std::vector<std::string> owners;
  for (const DescribedCommand& below : parent.commands) {
    const std::vector<std::string> names = option_names(below);
    if (std::find(names.begin(), names.end(), name) != names.end())
      owners.push_back(below.path.back());
  }
  return owners;
}

// The parser's sentence, in our form.
std::string our_sentence(std::string what) {
  std::replace(what.begin(), what.end(), '\n', ' ');
  // A sentence begins in lower case; the name of an argument stays as it is.
  if (what.size() > 1 && std::islower(static_cast<unsigned char>(what[1])) != 0)
    what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
  while (!what.empty() && (what.back() == '.' || what.back() == ' ')) what.pop_back();
  return util::escape_control(what);
}

// What is wrong at `command`, and what to do about it.
std::string problem_at(const DescribedCommand& command, const Parsed& parsed,
                       const std::vector<std::string>& arguments) {
  if (command.commands.empty()) {
    for (const std::string& word : parsed.surplus)
      if (word.starts_with('-') && word != "-") return unknown_option(command, word);
    if (!parsed.surplus.empty())
      return fmt::format("{} is one argument too many; see {}",
                         util::escape_control(parsed.surplus[0]), help_of(command));
    return fmt::format("{}; see {}", our_sentence(parsed.mistake), help_of(command));
  }
  // It has options of its own, and this is none of them.
  const std::vector<std::string> own = option_names(command);
  for (const std::string& word : parsed.surplus) {
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with("--") && std::find(own.begin(), own.end(), name.substr(2)) == own.end())
      return unknown_option(command, word);
  }
  // A command was expected.
  const size_t depth = command.path.size();
  if (arguments.size() <= depth)
    return fmt::format("a command is missing; give one of: {}",
                       util::join(command_names(command), ", "));
  const std::string& word = arguments[depth];
  // One of its options, so it is a value of one that is wrong.
  const std::string name = word.substr(0, word.find('='));
  const size_t letters = name.find_first_not_of('-');
  if (letters != 0 && letters != std::string::npos &&
      std::find(own.begin(), own.end(), name.substr(letters)) != own.end())
    return fmt::format("{}; see {}", our_sentence(parsed.mistake), help_of(command));
  return word.starts_with('-') ? unknown_option(command, word) : unknown_command(command, word);
}

}  // namespace

std::string unknown_option(const DescribedCommand& command, const std::string& word) {
  const std::string written = word.substr(0, word.find('='));
  const std::string shown = util::escape_control(written);
  const std::string name = written.substr(std::min(written.find_first_not_of('-'), written.size()));
  const std::vector<std::string> owners = owners_of(command, name);
  if (!owners.empty())
    return fmt::format("{} is an option of {}; write it behind the command", shown,
                       util::join(owners, ", "));
  const std::vector<std::string> names = option_names(command);
  std::string near;
  // The beginning of one option only: it is meant, though it is not accepted.
  const auto begins = [&](const std::string& option) { return option.starts_with(name); };
  if (name.size() > 1 && std::count_if(names.begin(), names.end(), begins) == 1)
    near = *std::find_if(names.begin(), names.end(), begins);
  else if (name.size() > 1) near = util::nearest_name(name, names);
  return fmt::format("unknown option {}; {}", shown,
                     near.empty() ? "see " + help_of(command) : "did you mean --" + near + "?");
}

std::string unknown_command(const DescribedCommand& parent, const std::string& word) {
  const std::string near = util::nearest_name(word, command_names(parent));
  return fmt::format("unknown command {}; {}", util::escape_control(word),
                     near.empty() ? "see " + help_of(parent) : "did you mean " + near + "?");
}

Result<std::vector<std::string>> program_words(const Command& command,
                                               const Invocation& invocation) {
  std::vector<std::string> program = command.remaining();
  if (!program.empty() && program[0].starts_with('-')) {
    const DescribedCommand described = command.describe();
    return Error{path_of(described) + ": " + unknown_option(described, program[0])};
  }
  if (!program.empty() && invocation.has_separator) program.push_back("--");
  program.insert(program.end(), invocation.program.begin(), invocation.program.end());
  return program;
}

int report_usage(const DescribedCommand& program, const Parsed& parsed,
                 const std::vector<std::string>& arguments) {
  // An option in front of the command, which only the command has.
  const bool is_early = !arguments.empty() && arguments[0].starts_with('-') && !parsed.path.empty();
  const DescribedCommand* reached = is_early ? nullptr : find_command(program, parsed.path);
  const DescribedCommand& command = reached == nullptr ? program : *reached;
  return fail({fmt::format("{}: {}", command.path.empty() ? "command line" : path_of(command),
                           problem_at(command, parsed, arguments))});
}

}  // namespace wavetap::cli
