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

// "-o, --output FILE".
std::string option_name(const DescribedOption& option) {
  const std::string name = util::join(option.names, ", ");
  const bool is_argument = !name.starts_with('-');
  return option.value.empty() || is_argument ? name : name + ' ' + option.value;
}

}  // namespace

std::string help_text(const DescribedCommand& command) {
  std::string about = command.summary;
  if (!about.empty())
    about[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(about[0])));
  if (!about.empty() && about.back() != '.') about += '.';
  std::string text =
      fmt::format("Usage: wavetap {}\n\n{}\n", command.usage, util::wrap(about, kColumns));
  const auto add = [&](const char* title, const std::vector<DescribedOption>& options) {
    std::string entries;
    for (const DescribedOption& option : options)  // the usage line says where the program goes
      if (option.offer != Offer::kProgram)
        entries += entry(option_name(option), option.description);
    if (!entries.empty()) text += fmt::format("\n{}:\n{}", title, entries);
  };
  add("Arguments", command.arguments);
  if (!command.commands.empty()) text += "\nCommands:\n";
  for (const DescribedCommand& below : command.commands)
    text += entry(below.path.back(), below.summary);
  add("Options", command.options);
  if (!command.examples.empty()) text += "\nExamples:\n" + command.examples;
  return text;
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
