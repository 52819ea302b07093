#include "cli/described_command.h"

#include <algorithm>

#include "analysis/analysis.h"
#include "cli/help.h"
#include "export/export.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// The words that an option's check allows. CLI11 keeps them to itself, but names them when it refuses another one.
std::vector<std::string> allowed_words(const CLI::Option& option) {
  std::vector<std::string> words;
  // The accessor is not const; neither it nor a check that fails changes anything.
  auto& checked = const_cast<CLI::Option&>(option);
  try {
    for (int i = 0;; ++i) {
      std::string impossible = "\x01";
      const std::string refusal = (*checked.get_validator(i))(impossible);
      const size_t open = refusal.find(" not in {"), close = refusal.rfind('}');
      if (open == std::string::npos || close == std::string::npos) continue;
      const size_t begin = refusal.find('{', open) + 1;
      words = util::split(std::string_view(refusal).substr(begin, close - begin), ',');
    }
  } catch (const CLI::OptionNotFound&) {  // there is no further check
  }
  return words;
}

// Words that are looked up when the command runs.
std::vector<std::string> registered_words(const std::vector<std::string>& path,
                                          const std::string& name) {
  std::vector<std::string> words;
  if (path == std::vector<std::string>{"analyze"} && name == "NAME")
    for (const analysis::Analysis& analysis : analysis::all_analyses())
      words.emplace_back(analysis.name);
  if (path == std::vector<std::string>{"export"} && name == "--format")
    for (const exporter::Format& format : exporter::all_formats()) words.emplace_back(format.name);
  return words;
}

bool names_one_of(const std::string& text, std::initializer_list<const char*> kinds) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const char* kind) { return text.find(kind) != std::string::npos; });
}

// By the name of the value, as the help text shows it.
Offer offer_for(const std::string& value) {
  if (names_one_of(value, {"MODEL"})) return Offer::kModels;
  if (names_one_of(value, {"PID"})) return Offer::kProcesses;
  if (names_one_of(value, {"FILE", "TRACE", "OUT"}) || value == "A" || value == "B")
    return Offer::kFiles;
  if (names_one_of(value, {"DIR"})) return Offer::kFolders;
  return Offer::kNothing;
}

DescribedOption describe(const CLI::Option& option, const std::vector<std::string>& path) {
  DescribedOption described;
  described.description = option.get_description();
  if (option.get_positional()) {
    described.names = {option.get_name(/*positional=*/true)};
    described.value = described.names[0];
  } else {
    for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
    if (option.get_items_expected_max() > 0) {
      described.value = option.get_type_name();
      described.value_is_optional = option.get_items_expected_min() == 0;
    }
  }
  described.words = allowed_words(option);
  if (described.words.empty()) described.words = registered_words(path, described.names.back());
  described.offer = !described.words.empty() ? Offer::kWords : offer_for(described.value);
  return described;
}

}  // namespace

DescribedCommand describe(const CLI::App& app) {
  DescribedCommand command;
  for (const CLI::App* at = &app; at->get_parent() != nullptr; at = at->get_parent())
    command.path.insert(command.path.begin(), at->get_name());
  command.summary = app.get_description();
  if (const auto help = std::dynamic_pointer_cast<HelpFormatter>(app.get_formatter())) {
    command.usage = help->usage();
    command.examples = help->examples();
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->get_positional() ? command.arguments : command.options)
        .push_back(describe(*option, command.path));
  }
  if (command.usage.find("-- CMD") != std::string::npos) {
    DescribedOption program;
    program.names = {"CMD"};
    program.description = "the program and its arguments, behind --";
    program.offer = Offer::kProgram;
    command.arguments.push_back(program);
  }
  for (const CLI::App* below : visible_commands(app)) command.commands.push_back(describe(*below));
  return command;
}

std::vector<const DescribedCommand*> flatten(const DescribedCommand& command) {
  std::vector<const DescribedCommand*> all = {&command};
  for (const DescribedCommand& below : command.commands) {
    const std::vector<const DescribedCommand*> more = flatten(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace wavetap::cli
