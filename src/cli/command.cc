#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

void print_line(const char* kind, util::Style style, const std::string& escaped) {
  const std::string prefix =
      util::styled(fmt::format("wavetap: {}:", kind), style, util::wants_colour(STDERR_FILENO));
  fmt::print(stderr, "{} {}\n", prefix, escaped);
}

// What a shell can offer, by the name of the value as the help text shows it.
Offer offer_for(const std::string& value) {
  const auto names = [&](std::initializer_list<const char*> kinds) {
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const char* kind) { return value.find(kind) != std::string::npos; });
  };
  if (names({"MODEL"})) return Offer::kModels;
  if (names({"PID"})) return Offer::kProcesses;
  if (names({"FILE", "TRACE", "OUT"}) || value == "A" || value == "B") return Offer::kFiles;
  return names({"DIR"}) ? Offer::kFolders : Offer::kNothing;
}

DescribedOption describe(const CLI::Option& option, const std::vector<std::string>& words) {
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
  described.words = words;
  described.offer = words.empty() ? offer_for(described.value) : Offer::kWords;
  return described;
}

const CLI::App& reached_by(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::vector<std::string> path_to(const CLI::App& command) {
  std::vector<std::string> path;
  for (const CLI::App* at = &command; at->get_parent() != nullptr; at = at->get_parent())
    path.insert(path.begin(), at->get_name());
  return path;
}

}  // namespace

int fail(const Error& error, int exit_code) {
  std::fflush(stdout);
  print_line("error", util::Style::kRed, util::escape_line(error.message));
  return exit_code;
}

int fail_with_output(const Error& error) {
  std::fflush(stdout);
  print_line("error", util::Style::kRed, util::escape_lines(error.message));
  return kUsage;
}

void warn(const Error& warning) {
  print_line("warning", util::Style::kYellow, util::escape_line(warning.message));
}

void warn_with_output(const Error& warning) {
  print_line("warning", util::Style::kYellow, util::escape_lines(warning.message));
}

void say(std::FILE* out, const std::string& line) {
  fmt::print(out, "{}\n", util::escape_line(line));
}

// ---- options -----------------------------------------------------------------------------------

Option::Option(CLI::Option& option) : option_(&option) {}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::choices(std::vector<std::string> words) {
  option_->check(CLI::IsMember(words).description(""));
  words_ = std::move(words);
  return this;
}

Option* Option::offers(std::vector<std::string> words) {
  words_ = std::move(words);
  return this;
}

Option* Option::between(double low, double high) {
  option_->check([low, high](const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (is_number && value >= low && value <= high) return std::string();
    return fmt::format("{} is not a number from {} to {}", text, low, high);
  });
  return this;
}

Option* Option::expected(int at_least, int at_most) {
  option_->expected(at_least, at_most);
  return this;
}

Option* Option::default_str(const std::string& value) {
  option_->default_str(value);
  return this;
}

Option* Option::allow_extra_args(bool allow) {
  option_->allow_extra_args(allow);
  return this;
}

Option* Option::excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}

Option* Option::hidden() {
  option_->group("");
  return this;
}

// ---- commands ----------------------------------------------------------------------------------

Command::Command(const std::string& summary, const std::string& usage, const std::string& examples)
    : owned_(std::make_shared<CLI::App>(summary, "wavetap")),
      app_(owned_.get()),
      usage_(usage),
      examples_(examples) {
  keep(app_->set_help_flag("-h,--help", "print this text"));
  keep(app_->set_version_flag("--version", "", "print the version and what it was built with"));
}

Command::Command(CLI::App& app, const std::string& usage, const std::string& examples)
    : app_(&app), usage_(usage), examples_(examples) {
  keep(app_->set_help_flag("-h,--help", "print this text"));
}

Command::~Command() = default;

Command& Command::add_command(const std::string& name, const std::string& summary,
                              const std::string& usage, const std::string& examples) {
  CLI::App& app = *app_->add_subcommand(name, summary);
  commands_.push_back(std::unique_ptr<Command>(new Command(app, usage, examples)));
  return *commands_.back();
}

Option* Command::keep(CLI::Option* option) {
  options_.push_back(std::make_unique<Option>(*option));
  return options_.back().get();
}

