#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace wavetap::cli {

// Help texts in 80 columns: usage, description, arguments, options, commands, examples. CLI11's own
// formatter does not wrap.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  HelpFormatter(std::string usage, std::string examples)
      : usage_(std::move(usage)), examples_(std::move(examples)) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

  const std::string& usage() const { return usage_; }
  const std::string& examples() const { return examples_; }

 private:
  std::string usage_;
  std::string examples_;
};

// The commands below `app` that a user may be told of, and all the names that parse.
std::vector<const CLI::App*> visible_commands(const CLI::App& app);
std::vector<std::string> command_names(const CLI::App& app);

// What `wavetap` without arguments prints: what this is, and what to try first.
std::string welcome_text();

}  // namespace wavetap::cli
