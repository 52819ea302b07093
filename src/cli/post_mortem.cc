#include "cli/post_mortem.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstring>
#include <vector>

#include "analysis/post_mortem.h"

namespace wavetap::cli {

void print_post_mortem(const std::string& trace, int status) {
  const Result<store::Trace> loaded = store::Trace::load(trace, analysis::post_mortem_load());
  if (!loaded.ok()) return;
  const std::vector<std::string> lines = analysis::post_mortem(*loaded);
  if (lines.empty()) return;
  if (status >= 128 && status < 128 + 65) {
    const char* name = sigabbrev_np(status - 128);
    fmt::print(stderr, "wavetap: post-mortem: the program was ended by {}{}\n",
               name == nullptr ? "signal " : "SIG",
               name == nullptr ? std::to_string(status - 128) : name);
  } else {
    fmt::print(stderr, "wavetap: post-mortem: the program ended with status {}\n", status);
  }
  for (const std::string& text : lines) fmt::print(stderr, "wavetap:   {}\n", text);
}

}  // namespace wavetap::cli
