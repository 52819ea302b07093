#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace wavetap::cli {

// Help texts in 80 columns: usage, description, arguments, options, commands, examples. CLI11's own
// formatter does not wrap.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  HelpFormatter(std::string usage, std::string examples)
      : usage_(std::move(usage)), examples_(std::move(examples)) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  std::string usage_;
  std::string examples_;
};

}  // namespace wavetap::cli
