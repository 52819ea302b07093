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
  for (const CLI::App* command : visible_commands(*app)) {
    commands += entry(command->get_name(), command->get_description());
  }
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  if (!commands.empty()) text += "\nCommands:\n" + commands;
  if (!options.empty()) text += "\nOptions:\n" + options;
  if (!examples_.empty()) text += "\nExamples:\n" + examples_;
  return text;
}

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::string welcome_text() {
  return "wavetap records what a ROCm program does on its GPU, and answers questions about\n"
         "it. It also brings virtual AMD GPUs for machines that have none.\n"
         "\n"
         "Three things to try:\n"
         "  wavetap run -- ./my_program              record a program; then:\n"
         "                                           wavetap report trace.rpd\n"
         "  wavetap run --gpu rx6800xt -- rocminfo   run any HIP program on a virtual GPU\n"
         "  wavetap doctor                           is this machine fit for ROCm?\n"
         "\n"
         "wavetap help lists every command, wavetap help COMMAND explains one.\n";
}

}  // namespace wavetap::cli
