// The options of `wavetap optimize` that say who proposes candidates.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "optimize/http_provider.h"

namespace wavetap::cli {

struct ProviderOptions {
  std::string name = "rules";
  double seconds = 300;
  optimize::HttpOptions http;
  std::string key_variable;
  int key_fd = -1;
};

void add_provider_options(Command& command, ProviderOptions& options);

// Takes the key from where it is, unless nobody will be asked.
Result<std::unique_ptr<optimize::Provider>> make_provider(const ProviderOptions& options,
                                                          bool is_dry_run);

}  // namespace wavetap::cli
