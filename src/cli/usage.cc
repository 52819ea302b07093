#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/command.h"
#include "cli/help.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// "run", "gpu list", or "" for the program itself.
std::string path_of(const CLI::App& command) {
  std::string path;
  for (const CLI::App* at = &command; at->get_parent() != nullptr; at = at->get_parent())
    path = at->get_name() + (path.empty() ? "" : " " + path);
  return path;
}

// Where the user can read about `command`: "wavetap run --help".
std::string help_of(const CLI::App& command) {
  const std::string path = path_of(command);
  return path.empty() ? "wavetap --help" : fmt::format("wavetap {} --help", path);
}

// Without their dashes.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

// The commands below `parent` that have the option `name`: it was written in the wrong place.
std::vector<std::string> owners_of(const CLI::App& parent, const std::string& name) {
  std::vector<std::string> owners;
  for (const CLI::App* command : visible_commands(parent)) {
    const std::vector<std::string> names = option_names(*command);
    if (std::find(names.begin(), names.end(), name) != names.end())
      owners.push_back(command->get_name());
  }
  return owners;
}

// CLI11's sentence, in our form.
std::string sentence(const CLI::ParseError& error) {
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  // A sentence begins in lower case; the name of an argument stays as it is.
  if (what.size() > 1 && std::islower(static_cast<unsigned char>(what[1])) != 0)
    what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
  while (!what.empty() && (what.back() == '.' || what.back() == ' ')) what.pop_back();
  return util::escape_control(what);
}

// What is wrong at `command`, and what to do about it.
std::string problem_at(const CLI::App& command, const CLI::ParseError& error,
                       const std::vector<std::string>& arguments) {
  const std::vector<std::string> known = command_names(command);
  if (known.empty()) {
    // What the parser had no use for.
    for (const std::string& word : command.remaining()) {
      if (word.starts_with('-') && word != "-") return unknown_option(command, word);
      if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
        return fmt::format("{} is one argument too many; see {}", util::escape_control(word),
                           help_of(command));
    }
    return fmt::format("{}; see {}", sentence(error), help_of(command));
  }
  // A command was expected.
  const std::string path = path_of(command);
  const size_t depth = path.empty() ? 0 : util::split(path, ' ').size();
  if (arguments.size() <= depth) {
    std::vector<std::string> shown;
    for (const CLI::App* below : visible_commands(command)) shown.push_back(below->get_name());
    return fmt::format("a command is missing; give one of: {}", util::join(shown, ", "));
  }
  const std::string& word = arguments[depth];
  return word.starts_with('-') ? unknown_option(command, word) : unknown_command(command, word);
}

}  // namespace

const CLI::App& reached_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
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

std::string unknown_command(const CLI::App& parent, const std::string& word) {
  const std::string near = util::nearest_name(word, command_names(parent));
  return fmt::format("unknown command {}; {}", util::escape_control(word),
                     near.empty() ? "see " + help_of(parent) : "did you mean " + near + "?");
}

int report_usage(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& arguments) {
  const CLI::App& reached = reached_command(app);
  // An option in front of the command that only the command has.
  const bool is_early = !arguments.empty() && arguments[0].starts_with('-') && &reached != &app;
  const CLI::App& command = is_early ? app : reached;
  const std::string path = path_of(command);
  return fail({fmt::format("{}: {}", path.empty() ? "command line" : path,
                           problem_at(command, error, arguments))});
}

}  // namespace wavetap::cli