Option* Command::add(const std::string& names, const std::string& description,
                     std::function<bool(const std::string&)> take) {
  CLI::Option* const option = app_->add_option(
      names,
      [take = std::move(take)](const CLI::results_t& words) {
        return std::all_of(words.begin(), words.end(), take);
      },
      description);
  option->type_name("TEXT")->type_size(1);
  option->run_callback_for_default();
  return keep(option);
}

Option* Command::add_option(const std::string& names, std::string& value,
                            const std::string& description) {
  return add(names, description, [&value](const std::string& word) {
    value = word;
    return true;
  });
}

Option* Command::add_option(const std::string& names, std::optional<std::string>& value,
                            const std::string& description) {
  return add(names, description, [&value](const std::string& word) {
    value = word;
    return true;
  });
}

Option* Command::add_option(const std::string& names, std::vector<std::string>& values,
                            const std::string& description) {
  Option* const option = add(names, description, [&values](const std::string& word) {
    values.push_back(word);
    return true;
  });
  option->option_->expected(CLI::detail::expected_max_vector_size);
  return option;
}

Option* Command::add_option(const std::string& names, int& value, const std::string& description) {
  return add(names, description, [&value](const std::string& word) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
  });
}

Option* Command::add_option(const std::string& names, uint32_t& value,
                            const std::string& description) {
  return add(names, description, [&value](const std::string& word) {
    const std::optional<uint64_t> number = util::parse_unsigned(word);
    if (!number || *number > std::numeric_limits<uint32_t>::max()) return false;
    value = static_cast<uint32_t>(*number);
    return true;
  });
}

Option* Command::add_option(const std::string& names, uint64_t& value,
                            const std::string& description) {
  return add(names, description, [&value](const std::string& word) {
    const std::optional<uint64_t> number = util::parse_unsigned(word);
    if (number) value = *number;
    return number.has_value();
  });
}

Option* Command::add_option(const std::string& names, double& value,
                            const std::string& description) {
  return add(names, description, [&value](const std::string& word) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
  });
}

Option* Command::add_flag(const std::string& names, bool& value, const std::string& description) {
  return keep(app_->add_flag_callback(
      names, [&value] { value = true; }, description));
}

void Command::callback(std::function<void()> run) { app_->callback(std::move(run)); }
void Command::require_command() { app_->require_subcommand(1); }
void Command::prefix_command() { app_->prefix_command(); }
std::vector<std::string> Command::remaining() const { return app_->remaining(); }

DescribedCommand Command::describe() const {
  DescribedCommand command;
  command.path = path_to(*app_);
  command.summary = app_->get_description();
  command.usage = usage_;
  command.examples = examples_;
  for (const std::unique_ptr<Option>& option : options_) {
    if (option->option_->get_group().empty()) continue;  // hidden
    (option->option_->get_positional() ? command.arguments : command.options)
        .push_back(cli::describe(*option->option_, option->words_));
  }
  if (usage_.find("-- CMD") != std::string::npos) {
    DescribedOption program;
    program.names = {"CMD"};
    program.description = "the program and its arguments, behind --";
    program.offer = Offer::kProgram;
    command.arguments.push_back(program);
  }
  for (const std::unique_ptr<Command>& below : commands_)
    command.commands.push_back(below->describe());
  return command;
}

Parsed parse(Command& program, const std::vector<std::string>& arguments) {
  Parsed parsed;
  try {
    program.app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    parsed.what = Parsed::What::kWantsHelp;
  } catch (const CLI::CallForVersion&) {
    parsed.what = Parsed::What::kWantsVersion;
  } catch (const CLI::ParseError& error) {
    parsed.what = Parsed::What::kMistake;
    parsed.mistake = error.what();
  }
  const CLI::App& reached = reached_by(*program.app_);
  parsed.path = path_to(reached);
  if (parsed.what == Parsed::What::kMistake) parsed.surplus = reached.remaining();
  return parsed;
}

void add_top_option(Command& command, size_t& top) {
  command.add_option("--top", top, fmt::format("rows per table, 0 for all ({})", top))
      ->type_name("N")
      ->between(0, 999999999);
}

}  // namespace wavetap::cli
