#include "cli/help.h"

#include <fmt/format.h>

#include <cctype>

#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kIndent = 26;  // where descriptions start

// "  name          description, wrapped and aligned".
std::string entry(const std::string& name, const std::string& description) {
  std::string text = util::wrap(description, kColumns, kIndent);
  const std::string head = "  " + name;
  const size_t width = util::display_width(head);
  if (width + 2 <= kIndent) {
    text.replace(0, width, head);
    return text + '\n';
  }
  return head + '\n' + text + '\n';
}

std::string option_name(const CLI::Option& option) {
  std::string name = option.get_name(/*positional=*/option.get_positional(), /*all_options=*/true);
  for (size_t comma = 0; (comma = name.find(',', comma)) != std::string::npos; comma += 2)
    name.insert(comma + 1, 1, ' ');
  if (option.get_items_expected_max() == 0) return name;
  const std::string type = option.get_type_name();
  return type.empty() || option.get_positional() ? name : name + ' ' + type;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  std::string about = app->get_description();
  if (!about.empty())
    about[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(about[0])));
  if (!about.empty() && about.back() != '.') about += '.';
  std::string text = fmt::format("Usage: wavetap {}\n\n{}\n", usage_, util::wrap(about, kColumns));
  std::string arguments, options, commands;
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->get_positional() ? arguments : options) +=
        entry(option_name(*option), option->get_description());
  }
  for (const CLI::App* command : app->get_subcommands({})) {
    commands += entry(command->get_name(), command->get_description());
  }
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  if (!commands.empty()) text += "\nCommands:\n" + commands;
  if (!options.empty()) text += "\nOptions:\n" + options;
  if (!examples_.empty()) text += "\nExamples:\n" + examples_;
  return text;
}

}  // namespace wavetap::cli
